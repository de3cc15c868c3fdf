"""Document length and FLOPS by hand."""

import numpy as np
import pytest
import scipy.sparse

from lexigraft.evaluation import Activity, flops


def activity(*shards: list[list[float]]) -> Activity:
    found = Activity(4)
    for shard in shards:
        found.add(scipy.sparse.csr_array(np.array(shard, dtype=np.float32)))
    return found


def test_by_hand() -> None:
    """p_q = (1, .5, 0, 0), p_d = (.5, .25, .75, 0): FLOPS = .5 + .125."""
    queries = activity([[1, 0, 0, 0], [2, 3, 0, 0]])
    documents = activity([[1, 1, 0, 0], [0, 0, 5, 0]], [[1, 0, 1, 0], [0, 0, 1, 0]])
    assert queries.length == 1.5
    assert documents.length == 1.5
    assert flops(queries, documents) == 0.625


def test_flops_are_the_mean_overlap_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    q, d = (rng.random((n, 4)) * (rng.random((n, 4)) < 0.5) for n in (7, 11))
    overlap = ((q[:, None] > 0) & (d[None] > 0)).sum(2).mean()
    assert flops(activity(q.tolist()), activity(d.tolist())) == pytest.approx(overlap)


def test_stored_zeros_are_not_active() -> None:
    stored = scipy.sparse.csr_array(
        (np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 4)
    )
    found = Activity(4)
    found.add(stored)
    assert found.length == 1.0


def test_without_texts() -> None:
    assert activity().length == 0.0
    assert flops(activity(), activity([[1, 1, 1, 1]])) == 0.0
