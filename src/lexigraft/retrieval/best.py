"""The best documents of each query so far, as blocks of scores come in.

A hit is one 64-bit integer, its key: the score's bits, turned so that a higher score is a smaller
number, above the place of the document's id in string order. Smaller keys are better hits, and
equal scores are settled by id at the cut as in the ranking, in whatever order hits come.

Shapes: N documents of a block, K hits.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SAMPLE_STRIDE = 64
SAMPLE_DEVIATIONS = 3
"""How many standard deviations of the sample's count are let through beyond what is needed."""
PLACE_BITS = np.uint64(32)
PLACE_MASK = np.uint64(2**32 - 1)
SIGN = np.uint32(2**31)


class Best:
    """The `depth` best documents of each of some queries."""

    def __init__(self, depth: int, by_place: NDArray[np.int64], queries: int) -> None:
        """`by_place`: numbers of all documents in the order of their ids (`string_order`)."""
        if depth < 1:
            raise ValueError(f"depth is {depth}; it must be at least 1")
        self.depth = depth
        self._by_place = by_place
        self._place = np.empty(len(by_place), dtype=np.uint64)
        self._place[by_place] = np.arange(len(by_place), dtype=np.uint64)
        self._keys = [np.zeros(0, dtype=np.uint64)] * queries
        self._last = [-np.inf] * queries
        """Score of the worst hit of a query that has `depth` of them."""

    def add(self, query: int, scores_N: NDArray[np.float32], first: int, floor: float) -> None:
        """Take in a block whose first document is number `first`; scores must be above `floor`.

        Several threads may call this at once for different queries.
        """
        found = _candidates(scores_N, max(floor, self._last[query]), self.depth)
        # What ties with the worst hit may have a better id; what is at the floor is no hit.
        scores_K = scores_N[found]
        if self._last[query] <= floor:
            found, scores_K = found[scores_K > floor], scores_K[scores_K > floor]
        keys = np.concatenate((self._keys[query], _keys(scores_K, self._place[found + first])))
        if len(keys) >= self.depth:
            keys = np.partition(keys, self.depth - 1)[: self.depth]
            self._last[query] = float(_scores(keys[-1:])[0])
        self._keys[query] = keys

    def documents(self) -> list[NDArray[np.int64]]:
        """Numbers of each query's documents, best first."""
        return [self._by_place[np.sort(keys) & PLACE_MASK] for keys in self._keys]

    def scores(self) -> list[NDArray[np.float32]]:
        """Their scores."""
        return [_scores(np.sort(keys)) for keys in self._keys]


def string_order(ids: Sequence[str]) -> NDArray[np.int64]:
    """Numbers of the ids in string order."""
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)


def _candidates(scores_N: NDArray[np.float32], least: float, depth: int) -> NDArray[np.int64]:
    """Places of scores of at least `least`, without most of those that `depth` others pass.

    A sample tells a score that somewhat more than `depth` documents are likely to reach; if they
    do, no document below it matters.
    """
    expected = depth / SAMPLE_STRIDE
    needed = int(expected + SAMPLE_DEVIATIONS * math.sqrt(expected)) + 1
    sample = scores_N[::SAMPLE_STRIDE]
    if needed < len(sample):
        guess = np.partition(sample, len(sample) - needed)[len(sample) - needed]
        if guess > least:
            found = np.flatnonzero(scores_N >= guess)
            if len(found) >= depth:
                return found
    return np.flatnonzero(scores_N >= np.float32(least))


def _keys(scores_K: NDArray[np.float32], place_K: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys of hits; -0.0 is 0.0."""
    bits = (scores_K + np.float32(0)).view(np.uint32)
    # Floats as integers: their order, but reversed where negative. Then reversed as a whole.
    ordered = np.where(bits >= SIGN, ~bits, bits | SIGN)
    return (~ordered).astype(np.uint64) << PLACE_BITS | place_K


def _scores(keys: NDArray[np.uint64]) -> NDArray[np.float32]:
    ordered = ~(keys >> PLACE_BITS).astype(np.uint32)
    return np.where(ordered >= SIGN, ordered ^ SIGN, ~ordered).view(np.float32)
