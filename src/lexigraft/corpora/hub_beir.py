"""Evaluation sets of the hub in the form that MTEB gives BEIR sets, such as ChemTEB's.

Configurations `corpus` (_id, title, text), `queries` (_id, text) and `default` or `qrels`
(query-id, corpus-id, score), the last with a split for each set of judgements.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lexigraft.corpora import hub
from lexigraft.corpora.records import (
    Document,
    Judgement,
    Query,
    write_documents,
    write_qrels,
    write_queries,
)
from lexigraft.errors import LexigraftError

JUDGEMENTS = ("default", "qrels")
"""Names under which the judgements are found."""


def fetch_hub_set(repository: str, split: str, folder: Path) -> str:
    """Write one split of a hub's data set as a BEIR folder.

    Args:
        repository: `owner/name`.
        split: which judgements.
        folder: corpus.jsonl, queries.jsonl and qrels/<split>.tsv are written into it.

    Returns:
        The commit that was read.

    Raises:
        LexigraftError: it cannot be reached, has no such split, or a row lacks a column.
    """
    revision = hub.commit(repository)

    def rows(configuration: str) -> Iterator[Mapping[str, Any]]:
        return _rows(repository, configuration, split, revision)

    def text(row: Mapping[str, Any], column: str) -> str:
        if row.get(column) is None:
            raise LexigraftError(
                f"data set {repository!r}: a row with the columns {', '.join(row)}; "
                f"{column!r} is needed"
            )
        return str(row[column])

    documents = (
        Document(text(row, "_id"), row.get("title") or "", text(row, "text"))
        for row in rows("corpus")
    )
    write_documents(folder / "corpus.jsonl", documents)
    queries = (Query(text(row, "_id"), text(row, "text")) for row in rows("queries"))
    write_queries(folder / "queries.jsonl", queries)
    judgements = (
        Judgement(text(row, "query-id"), text(row, "corpus-id"), int(float(text(row, "score"))))
        for row in hub.rows(_judged(repository, split, revision), revision)
    )
    write_qrels(folder / "qrels" / f"{split}.tsv", judgements)
    return revision


def _rows(
    repository: str, configuration: str, split: str, revision: str
) -> Iterator[Mapping[str, Any]]:
    """Rows of a configuration: of its only split, or of the judged one where it has several."""
    names = hub.splits(repository, configuration, revision)
    chosen = names[0] if len(names) == 1 else split
    if chosen not in names:
        raise LexigraftError(
            f"data set {repository!r}, {configuration}: no split {split!r}; "
            f"it has {', '.join(names)}"
        )
    return hub.rows(hub.HubSet(repository, configuration, chosen), revision)


def _judged(repository: str, split: str, revision: str) -> hub.HubSet:
    refusal = None
    for configuration in JUDGEMENTS:
        try:
            names = hub.splits(repository, configuration, revision)
        except LexigraftError as error:
            refusal = refusal or error
            continue
        if split not in names:
            raise LexigraftError(
                f"data set {repository!r}: no judgements {split!r}; it has {', '.join(names)}"
            )
        return hub.HubSet(repository, configuration, split)
    assert refusal is not None
    raise refusal
