"""The row-stochastic G of a normaliser (Vocabulary Transfer, section 3.1).

    u' = G u,   G_ut = 0 where pi(t) != u,   sum over t of G_ut = 1

Each key of V' is a weighted mean of the keys of V that fold onto it. The paper leaves the weights
open.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray


def coarse_graining(canonical: ArrayLike, weights: ArrayLike | None = None) -> Any:
    """G as a CSR array (V', V), rows in the order of their canonical ids.

    Args:
        canonical: (V,) canonical id of each id; a canonical id is its own.
        weights: (V,) positive weight of each id within its group; equal ones if None.

    Raises:
        ValueError: an id whose canonical id is another's variant, or a weight that is not positive.
    """
    canonical = np.asarray(canonical)
    if not np.array_equal(canonical[canonical], canonical):
        raise ValueError("a canonical id must be its own canonical id")
    given = np.ones(len(canonical)) if weights is None else np.asarray(weights, dtype=np.float64)
    if not np.all(given > 0):
        raise ValueError("weights must be positive")
    rows = row_of(canonical)
    shares = given / np.bincount(rows, given)[rows]
    columns = np.arange(len(canonical))
    shape = (int(rows.max(initial=-1)) + 1, len(canonical))
    return scipy.sparse.csr_array((shares, (rows, columns)), shape=shape)


def row_of(canonical: ArrayLike) -> NDArray[np.int64]:
    """(V,) row of G that each id folds onto: pi, with V' numbered from 0."""
    return np.unique(np.asarray(canonical), return_inverse=True)[1]


def regrouped(canonical: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
    """A control: groups of the same sizes, with the ids of all larger groups dealt out at random.

    Ids that fold with nothing stay alone. What folding gains over this is due to what it merges,
    not to how much.
    """
    canonical = np.asarray(canonical)
    sizes = np.bincount(canonical, minlength=len(canonical))
    members = np.flatnonzero(sizes[canonical] > 1)
    dealt = rng.permutation(members)
    result = np.arange(len(canonical))
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 1])])
    for start, end in pairwise(starts):
        result[dealt[start:end]] = dealt[start:end].min()
    return result
