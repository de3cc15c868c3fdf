"""Exact search: in one call against scipy's sparse product, with an index against bm25s' kernel.

A vector has one entry in each of its strata, consecutive ranges of the vocabulary that grow
linearly: document frequencies fall off like Zipf's, and no entry comes twice.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lexigraft.bench.comparison import Comparison, Target, Work

FULL = {
    "vocabulary": 30_522,
    "documents": 100_000,
    "document_terms": 200,
    "queries": 500,
    "query_terms": 30,
    "depth": 1_000,
}
SMALL = {
    "vocabulary": 300,
    "documents": 400,
    "document_terms": 20,
    "queries": 5,
    "query_terms": 6,
    "depth": 10,
}


def ours(*, depth: int, **size: int) -> Work:
    """Blocks of documents, queries in chunks over threads; no index beforehand."""
    from lexigraft.retrieval.exact import search_matrices

    queries_QV, documents_NV = _material(**size)
    query_ids, document_ids = ids("q", queries_QV), ids("d", documents_NV)
    return Work(
        lambda: search_matrices(queries_QV, query_ids, [documents_NV], document_ids, depth),
        lambda hits: {"scores": padded(hits.scores, depth)},
    )


def scipy_product(*, depth: int, **size: int) -> Work:
    """All scores at once (one thread, as scipy has it), then argpartition of each row."""
    queries_QV, documents_NV = _material(**size)

    def run() -> Any:
        scores_QN = (queries_QV @ documents_NV.T).toarray()
        best_QK = np.argpartition(scores_QN, -depth, axis=1)[:, -depth:]
        scores_QK = np.take_along_axis(scores_QN, best_QK, axis=1)
        order_QK = np.argsort(-scores_QK, axis=1)
        return np.take_along_axis(scores_QK, order_QK, 1), np.take_along_axis(best_QK, order_QK, 1)

    return Work(run, lambda found: {"scores": found[0]})


def ours_unweighted(*, depth: int, **size: int) -> Work:
    """An index made beforehand, query weights of 1."""
    from lexigraft.retrieval.exact import ExactIndex

    queries_QV, documents_NV = _material(**size)
    queries_QV.data[:] = 1
    index = ExactIndex([documents_NV], ids("d", documents_NV))
    query_ids = ids("q", queries_QV)
    return Work(
        lambda: index.search(queries_QV, query_ids, depth),
        lambda hits: {"scores": padded(hits.scores, depth)},
    )


def bm25s_kernel(*, depth: int, **size: int) -> Work:
    """bm25s over the same weights, its index made beforehand, with its numba backend.

    It has no weights of query terms, so they are 1 on both sides.
    """
    import os

    import bm25s

    queries_QV, documents_NV = _material(**size)
    index = documents_NV.tocsc()
    retriever = bm25s.BM25(backend="numba")
    retriever.scores = {
        "data": index.data,
        "indices": index.indices.astype(np.int32),
        "indptr": index.indptr.astype(np.int32),
        "num_docs": documents_NV.shape[0],
    }
    retriever.nonoccurrence_array = None
    retriever.unique_token_ids_set = set(range(documents_NV.shape[1]))
    terms = [part.tolist() for part in np.split(queries_QV.indices, queries_QV.indptr[1:-1])]
    threads = int(os.environ["NUMBA_NUM_THREADS"])
    return Work(
        lambda: retriever.retrieve(terms, k=depth, n_threads=threads, show_progress=False),
        lambda found: {"scores": found.scores},
    )


def ids(letter: str, matrix: Any) -> list[str]:
    """An id for each row."""
    return [f"{letter}{row:07d}" for row in range(matrix.shape[0])]


def padded(scores: Sequence[Any], depth: int) -> Any:
    """Each query's scores as a row (Q, depth), with zeros where it has fewer."""
    scores_QK = np.zeros((len(scores), depth), dtype=np.float32)
    for row_K, found in zip(scores_QK, scores, strict=True):
        row_K[: len(found)] = found
    return scores_QK


def _material(
    *, vocabulary: int, documents: int, document_terms: int, queries: int, query_terms: int
) -> tuple[Any, Any]:
    """Queries and documents, CSR arrays of float32."""
    generator = np.random.default_rng(0)
    edges = vocabulary * (np.arange(document_terms + 1) / document_terms) ** 2
    starts = np.maximum(edges.astype(np.int32), np.arange(document_terms + 1))
    every_NT = np.broadcast_to(np.arange(document_terms), (documents, document_terms))
    few_QT = np.sort(
        generator.permuted(np.tile(np.arange(document_terms), (queries, 1)), axis=1)[
            :, :query_terms
        ],
        axis=1,
    )
    return tuple(_vectors(strata, starts, generator) for strata in (few_QT, every_NT))


def _vectors(strata_NT: Any, starts: Any, generator: np.random.Generator) -> Any:
    import scipy.sparse

    N, T = strata_NT.shape
    entry_NT = generator.integers(starts[strata_NT], starts[strata_NT + 1], dtype=np.int32)
    value_NT = generator.uniform(0.05, 2.0, size=(N, T)).astype(np.float32)
    row_starts = np.arange(0, N * T + 1, T, dtype=np.int32)
    return scipy.sparse.csr_array(
        (value_NT.ravel(), entry_NT.ravel(), row_starts), shape=(N, int(starts[-1]))
    )


def _comparison(name: str, peer: str, ours: Any, theirs: Any, **more: Any) -> Comparison:
    weights = " of weight 1" if theirs is bm25s_kernel else ""
    return Comparison(
        name=name,
        title="exact search, {documents:,} documents of {document_terms} terms, {queries:,} "
        f"queries of {{query_terms}} terms{weights}, top {{depth:,}}",
        peer=peer,
        ours=ours,
        theirs=theirs,
        sizes={"full": FULL, "small": SMALL},
        tolerance=1e-5,
        **more,
    )


COMPARISONS = (
    _comparison(
        "search",
        "scipy sparse product and argpartition",
        ours,
        scipy_product,
        target=Target(time=3.0, memory=1.0),
    ),
    _comparison("search-bm25s", "bm25s (numba)", ours_unweighted, bm25s_kernel, packages=["numba"]),
)
