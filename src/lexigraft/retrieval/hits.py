"""Rankings: the best documents of each query, in compact form and as a table."""

from collections.abc import Iterator
from dataclasses import dataclass
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
    try:
        table = pq.read_table(path, columns=["set", "query", "document", "rank"])
    except (OSError, pa.ArrowException, KeyError) as error:
        raise LexigraftError(f"{path}: unreadable rankings ({error})") from None
    for name in table["set"].unique().to_pylist():
        rows = table.filter(pa.compute.equal(table["set"], name))
        rows = rows.sort_by([("rank", "ascending")])
        run: dict[str, list[str]] = {}
        queries, documents = rows["query"].to_pylist(), rows["document"].to_pylist()
        for query, document in zip(queries, documents, strict=True):
            run.setdefault(query, []).append(document)
        yield name, run
