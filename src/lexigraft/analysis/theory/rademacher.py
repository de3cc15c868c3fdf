"""Empirical Rademacher complexity of features in the maximum norm, by Monte Carlo over signs.

    R_n(U) = E_sigma sup over u in U of || 1/n sum_i sigma_i u(z_i) ||_inf

Vocabulary Transfer, section 3.2; the sup over a class of encoders is taken over those given.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENTRIES_AT_ONCE = 1 << 22
"""Sums of signed features held at a time: 32 MiB."""


@dataclass(frozen=True)
class Complexity:
    """An estimate and the draws behind it."""

    norms: NDArray[np.float64]
    """(S,) the sup of the norm under each draw of signs."""

    @property
    def mean(self) -> float:
        return float(self.norms.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean over draws (n - 1)."""
        return float(self.norms.std(ddof=1)) / math.sqrt(len(self.norms))


def rademacher_complexity(members: Sequence[Any], draws: int, seed: int) -> Complexity:
    """Estimate the complexity of a finite class.

    The signs depend on `seed` and the number of pairs alone, so estimates of features before and
    after coarse-graining, or of different encoders on the same pairs, are paired draw by draw.

    Args:
        members: features of each member u of the class on the same pairs, sparse (N, V).
        draws: S, how often signs are drawn.
        seed: which signs.

    Raises:
        ValueError: no member or no pair, members on different numbers of pairs, or fewer than two
            draws.
    """
    pairs = {member.shape[0] for member in members}
    if len(pairs) != 1 or 0 in pairs or draws < 2:
        raise ValueError(f"pairs of the members {sorted(pairs)}, {draws} draws; allowed: one, 2")
    per_member = [_norms(member, draws, seed) for member in members]
    return Complexity(reduce(np.maximum, per_member))


def _norms(features_NV: Any, draws: int, seed: int) -> NDArray[np.float64]:
    pairs = features_NV.shape[0]
    by_key = features_NV.tocsc()
    active_VN = by_key[:, np.flatnonzero(np.diff(by_key.indptr))].T.tocsr()
    norms = np.zeros(draws)
    start = 0
    for signs_SN in _signs(draws, pairs, max(1, ENTRIES_AT_ONCE // max(1, *active_VN.shape)), seed):
        if active_VN.shape[0]:
            sums_VS = active_VN @ signs_SN.T
            norms[start : start + len(signs_SN)] = np.abs(sums_VS).max(axis=0) / pairs
        start += len(signs_SN)
    return norms


def _signs(draws: int, pairs: int, at_once: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Blocks of rows of one stream: the same signs whatever the size of a block."""
    rng = np.random.default_rng(seed)
    for start in range(0, draws, at_once):
        yield np.where(rng.random((min(at_once, draws - start), pairs)) < 0.5, -1.0, 1.0)
