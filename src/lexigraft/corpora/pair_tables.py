"""Training pairs from a table with a column of queries and one of their documents.

Such as `BASF-AI/dolma-chem-only-query-generated`, chemistry paragraphs of the Dolma corpus with a
query generated for each (Vocabulary Transfer, section 6.6).
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lexigraft.corpora import hub
from lexigraft.corpora.collection import write_manifest
from lexigraft.corpora.records import (
    Document,
    Judgement,
    Query,
    write_documents,
    write_qrels,
    write_queries,
)
from lexigraft.corpora.text import local_rows, parse_source
from lexigraft.errors import LexigraftError
from lexigraft.progress import track
from lexigraft.specs.base import slug


def write_pair_collection(
    out: Path,
    *,
    source: str,
    path: str,
    query_column: str,
    document_column: str,
    limit: int,
    seed: int = 42,
) -> None:
    """Write a table of pairs as the training part of a collection, without hard negatives.

    A text that stands in several rows is one query, or one document, so that no document is a
    negative of a query that it answers.

    Args:
        out: empty folder.
        source: one data set of the hub, `owner/name[:config]`.
        path: instead, a file or a folder of .jsonl or .parquet files.
        query_column: column with the query.
        document_column: column with its document.
        limit: so many rows, drawn by the hash of seed and place; 0 for all.
        seed: which rows are drawn.

    Raises:
        LexigraftError: nothing or too much is named, something cannot be read, a row lacks a
            column, or there is no row with a text in both.
    """
    facts: dict[str, Any] = {}
    rows: Iterable[Mapping[str, Any]]
    if path:
        name = slug(Path(path).resolve().name)
        rows = local_rows(Path(path))
    else:
        found = parse_source(source)
        if len(found) != 1:
            raise LexigraftError(f"source {source!r}: {len(found)} data sets found, 1 is allowed")
        [(name, chosen)] = found.items()
        facts = {"repository": chosen.repository, "commit": hub.commit(chosen.repository)}
        rows = hub.rows(chosen, facts["commit"])
    pairs = _drawn(_pairs(name, rows, query_column, document_column), limit, seed)
    if not pairs:
        raise LexigraftError(f"{name}: no row has a text in {query_column} and {document_column}")
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}
    judgements: dict[tuple[str, str], None] = {}
    for place, query, document in pairs:
        asked = queries.setdefault(query, f"query:{place}")
        judgements[asked, documents.setdefault(document, str(place))] = None
    train = out / "train"
    write_documents(train / "corpus.jsonl", (Document(i, "", t) for t, i in documents.items()))
    write_queries(train / "queries.jsonl", (Query(i, t) for t, i in queries.items()))
    write_qrels(train / "qrels" / "train.tsv", (Judgement(q, d, 1) for q, d in judgements))
    counts = {"pairs": len(judgements), "documents": len(documents), "queries": len(queries)}
    write_manifest(out, "pairs", {}, counts, sources={name: facts})


def _pairs(
    name: str, rows: Iterable[Mapping[str, Any]], query_column: str, document_column: str
) -> Iterator[tuple[int, str, str]]:
    """Place, query and document of each row that has both."""
    for place, row in enumerate(track(rows, f"read {name}", unit="rows")):
        for column in (query_column, document_column):
            if not isinstance(row.get(column), str):
                raise LexigraftError(
                    f"{name}: a row with the columns {', '.join(row)}; a text in {column!r} is "
                    "needed (query_column, document_column)"
                )
        query, document = row[query_column].strip(), row[document_column].strip()
        if query and document:
            yield place, query, document


def _drawn(
    pairs: Iterable[tuple[int, str, str]], limit: int, seed: int
) -> list[tuple[int, str, str]]:
    """`limit` pairs (all if 0) in their order."""
    if not limit:
        return list(pairs)

    def lot(pair: tuple[int, str, str]) -> bytes:
        return hashlib.sha256(f"{seed}:{pair[0]}".encode()).digest()

    return sorted(heapq.nsmallest(limit, pairs, key=lot))
