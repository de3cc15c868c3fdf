"""Whether a difference is more than chance: paired randomisation over queries.

Two systems answer the same queries of one or several sets. The statistic is the difference of
macro averages (mean over sets of the mean over a set's queries), as the tables show it.
"""

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 9999
BATCH = 200
"""Resamples at a time, so that memory stays small with many queries."""


def paired_test(
    values_a: ArrayLike,
    values_b: ArrayLike,
    sets: Sequence[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """Difference of macro averages, a minus b, and its two-sided p-value.

    Under the null hypothesis a query's two values may be swapped (Fisher's randomisation test,
    Smucker et al. 2007). Few queries are enumerated exactly, many are sampled, with (k + 1) /
    (n + 1) as the p-value, so it is never 0.

    Args:
        values_a: metric of each query under a.
        values_b: the same queries, in the same order, under b.
        sets: the set of each query; None for a single set.
        resamples: how many swaps are sampled.
        seed: which ones.

    Raises:
        ValueError: lengths differ, there is no query, or a value is not finite.
    """
    # Half of what the evaluate stage imports, which needs no test.
    from scipy.stats import permutation_test

    a, b, weight = _paired(values_a, values_b, sets)
    difference = float(weight @ (a - b))
    if not np.any(a != b):
        return difference, 1.0

    # Swapping a pair turns the sign of its difference, which scipy does for a single sample.
    outcome = permutation_test(
        (weight * (a - b),),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=BATCH,
        rng=np.random.default_rng(seed),
    )
    return difference, float(outcome.pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment of several p-values, in their order (Holm 1979).

    The i-th smallest of m is multiplied by m - i + 1, made monotone and cut at 1.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def minimum_detectable_difference(
    values_a: ArrayLike,
    values_b: ArrayLike,
    sets: Sequence[str] | None = None,
    *,
    level: float = 0.05,
    power: float = 0.8,
) -> float:
    """Smallest true difference that so many queries would show, given how the pairs scatter.

    (z_{1 - level/2} + z_{power}) times the standard error of the difference of macro averages:
    sqrt(sum over sets of var(a - b) / n_set) / number of sets. A set with a single query adds no
    variance, since it has none to estimate.

    Raises:
        ValueError: as `paired_test`.
    """
    a, b, weight = _paired(values_a, values_b, sets)
    variance = 0.0
    labels = np.asarray(list(sets) if sets is not None else [""] * len(a))
    for name in np.unique(labels):
        own = labels == name
        if own.sum() > 1:
            variance += float(weight[own].sum()) ** 2 * np.var((a - b)[own], ddof=1) / own.sum()
    quantile = NormalDist().inv_cdf
    return float((quantile(1 - level / 2) + quantile(power)) * np.sqrt(variance))


def _paired(
    values_a: ArrayLike, values_b: ArrayLike, sets: Sequence[str] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Both series and the weight of each query in the macro average (they sum to 1)."""
    a, b = np.asarray(values_a, dtype=np.float64), np.asarray(values_b, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or (sets is not None and len(sets) != len(a)):
        raise ValueError(
            f"{a.shape} values of a, {b.shape} of b and "
            f"{'no' if sets is None else len(sets)} sets do not pair up"
        )
    if not len(a):
        raise ValueError("no query to compare")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a value is not finite")
    labels = np.asarray(list(sets) if sets is not None else [""] * len(a))
    _, member, counts = np.unique(labels, return_inverse=True, return_counts=True)
    return a, b, 1.0 / (len(counts) * counts[member])
