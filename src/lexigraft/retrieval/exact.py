"""Exact search: the dot product of every query with every document.

Documents come in blocks, queries in chunks, so memory holds two blocks (one is searched, the next
one is made ready) and each thread's scores. Of equal scores the document whose id comes first in
string order ranks first, also at the cut, so the result does not depend on blocks, chunks or
threads.

Shapes: Q queries, C queries of a chunk, N documents of a block, D dimensions, T terms of a query.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse import _sparsetools

from lexigraft.errors import LexigraftError
from lexigraft.machine import threads
from lexigraft.progress import track
from lexigraft.retrieval.best import Best, string_order
from lexigraft.retrieval.hits import Hits
from lexigraft.retrieval.vectors import Vectors, refuse_misfit

BLOCK_DOCUMENTS = 1 << 16
CHUNK_SCORES = 1 << 23
"""Scores of a chunk of dense queries with a block of documents: 32 MiB in float32, a thread."""
CHUNK_QUERIES = 64
"""Sparse queries of a chunk, which are scored one by one."""


class ExactIndex:
    """Documents ready to be searched many times: an inverted index of each block.

    It holds what the documents take (8 bytes a non-zero entry) and 4 or 8 bytes a dimension for
    each block; while it is built, one block twice.
    """

    def __init__(self, document_parts: Iterable[Any], document_ids: Sequence[str]) -> None:
        """
        Args:
            document_parts: consecutive documents, CSR or numpy arrays; read once, one after
                another.
            document_ids: ids of all documents, in the order of the parts.
        """
        self.document_ids = list(document_ids)
        self._by_place = string_order(self.document_ids)
        self._blocks = [_transposed(block) for block in _blocks(document_parts)]

    def search(
        self,
        queries_QD: Any,
        query_ids: Sequence[str],
        depth: int,
        *,
        remove_self_match: bool = False,
    ) -> Hits:
        """The `depth` best documents of each query; see `search_matrices`."""
        best = Best(depth, self._by_place, len(query_ids))
        return _search(
            self._blocks, self.document_ids, queries_QD, query_ids, best, remove_self_match
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
    """The `depth` best documents of each query by dot product, without keeping an index.

    Sparse vectors (CSR) are not negative, so a score of 0 means no entry in common, and such a
    document is not retrieved: a query may have fewer than `depth` documents, or none. Dense vectors
    retrieve any document, whatever the sign of its score.

    Args:
        queries_QD: queries, CSR or numpy array.
        document_parts: consecutive documents, each part of the same kind.
        document_ids: ids of all documents, in the order of the parts.
        depth: documents kept for each query.
        remove_self_match: leave out a document with the query's own id (ArguAna and Quora only).

    Raises:
        LexigraftError: queries and documents, or vectors and ids, do not fit.
    """
    blocks = (_transposed(block) for block in _blocks(document_parts))
    best = Best(depth, string_order(document_ids), len(query_ids))
    return _search(blocks, document_ids, queries_QD, query_ids, best, remove_self_match)


def search_vectors(
    queries: Vectors, documents: Vectors, depth: int, *, remove_self_match: bool = False
) -> Hits:
    """Search encoded documents; see `search_matrices`.

    Raises:
        LexigraftError: queries and documents do not fit, or a shard cannot be read.
    """
    refuse_misfit(queries, documents)
    return search_matrices(
        queries.matrix(),
        queries.ids,
        track(documents.shards(), "search", total=len(documents.rows), unit="shards"),
        documents.ids,
        depth,
        remove_self_match=remove_self_match,
    )


def _search(
    blocks_DN: Iterable[Any],
    document_ids: Sequence[str],
    queries_QD: Any,
    query_ids: Sequence[str],
    best: Best,
    remove_self_match: bool,
) -> Hits:
    sparse = scipy.sparse.issparse(queries_QD)
    if queries_QD.shape[0] != len(query_ids):
        raise LexigraftError(f"search: {queries_QD.shape[0]} queries, {len(query_ids)} ids")
    queries_QD = queries_QD.astype(np.float32, copy=False)
    floor = 0.0 if sparse else -np.inf
    own = {name: place for place, name in enumerate(document_ids)} if remove_self_match else {}
    self_match = [own.get(query, -1) for query in query_ids]
    first = 0
    # Products of dense matrices have threads of their own.
    with ThreadPoolExecutor(threads() if sparse else 1) as pool:
        for block_DN in _ahead(blocks_DN, pool):
            N = block_DN.shape[1]
            _refuse_misfit(queries_QD, block_DN)
            if first + N > len(document_ids):
                raise LexigraftError(f"search: more documents than the {len(document_ids)} ids")

            def score(rows: range, block_DN: Any = block_DN, first: int = first) -> None:
                queries_CD = queries_QD[rows.start : rows.stop]
                scores_CN = (
                    _sparse_scores(queries_CD, block_DN) if sparse else queries_CD @ block_DN
                )
                for row, scores_N in zip(rows, scores_CN, strict=True):
                    if 0 <= self_match[row] - first < len(scores_N):
                        scores_N[self_match[row] - first] = -np.inf
                    best.add(row, scores_N, first, floor)

            size = CHUNK_QUERIES if sparse else max(1, CHUNK_SCORES // max(1, N))
            chunks = [
                range(row, min(row + size, len(query_ids)))
                for row in range(0, len(query_ids), size)
            ]
            # list() so that an error in a thread is raised here.
            list(pool.map(score, chunks))
            first += N
    if first < len(document_ids):
        raise LexigraftError(f"search: {first} documents, {len(document_ids)} ids")
    return Hits(list(query_ids), list(document_ids), best.documents(), best.scores())


def _refuse_misfit(queries_QD: Any, block_DN: Any) -> None:
    asked, searched = (
        f"{'sparse' if scipy.sparse.issparse(matrix) else 'dense'} of {dimensions} dimensions"
        for matrix, dimensions in (
            (queries_QD, queries_QD.shape[1]),
            (block_DN, block_DN.shape[0]),
        )
    )
    if asked != searched:
        raise LexigraftError(f"search: queries are {asked}, documents {searched}")


def _ahead(blocks: Iterable[Any], pool: ThreadPoolExecutor) -> Iterator[Any]:
    """The blocks; while one is searched, the next one is read and inverted."""
    coming = iter(blocks)
    waiting = pool.submit(next, coming, None)
    while (block := waiting.result()) is not None:
        waiting = pool.submit(next, coming, None)
        yield block


def _sparse_scores(queries_CD: Any, index_DN: Any) -> Iterator[NDArray[np.float32]]:
    """Each query's scores of all documents of a block: its terms' lists, weighted and summed.

    The sums of scipy's product of two sparse matrices, in the same order, without looking for the
    documents that have one. The array is the same one at each step, filled anew.

    What `(index_DN[terms].T @ weights)` calls is called directly: the matrices that scipy would
    make on the way take longer than the sums.
    """
    starts, lists, values = index_DN.indptr, index_DN.indices, index_DN.data
    terms = queries_CD.indices.astype(lists.dtype, copy=False)
    weights = queries_CD.data.astype(np.float32, copy=False)
    lengths = starts[terms + 1] - starts[terms]
    spans = [slice(*ends) for ends in pairwise(queries_CD.indptr.tolist())]
    most = max((int(lengths[span].sum()) for span in spans), default=0)
    found, values_found = np.empty(most, lists.dtype), np.empty(most, np.float32)
    scores_N = np.empty(index_DN.shape[1], dtype=np.float32)
    for span in spans:
        T = span.stop - span.start
        ends = np.zeros(T + 1, dtype=lists.dtype)
        np.cumsum(lengths[span], out=ends[1:])
        _sparsetools.csr_row_index(T, terms[span], starts, lists, values, found, values_found)
        scores_N.fill(0)
        _sparsetools.csc_matvec(
            len(scores_N), T, ends, found, values_found, weights[span], scores_N
        )
        yield scores_N


def _transposed(block_ND: Any) -> Any:
    """A block as it is searched: the list of documents of each dimension, or columns."""
    block_ND = block_ND.astype(np.float32, copy=False)
    return block_ND.T.tocsr() if scipy.sparse.issparse(block_ND) else block_ND.T


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
