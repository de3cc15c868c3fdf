"""Teacher scores of (query, document) pairs: on disk as parquet, in memory as one sorted array.

A table of MS MARCO's size (160 million pairs) takes 12 bytes a pair.

Shapes: B queries of a step, P documents of each (the positive first).
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lexigraft.errors import LexigraftError
from lexigraft.files import whole_file

SCHEMA = pa.schema([("query", pa.string()), ("document", pa.string()), ("score", pa.float32())])


class PairScores:
    """Scores by position of query and document.

    Args:
        query_ids: ids in the order that positions refer to.
        document_ids: likewise.
        path: parquet file with the columns query, document and score; pairs of other queries or
            documents are skipped.

    Raises:
        LexigraftError: the file is missing or unreadable, lacks a column, holds a score that is not
            finite, or none of its pairs is of these queries and documents.
    """

    def __init__(self, path: Path, query_ids: Sequence[str], document_ids: Sequence[str]) -> None:
        self.path = path
        self._query_ids = query_ids
        self._document_ids = document_ids
        keys, scores = [], []
        query_set, document_set = pa.array(query_ids), pa.array(document_ids)
        for batch in _batches(path):
            query = pc.index_in(batch["query"], query_set)
            document = pc.index_in(batch["document"], document_set)
            known = pc.and_(query.is_valid(), document.is_valid())
            query_N = query.filter(known).to_numpy(zero_copy_only=False).astype(np.int64)
            document_N = document.filter(known).to_numpy(zero_copy_only=False)
            keys.append(query_N * len(document_ids) + document_N)
            score_N = batch["score"].filter(known).to_numpy(zero_copy_only=False)
            if not np.isfinite(score_N).all():
                raise LexigraftError(f"{path}: column 'score' holds a value that is not finite")
            scores.append(score_N)
        key_N = np.concatenate(keys) if keys else np.empty(0, np.int64)
        if not len(key_N):
            raise LexigraftError(f"{path}: no pair of the collection's training split is scored")
        order = np.argsort(key_N, kind="stable")
        self._key_N = key_N[order]
        self._score_N = np.concatenate(scores)[order]

    def __len__(self) -> int:
        return len(self._key_N)

    def lookup(self, query_B: NDArray[np.int64], document_BP: NDArray[np.int64]) -> NDArray:
        """Scores of the documents of each query, float32 (B, P).

        Raises:
            LexigraftError: a pair has no score; the first one is named.
        """
        wanted_BP = query_B[:, None] * len(self._document_ids) + document_BP
        place_BP = np.minimum(np.searchsorted(self._key_N, wanted_BP), len(self._key_N) - 1)
        missing_BP = self._key_N[place_BP] != wanted_BP
        if missing_BP.any():
            row, column = np.argwhere(missing_BP)[0]
            query = self._query_ids[query_B[row]]
            document = self._document_ids[document_BP[row, column]]
            raise LexigraftError(
                f"{self.path}: no teacher score for query {query!r} and document {document!r} "
                f"({int(missing_BP.sum())} of {missing_BP.size} needed pairs have none)"
            )
        return self._score_N[place_BP]


def write_scores(
    path: Path, parts: Iterable[tuple[Sequence[str], Sequence[str], NDArray[np.float32]]]
) -> int:
    """Write a `scores.parquet` from parts of queries, documents and scores; returns the pairs."""
    count = 0
    with whole_file(path) as partial, pq.ParquetWriter(partial, SCHEMA) as writer:
        for queries, documents, scores in parts:
            columns = [pa.array(queries), pa.array(documents), pa.array(scores, pa.float32())]
            writer.write_table(pa.table(columns, schema=SCHEMA))
            count += len(queries)
    return count


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    if not path.is_file():
        raise LexigraftError(f"{path}: no such file; teacher scores are needed")
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise LexigraftError(f"{path}: not a parquet file ({error})") from None
    missing = set(SCHEMA.names) - set(file.schema_arrow.names)
    if missing:
        raise LexigraftError(
            f"{path}: no column {', '.join(sorted(missing))}; "
            f"found {', '.join(file.schema_arrow.names)}"
        )
    try:
        for batch in file.iter_batches(batch_size=1 << 20, columns=SCHEMA.names):
            columns = [batch[field.name].cast(field.type) for field in SCHEMA]
            yield pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise LexigraftError(
            f"{path}: not readable as ids (query, document) and numbers (score): {reason}"
        ) from None
