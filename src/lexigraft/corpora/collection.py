"""A collection: what the corpus stage writes and every later stage reads.

manifest.json   kind, sets, train, packages, sha256 of each file
train/          corpus.jsonl, queries.jsonl, qrels/train.tsv, negatives.jsonl, scores.parquet
sets/<set>/     plain BEIR folders
text/*.jsonl    {"text": ...}, for plain text only
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.corpora.evaluation_set import EvaluationSet, group_judgements
from lexigraft.corpora.records import (
    read_documents,
    read_negatives,
    read_qrels,
    read_queries,
    read_texts,
    write_objects,
)
from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object, sha256_file, write_json


@dataclass
class TrainingPairs:
    """Queries with their positives and hard negatives."""

    queries: dict[str, str]
    """Id to text."""
    documents: dict[str, str]
    """Id to title and text, as in an evaluation set."""
    positives: dict[str, list[str]]
    """Query id to the documents judged above 0, in qrels order."""
    negatives: dict[str, list[str]]
    """Query id to hard negatives, hardest first; a query without any has an empty list."""
    scores: Path | None = None
    """Shipped teacher scores (parquet: query, document, score), where the collection has them."""


@dataclass(frozen=True)
class Collection:
    """A collection on disk; texts are read when asked for."""

    folder: Path
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path | str) -> "Collection":
        """Open what the corpus stage wrote.

        Raises:
            LexigraftError: no such folder, or its manifest.json is missing or not a manifest.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise LexigraftError(f"{folder}: no such folder, a collection is needed")
        path = folder / "manifest.json"
        if not path.is_file():
            raise LexigraftError(f"{folder}: not a collection, manifest.json is missing")
        manifest = read_object(path)
        member(manifest, "sets", dict, f"{path}: not the manifest of a collection")
        return cls(folder, manifest)

    def text(self) -> Iterator[str]:
        """Training text for masked-language modelling, in a fixed order.

        Documents of the training split, then its queries, then what `train/text.jsonl` adds; for
        plain text, the files of `text/` by name.

        Raises:
            LexigraftError: the collection has evaluation sets only, or a line cannot be read.
        """
        train = self.folder / "train"
        if train.is_dir():
            for document in read_documents(train / "corpus.jsonl"):
                yield document.content
            for query in read_queries(train / "queries.jsonl"):
                yield query.text
            files = [path for path in (train / "text.jsonl",) if path.is_file()]
        else:
            files = sorted((self.folder / "text").glob("*.jsonl"))
            if not files:
                raise LexigraftError(f"{self.folder}: a collection without training text")
        for path in files:
            yield from read_texts(path)

    def training(self) -> TrainingPairs:
        """Training pairs, whole in memory.

        Raises:
            LexigraftError: the collection has none, a line cannot be read, or a pair or a negative
                names a query or a document that is not there.
        """
        folder = self.folder / "train"
        if not folder.is_dir():
            raise LexigraftError(f"{self.folder}: a collection without training pairs")
        queries = {query.id: query.text for query in read_queries(folder / "queries.jsonl")}
        documents = {d.id: d.content for d in read_documents(folder / "corpus.jsonl")}
        qrels, _ = group_judgements(read_qrels(folder / "qrels" / "train.tsv"))
        positives = {
            query: [document for document, grade in grades.items() if grade > 0]
            for query, grades in qrels.items()
        }
        negatives: dict[str, list[str]] = {query: [] for query in positives}
        path = folder / "negatives.jsonl"
        if path.is_file():
            negatives |= read_negatives(path)
        for kind, table in (("positive", positives), ("negative", negatives)):
            _known(folder, kind, table, queries, documents)
        scores = folder / "scores.parquet"
        return TrainingPairs(
            queries, documents, positives, negatives, scores if scores.is_file() else None
        )

    def set_names(self) -> list[str]:
        """Names of the evaluation sets, in the manifest's order."""
        return list(self.manifest["sets"])

    def evaluation_set(self, name: str) -> EvaluationSet:
        """Read one evaluation set.

        Raises:
            LexigraftError: no set of that name, or one that cannot be read.
        """
        sets = self.manifest["sets"]
        if name not in sets:
            raise LexigraftError(
                f"{self.folder}: no evaluation set {name!r}; "
                f"it has {', '.join(self.set_names()) or 'none'}"
            )
        path = self.folder / "manifest.json"
        facts = member(sets, name, dict, f"{path}: sets")
        where = f"{path}: sets.{name}"
        return EvaluationSet.read(
            self.folder / "sets" / name,
            member(facts, "split", str, where, "test"),
            name,
            remove_self_match=member(facts, "remove_self_match", bool, where, False),
            relevance_level=member(facts, "relevance_level", int, where, 1),
        )


def write_negatives(path: Path, negatives: Mapping[str, Sequence[str]]) -> int:
    """Write a `negatives.jsonl`; returns the number of queries."""
    records: Iterable[dict[str, Any]] = (
        {"query": query, "negatives": list(documents)} for query, documents in negatives.items()
    )
    return write_objects(path, records)


def write_manifest(
    folder: Path,
    kind: str,
    sets: Mapping[str, Mapping[str, Any]],
    train: Mapping[str, Any] | None = None,
    **more: Any,
) -> None:
    """Write a collection's manifest, with the hash of every file that is already there."""
    manifest: dict[str, Any] = {"kind": kind, "sets": {n: dict(facts) for n, facts in sets.items()}}
    if train is not None:
        manifest["train"] = dict(train)
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "manifest.json")
    hashes = {path.relative_to(folder).as_posix(): sha256_file(path) for path in files}
    write_json(folder / "manifest.json", {**manifest, **more, "sha256": hashes})


def _known(
    folder: Path,
    kind: str,
    table: Mapping[str, Sequence[str]],
    queries: Mapping[str, str],
    documents: Mapping[str, str],
) -> None:
    for query, listed in table.items():
        if query not in queries:
            raise LexigraftError(f"{folder}: a {kind} of query {query!r}, which has no text")
        for document in listed:
            if document not in documents:
                raise LexigraftError(
                    f"{folder}: {kind} {document!r} of query {query!r} is not in corpus.jsonl"
                )
