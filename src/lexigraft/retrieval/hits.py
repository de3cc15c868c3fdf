"""Rankings: the best documents of each query, in compact form and as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lexigraft.errors import LexigraftError

SCHEMA = pa.schema(
    [
        ("set", pa.string()),
        ("query", pa.string()),
        ("document", pa.string()),
        ("rank", pa.int32()),
        ("score", pa.float32()),
    ]
)


@dataclass(frozen=True)
class Hits:
    """Best first, ties by document id; a query may have none."""

    query_ids: list[str]
    document_ids: list[str]
    """All documents that were searched."""
    documents: list[NDArray[np.int64]]
    """For each query, positions in `document_ids`."""
    scores: list[NDArray[np.float32]]

    def run(self) -> dict[str, list[str]]:
        """Query id to document ids, best first: what `lexigraft.evaluation.evaluate` takes."""
        return {
            query: [self.document_ids[position] for position in found]
            for query, found in zip(self.query_ids, self.documents, strict=True)
        }

    def table(self, set_name: str) -> Any:
        """The rows (set, query, document, rank from 1, score), queries in their order."""
        counts = [len(found) for found in self.documents]
        total = sum(counts)
        position = np.concatenate([np.zeros(0, dtype=np.int64), *self.documents])
        query = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        rank = np.concatenate([np.zeros(0, dtype=np.int32), *(np.arange(1, n + 1) for n in counts)])
        columns = [
            pa.repeat(pa.scalar(set_name), total),
            pa.array(self.query_ids, pa.string()).take(pa.array(query)),
            pa.array(self.document_ids, pa.string()).take(pa.array(position)),
            pa.array(rank.astype(np.int32)),
            pa.array(np.concatenate([np.zeros(0, dtype=np.float32), *self.scores])),
        ]
        return pa.Table.from_arrays(columns, schema=SCHEMA)


def write_rankings(path: Path, hits: Iterator[tuple[str, Hits]]) -> None:
    """Write rankings.parquet, one row group or more for each set, sets in the order given."""
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for name, found in hits:
            writer.write_table(found.table(name))


def read_rankings(path: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Each set's name and run (query id to document ids, best first), set by set.

    Raises:
        LexigraftError: the file is missing, no parquet, or has other columns.
    """
    ids = ["set", "query", "document"]
    try:
        table = pq.read_table(path, columns=[*ids, "rank"], read_dictionary=ids)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise LexigraftError(f"{path}: unreadable rankings ({error})") from None
    table = table.unify_dictionaries()
    (sets, set_N), (queries, query_N), (documents, document_N) = (
        _names_and_codes(table[column]) for column in ids
    )
    order_N = np.lexsort((table["rank"].to_numpy(), query_N, set_N))
    set_N, query_N = set_N[order_N], query_N[order_N]
    found = documents[document_N[order_N]].tolist()
    changes = (np.diff(set_N, prepend=-1) != 0) | (np.diff(query_N, prepend=-1) != 0)
    runs: dict[str, dict[str, list[str]]] = {name: {} for name in sets}
    for start, end in pairwise([*np.flatnonzero(changes).tolist(), len(found)]):
        runs[sets[set_N[start]]][queries[query_N[start]]] = found[start:end]
    yield from runs.items()


def _names_and_codes(column: Any) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Distinct values of a column that was read as a dictionary, and each row's place in them."""
    chunks = column.chunks
    names = chunks[0].dictionary.to_pylist() if chunks else []
    codes = [chunk.indices.to_numpy().astype(np.int64) for chunk in chunks]
    return np.array(names, dtype=object), np.concatenate([np.zeros(0, dtype=np.int64), *codes])
