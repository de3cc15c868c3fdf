"""Seismic: approximate search of sparse vectors (Bruch et al., SIGIR 2024; pyseismic-lsr).

Each inverted list keeps its largest entries in blocks of like documents with a summary each. A
query reads the lists of its `query_cut` heaviest terms, skips blocks whose summary promises too
little, and takes the full product with the documents of the others, whose values are float16.
Scores are that product's, so they differ from exact ones by float16's rounding.

The same documents, queries and options give the same hits with any number of threads.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from lexigraft.errors import LexigraftError
from lexigraft.machine import threads
from lexigraft.retrieval.best import string_order
from lexigraft.retrieval.hits import Hits
from lexigraft.specs.options import RetrieveOptions

SMALL_VOCABULARY = 1 << 16
"""Dimensions up to which Seismic keeps a component in 16 bits."""
LARGEST_VALUE = float(np.finfo(np.float16).max)
CHUNK_HITS = 1 << 18
"""Hits asked for at once: Seismic returns each as a tuple of Python objects."""


class SeismicIndex:
    """Documents ready to be searched many times, as `lexigraft.retrieval.exact.ExactIndex`.

    All documents and the summaries of all blocks lie in memory. While it is built, that was some 40
    bytes a non-zero entry where lists keep 15 % of the entries (docs/search.md).
    """

    def __init__(
        self,
        document_parts: Iterable[Any],
        document_ids: Sequence[str],
        dimensions: int,
        options: RetrieveOptions,
    ) -> None:
        """
        Args:
            document_parts: consecutive documents, CSR; read once, one after another.
            document_ids: ids of all documents, in the order of the parts.
            dimensions: columns of each part.
            options: of index and search.

        Raises:
            LexigraftError: a document is dense, or has a value that float16 cannot hold.
        """
        import seismic

        large = dimensions > SMALL_VOCABULARY
        dataset_class = seismic.SeismicDatasetLV if large else seismic.SeismicDataset
        index_class = seismic.SeismicIndexLV if large else seismic.SeismicIndex
        self.document_ids = list(document_ids)
        self.options = options
        self._place = np.empty(len(document_ids), dtype=np.int64)
        self._place[string_order(self.document_ids)] = np.arange(len(document_ids))
        dataset = dataset_class(dim=dimensions)
        first = 0
        for part in document_parts:
            _add(dataset, part, self.document_ids, first)
            first += part.shape[0]
        with _quiet():
            self._index = index_class.build_from_dataset(
                dataset,
                n_postings=options.n_postings,
                centroid_fraction=options.centroid_fraction,
                min_cluster_size=options.min_cluster_size,
                summary_energy=options.summary_energy,
                max_fraction=options.max_fraction,
                num_threads=threads(),
            )

    def search(
        self,
        queries_QD: Any,
        query_ids: Sequence[str],
        depth: int,
        *,
        remove_self_match: bool = False,
    ) -> Hits:
        """About the `depth` best documents of each query; ties are settled by document id among
        what was found. A query without an entry has no hits."""
        numbers = enumerate(self.document_ids) if remove_self_match else ()
        own = {name: number for number, name in numbers}
        self_match = [own.get(query, -1) for query in query_ids]
        wanted = depth + remove_self_match
        size = max(1, CHUNK_HITS // wanted)
        documents = [np.zeros(0, dtype=np.int64)] * len(query_ids)
        scores = [np.zeros(0, dtype=np.float32)] * len(query_ids)
        for start in range(0, len(query_ids), size):
            chunk_CD = queries_QD[start : start + size]
            for row, found_K, scores_K in self._search(chunk_CD, wanted):
                hit = (scores_K > 0) & (found_K != self_match[start + row])
                found_K, scores_K = found_K[hit], scores_K[hit]
                best = np.lexsort((self._place[found_K], -scores_K))[:depth]
                documents[start + row], scores[start + row] = found_K[best], scores_K[best]
        return Hits(list(query_ids), self.document_ids, documents, scores)

    def _search(
        self, queries_CD: Any, wanted: int
    ) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
        """Row, documents and scores of each query that found something, in any order."""
        import seismic

        text = seismic.get_seismic_string()
        spans = [
            slice(*ends) for ends in zip(queries_CD.indptr[:-1], queries_CD.indptr[1:], strict=True)
        ]
        terms, weights = queries_CD.indices.astype(text), queries_CD.data.astype(np.float32)
        found = self._index.batch_search(
            np.arange(len(spans)).astype(text),
            [terms[span] for span in spans],
            [weights[span] for span in spans],
            k=wanted,
            query_cut=self.options.query_cut,
            heap_factor=self.options.heap_factor,
            sorted=self.options.sorted_summaries,
            num_threads=threads(),
        )
        # Answers come in no fixed order, each hit with its query's name.
        for hits in found:
            if hits:
                names, scores, documents = zip(*hits, strict=True)
                yield (
                    int(names[0]),
                    np.array(documents, dtype=np.int64),
                    np.array(scores, dtype=np.float32),
                )


def _add(dataset: Any, part_ND: Any, document_ids: Sequence[str], first: int) -> None:
    """Give a part to Seismic; documents are named by their number."""
    if not scipy.sparse.issparse(part_ND):
        raise LexigraftError("engine: seismic searches sparse vectors; dense ones found")
    part_ND = part_ND.copy() if not part_ND.has_canonical_format else part_ND
    part_ND.sum_duplicates()
    if part_ND.data.max(initial=0.0) > LARGEST_VALUE:
        place = int(np.searchsorted(part_ND.indptr, part_ND.data.argmax(), side="right")) - 1
        raise LexigraftError(
            f"engine: seismic keeps values as float16; document {document_ids[first + place]!r} "
            f"has {part_ND.data.max():g}; allowed: up to {LARGEST_VALUE:g}"
        )
    dataset.add_documents_by_id(
        [str(first + row) for row in range(part_ND.shape[0])],
        part_ND.indices.astype(np.int64),
        part_ND.data.astype(np.float32),
        part_ND.indptr.astype(np.int64),
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what Seismic prints while it builds an index; standard output is its only place."""
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(nowhere)
        os.close(kept)
