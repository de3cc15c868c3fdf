"""Vectors in fewer bytes: float16, or one byte a value with a scale for each text.

float16   the value rounded to 11 significant bits
int8      code = round(value / scale), scale = largest |value| of the text / the largest code

A code is unsigned (up to 255) for sparse vectors, which are not negative, and signed (up to 127)
for dense ones. The scale is a text's own, so that its vector does not depend on its neighbours in
the file, and a text of small weights loses no more than one of large weights; it costs 4 bytes a
text.

Sparse: an entry that float16 would round to 0 becomes its smallest number, so none is lost. An
entry whose int8 code is 0 is dropped: it is at most 1/510 of the text's largest, and not to store
it is part of what is saved. Column numbers take 2 bytes where 65,536 suffice.

Shapes: N texts, E entries (all of a dense matrix), V columns.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from lexigraft.errors import LexigraftError
from lexigraft.specs.options import Values

HALF = np.finfo(np.float16)
SMALL_COLUMNS = 1 << 16


def quantised(matrix: Any, values: Values) -> dict[str, NDArray[Any]]:
    """The arrays of a CSR or numpy array (N, V) as they are stored.

    Raises:
        LexigraftError: a value is larger than float16 can hold; the message names the row.
    """
    sparse = scipy.sparse.issparse(matrix)
    data_E = matrix.data if sparse else matrix.ravel()
    lengths = np.diff(matrix.indptr) if sparse else matrix.shape[1]
    row_E = np.repeat(np.arange(matrix.shape[0]), lengths)
    arrays: dict[str, NDArray[Any]] = {"shape": np.array(matrix.shape)}
    if values == "float16":
        code_E = _halves(data_E, row_E, keep=sparse)
    else:
        largest_N = np.zeros(matrix.shape[0], dtype=np.float32)
        np.maximum.at(largest_N, row_E, np.abs(data_E))
        levels, kind = (255, np.uint8) if sparse else (127, np.int8)
        scale_N = largest_N / np.float32(levels)
        step_E = np.where(scale_N > 0, scale_N, 1)[row_E]
        code_E = np.rint(data_E / step_E).clip(-levels, levels).astype(kind)
        arrays["scales"] = scale_N
    if not sparse:
        return arrays | {"codes": code_E.reshape(matrix.shape)}
    kept_E = code_E != 0
    columns = np.uint16 if matrix.shape[1] <= SMALL_COLUMNS else np.int32
    lengths_N = np.bincount(row_E[kept_E], minlength=matrix.shape[0])
    return arrays | {
        "codes": code_E[kept_E],
        "indices": matrix.indices[kept_E].astype(columns),
        "indptr": np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths_N))),
    }


def restored(arrays: Mapping[str, NDArray[Any]]) -> Any:
    """What `quantised` stored, as a CSR or numpy array of float32."""
    codes, shape = arrays["codes"], tuple(arrays["shape"].tolist())
    data = codes.astype(np.float32)
    if "indptr" not in arrays:
        return data * arrays["scales"][:, None] if "scales" in arrays else data
    indptr = arrays["indptr"]
    if "scales" in arrays:
        data *= np.repeat(arrays["scales"], np.diff(indptr))
    return scipy.sparse.csr_array((data, arrays["indices"].astype(np.int32), indptr), shape=shape)


def _halves(
    data_E: NDArray[np.float32], row_E: NDArray[np.int64], *, keep: bool
) -> NDArray[np.float16]:
    """Values as float16; with `keep`, none but 0 itself becomes 0."""
    if np.abs(data_E).max(initial=0) > HALF.max:
        worst = int(np.abs(data_E).argmax())
        raise LexigraftError(
            f"row {row_E[worst]}: {data_E[worst]:g} found; allowed with values float16: up to "
            f"{HALF.max:g}"
        )
    code_E = data_E.astype(np.float16)
    if keep:
        code_E[(code_E == 0) & (data_E > 0)] = HALF.smallest_subnormal
    return code_E
