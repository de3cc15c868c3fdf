"""Vectors on disk."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.retrieval.vectors import Vectors, shard_name, write_shard
from lexigraft.specs.options import Values


def write(folder: Path, sparse: bool, values: Values = "float32") -> Vectors:
    whole = np.arange(12, dtype=np.float32).reshape(4, 3)
    for number, rows in enumerate((whole[:3], whole[3:])):
        matrix = scipy.sparse.csr_array(rows) if sparse else rows
        if sparse:
            matrix.indices, matrix.indptr = (
                a.astype(np.int64) for a in (matrix.indices, matrix.indptr)
            )
        path = folder / shard_name("documents", number, sparse, values)
        write_shard(path, matrix, sparse, values)
    vectors = Vectors(folder, "documents", ["a", "b", "ç", "007"], [3, 1], 3, sparse, values)
    vectors.write()
    return vectors


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("values", ["float32", "float16", "int8"])
def test_round_trip(sparse: bool, values: Values, tmp_path: Path) -> None:
    written = write(tmp_path, sparse, values)
    read = Vectors.open(tmp_path, "documents")
    assert read == written
    matrix = read.matrix().toarray() if sparse else read.matrix()
    # Whole numbers are float16's too; int8 is off by half a step, 11 / 127 / 2, at most.
    atol = 0.045 if values == "int8" else 0
    np.testing.assert_allclose(matrix, np.arange(12).reshape(4, 3), rtol=1e-6, atol=atol)
    assert matrix.dtype == np.float32
    if sparse:
        assert {shard.indices.dtype for shard in read.shards()} == {np.dtype(np.int32)}
    files = [path for path in tmp_path.iterdir() if path.suffix != ".json"]
    assert read.bytes_on_disk() == sum(path.stat().st_size for path in files)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("values", ["float32", "float16", "int8"])
def test_the_same_vectors_are_the_same_bytes(sparse: bool, values: Values, tmp_path: Path) -> None:
    hashes = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, sparse, values)
        hashes.append([sha256_file(p) for p in sorted((tmp_path / name).iterdir())])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("values", ["float32", "int8"])
def test_what_cannot_be_read_is_named(sparse: bool, values: Values, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"documents\.json: no such file"):
        Vectors.open(tmp_path, "documents")
    vectors = write(tmp_path, sparse, values)
    path = tmp_path / shard_name("documents", 1, sparse, values)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(LexigraftError, match="unreadable vectors"):
        vectors.matrix()
    path.unlink()
    with pytest.raises(LexigraftError, match="unreadable vectors"):
        vectors.matrix()
    shard = (tmp_path / shard_name("documents", 0, sparse, values)).read_bytes()
    path.write_bytes(shard)
    with pytest.raises(LexigraftError, match=r"shape \(3, 3\) found, \(1, 3\) expected"):
        vectors.matrix()


def test_a_value_that_does_not_fit_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / shard_name("documents", 0, False, "float16")
    with pytest.raises(LexigraftError, match=r"documents\.00000\.npz: row 0: 1e\+06 found"):
        write_shard(path, np.array([[1e6]], dtype=np.float32), False, "float16")
    assert list(tmp_path.iterdir()) == []
