"""Recall against exact search, worked by hand."""

import numpy as np
import pytest

from lexigraft.retrieval.hits import Hits
from lexigraft.retrieval.recall import recall_of_exact

IDS = [f"d{i}" for i in range(6)]


def hits(*found: list[tuple[int, float]]) -> Hits:
    return Hits(
        [f"q{i}" for i in range(len(found))],
        IDS,
        [np.array([document for document, _ in each], dtype=np.int64) for each in found],
        [np.array([score for _, score in each], dtype=np.float32) for each in found],
    )


EXACT = hits([(0, 3.0), (1, 2.0), (2, 1.0), (3, 1.0)], [(4, 1.0)], [])


@pytest.mark.parametrize(
    ("found", "depth", "recall"),
    [
        ([(0, 3.0), (2, 1.0)], 2, (1 / 2 + 1) / 2),
        ([(0, 3.0), (2, 1.0)], 4, (2 / 4 + 1) / 2),
        # d3 ties with the last of the best three, so either will do, and both count once.
        ([(0, 3.0), (1, 2.0), (3, 1.0)], 3, 1.0),
        ([(1, 2.0), (2, 1.0), (3, 1.0)], 3, 1.0),
        # What comes after the depth is not among the best.
        ([(5, 9.0), (0, 3.0)], 1, (0 + 1) / 2),
        ([], 10, 1 / 2),
    ],
)
def test_by_hand(found: list[tuple[int, float]], depth: int, recall: float) -> None:
    assert recall_of_exact(hits(found, [(4, 1.0)], [(5, 1.0)]), EXACT, depth) == recall


def test_without_anything_to_find_there_is_no_recall() -> None:
    assert recall_of_exact(hits([], []), hits([], []), 10) is None
