"""Seismic behind our interface: its hits against exact search, and unlikely inputs."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from lexigraft.errors import LexigraftError
from lexigraft.retrieval import search_matrices
from lexigraft.retrieval.recall import recall_of_exact
from lexigraft.retrieval.seismic import SeismicIndex
from lexigraft.specs.options import RetrieveOptions

ALL = RetrieveOptions(engine="seismic", query_cut=1000, heap_factor=0.0, summary_energy=1.0)
"""No list is left out and no block skipped."""


def sparse(rows: list[list[float]]) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array(np.array(rows, dtype=np.float32))


def search(documents: Any, ids: list[str], queries: Any, names: list[str], depth: int, **more: Any):
    index = SeismicIndex([documents], ids, documents.shape[1], ALL)
    return index.search(queries, names, depth, **more)


def material(documents: int, queries: int, dimensions: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    found = [
        scipy.sparse.random_array((n, dimensions), density=0.05, dtype=np.float32, rng=rng).tocsr()
        for n in (documents, queries)
    ]
    return found[0], found[1]


def test_by_hand() -> None:
    """Ties by id; nothing in common is no hit; ids that look like numbers stay what they are."""
    documents = sparse([[1, 0, 2], [0, 3, 0], [2, 0, 1], [0, 0, 0]])
    queries = sparse([[1, 0, 1], [0, 1, 0], [0, 0, 0]])
    hits = search(documents, ["007", "7", "ü d", "0"], queries, ["1", "ß", "0"], 10)
    assert hits.run() == {"1": ["007", "ü d"], "ß": ["7"], "0": []}
    assert [scores.tolist() for scores in hits.scores] == [[3.0, 3.0], [3.0], []]


def test_a_document_with_the_querys_id_makes_room_for_another() -> None:
    documents, query = sparse([[3.0], [2.0], [1.0]]), sparse([[1.0]])
    names = ["x", "y", "z"]
    assert search(documents, names, query, ["x"], 2).run() == {"x": ["x", "y"]}
    found = search(documents, names, query, ["x"], 2, remove_self_match=True)
    assert found.run() == {"x": ["y", "z"]}


@pytest.mark.parametrize("dimensions", [300, 70_000])
def test_where_nothing_is_left_out_it_finds_what_exact_search_does(dimensions: int) -> None:
    """Also beyond the vocabulary that 16 bits can count."""
    rng = np.random.default_rng(1)
    documents, queries = material(2_000, 200, 300)
    wide = rng.choice(dimensions, 300, replace=False)
    for matrix in (documents, queries):
        matrix.indices = wide[matrix.indices].astype(np.int32)
        matrix.resize(matrix.shape[0], dimensions)
        matrix.has_canonical_format = matrix.has_sorted_indices = False
    ids, names = [str(i) for i in range(2_000)], [str(i) for i in range(200)]
    exact = search_matrices(queries, names, [documents], ids, 100)
    found = search(documents, ids, queries, names, 100)
    recall = recall_of_exact(found, exact, 100)
    assert recall is not None
    assert recall > 0.98
    # Queries keep their answers though these come back in another order.
    assert found.documents[0][0] == exact.documents[0][0]
    for scores, best in zip(found.scores, exact.scores, strict=True):
        assert np.abs(scores - best).max() < 2e-3 * best.max()


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, queries = material(3_000, 100, 300)
    ids, names = [str(i) for i in range(3_000)], [str(i) for i in range(100)]
    options = RetrieveOptions(engine="seismic", n_postings=100, heap_factor=0.9)
    seen = []
    for threads in ("1", "4", "1"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        hits = SeismicIndex([documents], ids, 300, options).search(queries, names, 50)
        seen.append((hits.run(), [scores.tolist() for scores in hits.scores]))
    assert seen[0] == seen[1] == seen[2]


def test_parts_are_one_collection() -> None:
    documents, queries = material(500, 20, 100)
    ids, names = [str(i) for i in range(500)], [str(i) for i in range(20)]
    parts = (documents[i : i + 90] for i in range(0, 500, 90))
    found = SeismicIndex(parts, ids, 100, ALL).search(queries, names, 10)
    assert found.run() == search(documents, ids, queries, names, 10).run()


@pytest.mark.parametrize("rows", [0, 3])
def test_collections_without_an_entry(rows: int) -> None:
    documents = scipy.sparse.csr_array((rows, 2), dtype=np.float32)
    found = search(documents, [str(i) for i in range(rows)], sparse([[1.0, 0.0]]), ["q"], 5)
    assert found.run() == {"q": []}


def test_terms_that_no_document_has() -> None:
    queries = sparse([[0.0, 5.0], [1.0, 5.0]])
    hits = search(sparse([[1.0, 0.0]]), ["d"], queries, ["a", "b"], 5)
    assert hits.run() == {"a": [], "b": ["d"]}


def test_what_it_cannot_hold_is_told() -> None:
    documents = sparse([[1.0, 0.0], [0.0, 70_000.0]])
    with pytest.raises(LexigraftError, match=r"document 'b' has 70000; allowed: up to 65504"):
        search(documents, ["a", "b"], documents, ["q", "r"], 5)
    with pytest.raises(LexigraftError, match="seismic searches sparse vectors; dense ones found"):
        search(np.ones((1, 2)), ["a"], documents, ["q", "r"], 5)


def test_it_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    search(sparse([[1.0]]), ["d"], sparse([[1.0]]), ["q"], 5)
    print("still there")
    assert capfd.readouterr() == ("still there\n", "")
