"""Exact search: the dot product of every query with every document.

Documents come in blocks, queries in chunks, so memory holds one block and one chunk of scores. Of
equal scores the document whose id comes first in string order ranks first, also at the cut, so the
result does not depend on blocks, chunks or threads.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from lexigraft.errors import LexigraftError
from lexigraft.progress import track
from lexigraft.retrieval.hits import Hits
from lexigraft.retrieval.vectors import Vectors

BLOCK_DOCUMENTS = 1 << 16
CHUNK_SCORES = 1 << 23
"""Scores of a chunk of queries with a block of documents: 32 MiB in float32, for each thread."""


def search_vectors(
    queries: Vectors, documents: Vectors, depth: int, *, remove_self_match: bool = False
) -> Hits:
    """Search encoded documents; see `search_matrices`.

    Raises:
        LexigraftError: queries and documents do not fit, or a shard cannot be read.
    """
    if (queries.dimensions, queries.sparse) != (documents.dimensions, documents.sparse):
        raise LexigraftError(
            f"{documents.folder}: queries of {queries.dimensions} dimensions, documents of "
            f"{documents.dimensions}"
        )
    return search_matrices(
        queries.matrix(),
        queries.ids,
        track(documents.shards(), "search", total=len(documents.rows), unit="shards"),
        documents.ids,
        depth,
        remove_self_match=remove_self_match,
    )


def search_matrices(
    queries_QD: Any,
    query_ids: Sequence[str],
    document_parts: Iterable[Any],
    document_ids: Sequence[str],
    depth: int,
    *,
    remove_self_match: bool = False,
) -> Hits:
    """The `depth` best documents of each query by dot product.

    Sparse vectors (CSR) are not negative, so a score of 0 means no entry in common, and such a
    document is not retrieved: a query may have fewer than `depth` documents, or none. Dense vectors
    retrieve any document, whatever the sign of its score.

    Args:
        queries_QD: queries, CSR or numpy array.
        document_parts: consecutive documents, each part of the same kind.
        document_ids: ids of all documents, in the order of the parts.
        depth: documents kept for each query.
        remove_self_match: leave out a document with the query's own id (ArguAna and Quora only).
    """
    best = _Best(depth, _string_order(document_ids), len(query_ids))
    own = {name: position for position, name in enumerate(document_ids)}
    self_match = [own.get(query, -1) if remove_self_match else -1 for query in query_ids]
    sparse = scipy.sparse.issparse(queries_QD)
    floor = np.float32(0.0) if sparse else -np.float32(np.inf)
    start = 0
    with ThreadPoolExecutor(_threads() if sparse else 1) as pool:
        for block_ND in _blocks(document_parts):
            transposed_DN = block_ND.T.tocsr() if sparse else block_ND.T
            N = block_ND.shape[0]

            def score(rows: range, other: Any = transposed_DN, first: int = start) -> None:
                queries_CD = queries_QD[rows.start : rows.stop]
                scores_CN = _sparse_scores(queries_CD, other) if sparse else queries_CD @ other
                for row, scores_N in zip(rows, scores_CN, strict=True):
                    if 0 <= self_match[row] - first < len(scores_N):
                        scores_N[self_match[row] - first] = -np.inf
                    best.add(row, scores_N, first, floor)

            size = max(1, CHUNK_SCORES // max(1, N))
            chunks = [
                range(row, min(row + size, len(query_ids)))
                for row in range(0, len(query_ids), size)
            ]
            # list() so that an error in a thread is raised here.
            list(pool.map(score, chunks))
            start += N
    return Hits(list(query_ids), list(document_ids), best.documents, best.scores)


def _sparse_scores(queries_CD: Any, index_DN: Any) -> Iterator[NDArray[np.float32]]:
    """Each query's scores of all documents of a block: its terms' lists, weighted and summed.

    The sums of scipy's product of two sparse matrices, in the same order, without looking for the
    documents that have one.
    """
    starts = queries_CD.indptr
    for begin, end in pairwise(starts):
        lists_TN = index_DN[queries_CD.indices[begin:end]]
        yield lists_TN.T @ queries_CD.data[begin:end]


@dataclass
class _Best:
    """The best documents so far of each query."""

    depth: int
    order: NDArray[np.int64]
    """Place of each document when ids are sorted."""
    queries: int
    documents: list[NDArray[np.int64]] = field(init=False)
    scores: list[NDArray[np.float32]] = field(init=False)

    def __post_init__(self) -> None:
        self.documents = [np.zeros(0, dtype=np.int64)] * self.queries
        self.scores = [np.zeros(0, dtype=np.float32)] * self.queries

    def add(self, row: int, scores_N: NDArray[np.float32], first: int, floor: np.float32) -> None:
        """Merge a block whose first document is number `first`; scores must be above `floor`."""
        kept = self.scores[row]
        mask = scores_N > floor
        if len(kept) == self.depth:
            mask &= scores_N >= kept[-1]
        found = np.flatnonzero(mask)
        if len(found) > self.depth:
            values = scores_N[found]
            last = np.partition(values, len(values) - self.depth)[len(values) - self.depth]
            found = found[values >= last]
        documents = np.concatenate((self.documents[row], found + first))
        scores = np.concatenate((kept, scores_N[found]))
        best = np.lexsort((self.order[documents], -scores))[: self.depth]
        self.documents[row], self.scores[row] = documents[best], scores[best]


def _string_order(ids: Sequence[str]) -> NDArray[np.int64]:
    order = np.empty(len(ids), dtype=np.int64)
    order[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return order


def _blocks(parts: Iterable[Any]) -> Iterator[Any]:
    """Parts joined or cut into blocks of about BLOCK_DOCUMENTS documents."""
    waiting: list[Any] = []
    for part in parts:
        for start in range(0, part.shape[0], BLOCK_DOCUMENTS):
            waiting.append(part[start : start + BLOCK_DOCUMENTS])
            if sum(piece.shape[0] for piece in waiting) >= BLOCK_DOCUMENTS:
                yield _joined(waiting)
                waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    if scipy.sparse.issparse(pieces[0]):
        return scipy.sparse.vstack(pieces, format="csr")
    return np.concatenate(pieces)


def _threads() -> int:
    """Processors that this process may use, or OMP_NUM_THREADS where that is less."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(available or 1, int(asked) if asked.isdigit() else 64))
