"""The representation-compatibility error of a coarse-graining on given pairs.

    eps_RC = sup over beta of  min over beta' of  max over pairs of  | <beta, u> - <beta', G u> |

with beta, beta' >= 0 and of l1 norm at most B (Vocabulary Transfer, section 3.1, RC*). The inner
minimum is convex in beta, so the sup is reached at a corner of its set: all of the budget on one
key t. Left are V separate problems, one a key:

- `key_errors` lets beta' use the merged key pi(t) alone, which bounds eps_RC from above;
- `least_error` solves one key's problem over all of beta', which bounds it from below: beta' may
  use keys that happen to be active together on the pairs at hand.

Values are for B = 1 and grow in proportion to B.
"""

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.optimize import linprog

STEPS = 50
"""Halvings of the interval of the weight: 1e-15."""
COLUMNS, ROUNDS = 50, 20
"""Merged keys that a linear program begins with and gains in a round, and how many rounds."""
TOLERANCE = 1e-4


def key_errors(
    features_NV: Any, merged_NV: Any, row_of_V: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(V,) for each key t: min over c in [0, 1] of max over pairs of | u_t - c u'_pi(t) |.

    Args:
        features_NV: u >= 0 on each pair, sparse (N, V).
        merged_NV: u' = G u, sparse (N, V'), with every weight of G within a group positive.
        row_of_V: pi.
    """
    features = features_NV.tocsc()
    errors = np.zeros(features.shape[1])
    # A key that is alone in its group, or active in no pair, loses nothing.
    shared = np.bincount(row_of_V)[row_of_V] > 1
    keys = np.flatnonzero(shared & (np.diff(features.indptr) > 0))
    if not len(keys):
        return errors
    merged = merged_NV.tocsc()[:, row_of_V[keys]]
    columns = np.repeat(np.arange(len(keys)), np.diff(merged.indptr))
    # Where u_t is active, so is u'_pi(t): the pairs of the merged key are all that matter.
    own = np.asarray(features[:, keys][merged.indices, columns]).ravel()
    starts = merged.indptr[:-1]
    low, high = np.zeros(len(keys)), np.ones(len(keys))
    for _ in range(STEPS):
        middle = (low + high) / 2
        missing = own - middle[columns] * merged.data
        # What is missing falls with c and what is too much grows: they meet at the best c.
        grow = np.maximum.reduceat(missing, starts) > np.maximum.reduceat(-missing, starts)
        low, high = np.where(grow, middle, low), np.where(grow, high, middle)
    distance = np.abs(own - high[columns] * merged.data)
    errors[keys] = np.maximum.reduceat(distance, starts)
    return errors


def least_error(features_NV: Any, merged_NV: Any, key: int) -> float:
    """min over beta' >= 0, ||beta'||_1 <= 1, of max over pairs of | u_key - <beta', u'> |.

    The linear program's columns are the merged keys, of which few are needed: it is solved with
    some, and its dual says which others would help. A dual point lambda with ||lambda||_1 <= 1 is a
    bound from below, <lambda, u_key> - max(0, max over keys of <lambda, u'>), which is returned:
    the optimum within `TOLERANCE`, or less where `ROUNDS` end first.

    Raises:
        RuntimeError: the solver ends without an optimum.
    """
    own = features_NV.tocsc()[:, [key]].toarray().ravel()
    merged = merged_NV.tocsc()
    merged = merged[:, np.flatnonzero(np.diff(merged.indptr))]
    chosen = _highest(merged.T @ own, COLUMNS)
    best = 0.0
    for _ in range(ROUNDS):
        value, dual_N = _solve(own, merged[:, chosen])
        prices = merged.T @ dual_N
        best = max(best, float(own @ dual_N - max(0.0, prices.max(initial=0.0))))
        if value - best <= TOLERANCE:
            break
        chosen = np.union1d(chosen, _highest(prices, COLUMNS))
    return best


def _solve(own_N: NDArray[np.float64], columns: Any) -> tuple[float, NDArray[np.float64]]:
    """Optimum over some columns, and the dual point of the pairs."""
    pairs, keys = columns.shape
    one = scipy.sparse.csr_array(np.ones((pairs, 1)))
    budget = scipy.sparse.csr_array(np.append(np.ones(keys), 0.0)[None])
    above = scipy.sparse.hstack([columns, -one])
    below = scipy.sparse.hstack([-columns, -one])
    solved = linprog(
        np.append(np.zeros(keys), 1.0),
        A_ub=scipy.sparse.vstack([above, below, budget]),
        b_ub=np.concatenate([own_N, -own_N, [1.0]]),
        method="highs",
    )
    if not solved.success:
        raise RuntimeError(f"linear program of {pairs} pairs and {keys} keys: {solved.message}")
    dual = solved.ineqlin.marginals[:pairs] - solved.ineqlin.marginals[pairs : 2 * pairs]
    return float(solved.fun), dual / max(1.0, float(np.abs(dual).sum()))


def _highest(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.argsort(-values, kind="stable")[:count]
