"""An evaluation set: documents, queries and judgements of one BEIR folder."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lexigraft.corpora.records import Judgement, read_documents, read_qrels, read_queries
from lexigraft.errors import LexigraftError

log = logging.getLogger(__name__)


@dataclass
class EvaluationSet:
    """What is searched, what is asked and what counts as found."""

    name: str
    documents: dict[str, str]
    """Id to title and text (joined by a space, the title left out if empty), in file order."""
    queries: dict[str, str]
    """Id to text of the judged queries, in file order."""
    qrels: dict[str, dict[str, int]]
    """Query id to document id to grade; judged documents that are not there stay in."""
    remove_self_match: bool = False
    """Whether a document with the query's own id is removed from its ranking."""
    relevance_level: int = 1
    """Lowest grade that recall and reciprocal rank count as relevant; nDCG uses the grades."""
    missing_documents: int = 0
    """Judged documents that the corpus does not hold."""
    missing_queries: int = 0
    """Queries that are judged but have no text; they cannot be asked and are not in `qrels`."""
    unjudged_queries: int = 0
    """Queries that have a text but no judgement; they are not asked."""
    counts: dict[str, int] = field(default_factory=dict)
    """What a manifest tells of the set: documents, queries, judgements, and so on."""

    @classmethod
    def read(
        cls,
        folder: Path,
        split: str = "test",
        name: str = "",
        *,
        remove_self_match: bool = False,
        relevance_level: int = 1,
    ) -> "EvaluationSet":
        """Read a BEIR folder and log what does not fit together in it.

        Args:
            folder: holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv.
            split: which qrels file judges.
            name: name of the set; the folder's own name if empty.
            remove_self_match: see the attribute.
            relevance_level: see the attribute.

        Raises:
            LexigraftError: no such folder or split, an unreadable line, an empty corpus, an id
                twice, or no judged query that has a text.
        """
        folder = Path(folder)
        name = name or folder.resolve().name
        qrels, repeated = group_judgements(read_qrels(qrels_path(folder, split)))
        texts = {query.id: query.text for query in read_queries(folder / "queries.jsonl")}
        documents = {d.id: d.content for d in read_documents(folder / "corpus.jsonl")}
        counts = fit(name, folder, split, qrels, texts, documents, repeated)
        return cls(
            name=name,
            documents=documents,
            queries={query: text for query, text in texts.items() if query in qrels},
            qrels={query: grades for query, grades in qrels.items() if query in texts},
            remove_self_match=remove_self_match,
            relevance_level=relevance_level,
            missing_documents=counts["missing_documents"],
            missing_queries=counts["missing_queries"],
            unjudged_queries=counts["queries"] - counts["judged_queries"],
            counts=counts,
        )


def qrels_path(folder: Path, split: str) -> Path:
    """The qrels file of a split.

    Raises:
        LexigraftError: the folder or the file is not there.
    """
    if not folder.is_dir():
        raise LexigraftError(f"{folder}: no such folder, a BEIR folder is needed")
    path = folder / "qrels" / f"{split}.tsv"
    if not path.is_file():
        splits = ", ".join(sorted(p.stem for p in (folder / "qrels").glob("*.tsv"))) or "none"
        raise LexigraftError(f"{path}: no such file; splits with judgements: {splits}")
    return path


def group_judgements(judgements: Iterable[Judgement]) -> tuple[dict[str, dict[str, int]], int]:
    """Judgements by query, and how many repeat an earlier pair (the last counts, as in BEIR)."""
    qrels: dict[str, dict[str, int]] = {}
    repeated = 0
    for query, document, grade in judgements:
        grades = qrels.setdefault(query, {})
        repeated += document in grades
        grades[document] = grade
    return qrels, repeated


def fit(
    name: str,
    folder: Path,
    split: str,
    qrels: dict[str, dict[str, int]],
    queries: Iterable[str],
    documents: Iterable[str],
    repeated: int = 0,
) -> dict[str, int]:
    """Count how judgements, queries and documents fit, and log what does not.

    Raises:
        LexigraftError: no judged query has a text.
    """
    known_queries, known_documents = set(queries), set(documents)
    judged_documents = {document for grades in qrels.values() for document in grades}
    counts = {
        "documents": len(known_documents),
        "queries": len(known_queries),
        "judgements": sum(len(grades) for grades in qrels.values()),
        "judged_queries": len(known_queries & qrels.keys()),
        "missing_documents": len(judged_documents - known_documents),
        "missing_queries": len(qrels.keys() - known_queries),
        "repeated_judgements": repeated,
    }
    if not counts["judged_queries"]:
        raise LexigraftError(
            f"{folder}: none of the {len(qrels)} queries of qrels/{split}.tsv is in queries.jsonl"
        )
    told = {
        "missing_documents": "judged documents that corpus.jsonl does not hold (they stay judged)",
        "missing_queries": "judged queries that queries.jsonl does not hold (they are not asked)",
        "repeated_judgements": "judgements of a pair judged before (the last one counts)",
    }
    for key, what in told.items():
        if counts[key]:
            log.warning("%s (%s): %d %s", name, split, counts[key], what)
    return counts
