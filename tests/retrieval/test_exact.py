"""Exact search on vectors made by hand, and against a full matrix of scores."""

import numpy as np
import pytest
import scipy.sparse

from lexigraft.errors import LexigraftError
from lexigraft.retrieval import exact
from lexigraft.retrieval.exact import ExactIndex, search_matrices


def sparse(rows: list[list[float]]) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(np.array(rows, dtype=np.float32))


def test_by_hand() -> None:
    documents = sparse([[1, 0, 2], [0, 3, 0], [2, 0, 1], [0, 0, 0]])
    hits = search_matrices(
        sparse([[1, 0, 1], [0, 1, 0], [0, 0, 0]]),
        ["a", "b", "c"],
        [documents],
        ["d10", "d2", "d1", "d0"],
        10,
    )
    # d10 and d1 both score 3: string order puts d1 first. Nothing in common is not retrieved.
    assert hits.run() == {"a": ["d1", "d10"], "b": ["d2"], "c": []}
    assert [scores.tolist() for scores in hits.scores] == [[3.0, 3.0], [3.0], []]


def test_dense_vectors_retrieve_negative_scores() -> None:
    documents = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    queries = np.array([[2.0, 0.0]], dtype=np.float32)
    hits = search_matrices(queries, ["q"], [documents], ["a", "b", "c"], 3)
    assert hits.run() == {"q": ["a", "c", "b"]}
    assert hits.scores[0].tolist() == [2.0, 0.0, -2.0]


def test_ties_at_the_cut_are_decided_by_id() -> None:
    ids = ["e", "d", "c", "b", "a"]
    parts = [sparse([[1.0]] * 2), sparse([[1.0]] * 3)]
    hits = search_matrices(sparse([[1.0]]), ["q"], parts, ids, 2)
    assert hits.run() == {"q": ["a", "b"]}


def test_a_document_with_the_querys_id() -> None:
    documents = sparse([[3.0], [2.0], [1.0]])
    arguments = (sparse([[1.0]]), ["x"], [documents], ["x", "y", "z"], 2)
    assert search_matrices(*arguments).run() == {"x": ["x", "y"]}
    assert search_matrices(*arguments, remove_self_match=True).run() == {"x": ["y", "z"]}


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("depth", [1, 7, 1000])
@pytest.mark.parametrize("threads", ["1", "4"])
def test_blocks_chunks_and_threads_do_not_matter(
    kind: str, depth: int, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against sorting the whole matrix; small integers make many ties and exact sums."""
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr(exact, "BLOCK_DOCUMENTS", 13)
    monkeypatch.setattr(exact, "CHUNK_SCORES", 40)
    monkeypatch.setattr(exact, "CHUNK_QUERIES", 2)
    rng = np.random.default_rng(0)
    documents = rng.integers(0, 3, (100, 8)) * (rng.random((100, 8)) < 0.4)
    queries = rng.integers(0, 3, (9, 8)) * (rng.random((9, 8)) < 0.4)
    if kind == "dense":
        documents, queries = documents - 1, queries - 1
    ids = [str(i) for i in rng.permutation(100)]
    names = [f"q{i}" for i in range(8)] + [ids[0]]
    scores = queries @ documents.T
    make = sparse if kind == "sparse" else lambda rows: np.array(rows, dtype=np.float32)
    parts = [make(documents[i : i + 17]) for i in range(0, 100, 17)]
    hits = search_matrices(make(queries), names, parts, ids, depth, remove_self_match=True)
    expected = {}
    for name, row in zip(names, scores, strict=True):
        kept = [i for i in range(100) if ids[i] != name and (kind == "dense" or row[i] > 0)]
        expected[name] = [ids[i] for i in sorted(kept, key=lambda i: (-row[i], ids[i]))[:depth]]
    assert hits.run() == expected
    # An index is read once and searched as often as one likes.
    index = ExactIndex(iter(parts), ids)
    for _ in range(2):
        found = index.search(make(queries), names, depth, remove_self_match=True)
        assert found.run() == expected
        assert [s.tolist() for s in found.scores] == [s.tolist() for s in hits.scores]


DOCUMENT_IDS = [f"{i:03d}" for i in range(200)]


def test_scores_are_scipys_to_the_last_bit() -> None:
    rng = np.random.default_rng(1)
    documents, queries = (
        scipy.sparse.random_array((rows, 60), density=0.3, dtype=np.float32, rng=rng).tocsr()
        for rows in (200, 20)
    )
    hits = search_matrices(queries, [str(i) for i in range(20)], [documents], DOCUMENT_IDS, 200)
    scores = (queries @ documents.T).toarray()
    for row, found, given in zip(scores, hits.documents, hits.scores, strict=True):
        assert len(found) == np.count_nonzero(row)
        assert given.tobytes() == row[found].tobytes()


def test_other_types_of_numbers() -> None:
    documents, queries = sparse([[1, 0, 2], [0, 3, 0]]), sparse([[1, 0, 1]])
    for matrix in (documents, queries):
        matrix.data = matrix.data.astype(np.float64)
        matrix.indices = matrix.indices.astype(np.int64)
        matrix.indptr = matrix.indptr.astype(np.int64)
    hits = search_matrices(queries, ["q"], [documents], ["a", "b"], 5)
    assert (hits.run(), hits.scores[0].dtype) == ({"q": ["a"]}, np.float32)


def test_no_documents_and_no_queries() -> None:
    assert search_matrices(sparse([[1.0]]), ["q"], [], [], 5).run() == {"q": []}
    none = scipy.sparse.csr_array((0, 1), dtype=np.float32)
    assert search_matrices(none, [], [sparse([[1.0]])], ["d"], 5).run() == {}


@pytest.mark.parametrize(
    ("queries", "parts", "ids", "sentence"),
    [
        (sparse([[0, 0, 1]]), [sparse([[1.0, 0]])], ["a"], "of 3 dimensions, .* sparse of 2"),
        (sparse([[1.0]]), [np.ones((1, 1), np.float32)], ["a"], "are sparse .* documents dense"),
        (sparse([[1.0]]), [sparse([[1.0]])], ["a", "b"], "1 documents, 2 ids"),
        (sparse([[1.0]]), [sparse([[1.0]] * 3)], ["a", "b"], "more documents than the 2 ids"),
        (sparse([[1.0]] * 2), [sparse([[1.0]])], ["a"], "2 queries, 1 ids"),
    ],
)
def test_what_does_not_fit_is_refused(queries, parts, ids, sentence: str) -> None:
    with pytest.raises(LexigraftError, match=sentence):
        search_matrices(queries, ["q"], parts, ids, 5)


def test_a_part_that_cannot_be_read_ends_the_search() -> None:
    def parts():
        yield sparse([[1.0]] * 3)
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        search_matrices(sparse([[1.0]]), ["q"], parts(), ["a", "b", "c", "d"], 5)


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.float16])
def test_dense_vectors_of_any_type_are_searched_as_float32(kind: type) -> None:
    queries, documents = np.array([[1, 2]], kind), np.array([[1, 1], [3, 0]], kind)
    hits = search_matrices(queries, ["q"], [documents], ["a", "b"], 10)
    assert [found.tolist() for found in hits.documents] == [[0, 1]]
    assert [scores.tolist() for scores in hits.scores] == [[3.0, 3.0]]


def test_a_depth_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="depth is 0"):
        search_matrices(np.eye(2), ["a", "b"], [np.eye(2)], ["x", "y"], 0)
