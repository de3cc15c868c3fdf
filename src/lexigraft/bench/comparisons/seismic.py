"""Exact search against Seismic, tuned to find at least 97 % of it; both indices made beforehand.

The vectors have topics (`topical`): on independent random terms recall would say nothing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lexigraft.bench.comparison import Comparison, Work
from lexigraft.bench.comparisons.search import ids
from lexigraft.bench.comparisons.topical import Topics

FULL = {
    "vocabulary": 30_522,
    "topics": 50,
    "documents": 50_000,
    "document_terms": 200,
    "queries": 500,
    "query_terms": 30,
    "n_postings": 130,
}
SMALL = {
    "vocabulary": 300,
    "topics": 5,
    "documents": 400,
    "document_terms": 20,
    "queries": 5,
    "query_terms": 6,
    "n_postings": 400,
}
LEAST_RECALL = 0.97


def ours(*, depth: int, n_postings: int, query_cut: int, heap_percent: int, **size: int) -> Work:
    """An inverted index of all documents."""
    from lexigraft.retrieval.exact import ExactIndex

    documents, queries_QV, _ = _material(**size)
    document_ids = [name for part in documents for name in ids("d", part)]
    index = ExactIndex(documents, document_ids)
    query_ids = ids("q", queries_QV)
    return Work(lambda: index.search(queries_QV, query_ids, depth), _documents(depth))


def seismic(*, depth: int, n_postings: int, query_cut: int, heap_percent: int, **size: int) -> Work:
    """Seismic as our engine calls it, with hits as numpy arrays at the end."""
    from lexigraft.retrieval.seismic import SeismicIndex
    from lexigraft.specs.options import RetrieveOptions

    documents, queries_QV, vocabulary = _material(**size)
    options = RetrieveOptions(
        engine="seismic",
        n_postings=n_postings,
        query_cut=query_cut,
        heap_factor=heap_percent / 100,
    )
    document_ids = [name for part in documents for name in ids("d", part)]
    index = SeismicIndex(documents, document_ids, vocabulary, options)
    query_ids = ids("q", queries_QV)
    return Work(lambda: index.search(queries_QV, query_ids, depth), _documents(depth))


def _documents(depth: int) -> Any:
    """Numbers of the documents found (Q, depth); -1 where a query has fewer."""

    def arrays(hits: Any) -> Mapping[str, Any]:
        found_QK = np.full((len(hits.documents), depth), -1, dtype=np.int64)
        for row_K, found in zip(found_QK, hits.documents, strict=True):
            row_K[: len(found)] = found
        return {"documents": found_QK}

    return arrays


def _material(
    *,
    vocabulary: int,
    topics: int,
    documents: int,
    document_terms: int,
    queries: int,
    query_terms: int,
) -> tuple[list[Any], Any, int]:
    """Parts of the documents, queries, and the vocabulary."""
    made = Topics(vocabulary, topics)
    parts = list(made.documents(documents, document_terms))
    return parts, made.queries(queries, query_terms), vocabulary


def _comparison(name: str, depth: int, **tuned: int) -> Comparison:
    everything = {"query_cut": SMALL["query_terms"], "heap_percent": 10}
    return Comparison(
        name=name,
        title="exact search, {documents:,} documents of {document_terms} terms with topics, "
        "{queries:,} queries of {query_terms} terms, top {depth:,}",
        peer="Seismic",
        ours=ours,
        theirs=seismic,
        sizes={
            "full": FULL | {"depth": depth} | tuned,
            "small": SMALL | {"depth": min(depth, 20)} | everything,
        },
        agreement="recall",
        tolerance=1 - LEAST_RECALL,
    )


COMPARISONS = (
    _comparison("search-seismic", depth=1_000, query_cut=7, heap_percent=100),
    _comparison("search-seismic-10", depth=10, query_cut=3, heap_percent=80),
)
