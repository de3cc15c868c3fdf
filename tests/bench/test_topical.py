"""Vectors with topics: of the size that is asked for, and with neighbours to be found."""

import numpy as np
import scipy.sparse

from lexigraft.bench.comparisons import topical
from lexigraft.bench.comparisons.topical import Topics, _first_distinct


def test_distinct_terms_by_hand() -> None:
    drawn = np.array([[7, 3, 7, 5, 3, 1], [2, 2, 2, 2, 2, 2]], dtype=np.int32)
    kept = _first_distinct(drawn, 3)
    assert kept.tolist() == [[True, True, False, True, False, False], [True] + [False] * 5]


def test_size_and_types(monkeypatch) -> None:
    monkeypatch.setattr(topical, "PART_TEXTS", 300)
    topics = Topics(vocabulary=5_000, topics=10)
    parts = list(topics.documents(1_000, 50))
    assert [part.shape for part in parts] == [(300, 5_000)] * 3 + [(100, 5_000)]
    documents = scipy.sparse.vstack(parts, format="csr")
    assert np.diff(documents.indptr).max() == 50
    assert np.diff(documents.indptr).mean() > 49
    assert (documents.data.dtype, documents.indices.dtype) == (np.float32, np.int32)
    assert documents.data.min() > 0
    assert all(part.has_canonical_format for part in parts)
    # The same numbers again: each side of a comparison makes its own.
    again = next(Topics(vocabulary=5_000, topics=10).documents(1_000, 50))
    assert (again != parts[0]).nnz == 0


def test_queries_have_near_documents() -> None:
    """The nearest documents have most of a query's terms; of shuffled terms they have a few."""
    topics = Topics(vocabulary=30_000, topics=20)
    documents = next(topics.documents(1_000, 200))
    queries = topics.queries(20, 30)
    shuffled = documents.copy()
    shuffled.indices = np.random.default_rng(0).permutation(documents.indices)

    def shared_terms(matrix) -> float:
        return float(((queries > 0) @ (matrix > 0).T.astype(int)).toarray().max(axis=1).mean())

    assert shared_terms(documents) > 2 * shared_terms(shuffled)
