"""Vectors in fewer bytes: by hand, bounds of the error, and what may and may not be dropped."""

import numpy as np
import pytest
import scipy.sparse

from lexigraft.errors import LexigraftError
from lexigraft.retrieval.quantisation import quantised, restored


def sparse(rows: list[list[float]]) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(np.array(rows, dtype=np.float32))


def test_int8_by_hand() -> None:
    """A text's largest value has code 255; each text has a scale; a code of 0 is no entry."""
    arrays = quantised(sparse([[2.55, 0, 0.014, 0.004], [0, 0, 0, 0], [0, 0, 0, 510]]), "int8")
    assert arrays["codes"].tolist() == [255, 1, 255]
    assert arrays["codes"].dtype == np.uint8
    assert arrays["indices"].tolist() == [0, 2, 3]
    assert arrays["indptr"].tolist() == [0, 2, 2, 3]
    assert arrays["scales"].tolist() == pytest.approx([0.01, 0.0, 2.0])
    found = restored(arrays).toarray()
    np.testing.assert_allclose(found, [[2.55, 0, 0.01, 0], [0] * 4, [0, 0, 0, 510]], rtol=1e-6)


def test_dense_int8_by_hand() -> None:
    arrays = quantised(np.array([[-1.27, 0.5, 0.004], [0, 0, 0]], dtype=np.float32), "int8")
    assert arrays["codes"].tolist() == [[-127, 50, 0], [0, 0, 0]]
    np.testing.assert_allclose(restored(arrays), [[-1.27, 0.5, 0], [0, 0, 0]], rtol=1e-6)


def test_float16_loses_no_entry() -> None:
    """The smallest positive float16 is 2**-24; 1.0005 lies between two of its numbers."""
    arrays = quantised(sparse([[1e-30, 1.0005, 2**-24]]), "float16")
    assert arrays["codes"].tolist() == [2**-24, 1.0009765625, 2**-24]
    dense = np.array([[1e-30, -2.0]], dtype=np.float32)
    assert restored(quantised(dense, "float16")).tolist() == [[0.0, -2.0]]


@pytest.mark.parametrize("matrix", [sparse([[1, 0], [0, 7e4]]), np.array([[1, 0], [0, -7e4]])])
def test_what_float16_cannot_hold_is_told(matrix: object) -> None:
    with pytest.raises(LexigraftError, match=r"row 1: -?70000 found; allowed with values float16"):
        quantised(matrix, "float16")


@pytest.mark.parametrize("values", ["float16", "int8"])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_errors_are_bounded_and_bytes_are_saved(values: str, kind: str) -> None:
    rng = np.random.default_rng(0)
    rows = np.log1p(rng.exponential(size=(200, 3000))) * (rng.random((200, 3000)) < 0.05)
    matrix = sparse(rows) if kind == "sparse" else (rows - 0.1).astype(np.float32)
    arrays = quantised(matrix, values)  # type: ignore[arg-type]
    exact, found = matrix, restored(arrays)
    if kind == "sparse":
        exact, found = exact.toarray(), found.toarray()
    assert found.dtype == np.float32
    largest = np.abs(exact).max(axis=1, keepdims=True)
    step = largest / {"sparse": 255, "dense": 127}[kind]
    # Half a step of int8; half a unit in the last of float16's 11 bits.
    bound = 0.5001 * step if values == "int8" else np.abs(exact) * 2**-11 + 2**-25
    assert (np.abs(found - exact) <= bound).all()
    size = sum(array.nbytes for array in arrays.values())
    whole = 4 * exact.size if kind == "dense" else 8 * matrix.nnz
    shares = {("sparse", "float16"): 0.52, ("sparse", "int8"): 0.4}
    shares |= {("dense", "float16"): 0.51, ("dense", "int8"): 0.26}
    assert size < whole * shares[kind, values]
    if values == "float16" and kind == "sparse":
        assert ((found > 0) == (exact > 0)).all()


def test_nothing_is_something_too() -> None:
    for matrix in (scipy.sparse.csr_array((0, 5), dtype=np.float32), sparse([[0, 0]])):
        for values in ("float16", "int8"):
            found = restored(quantised(matrix, values))  # type: ignore[arg-type]
            assert (found.shape, found.nnz) == (matrix.shape, 0)


def test_many_columns() -> None:
    matrix = scipy.sparse.csr_array(([1.0], ([0], [69_999])), shape=(1, 70_000), dtype=np.float32)
    assert restored(quantised(matrix, "int8")).indices.tolist() == [69_999]
