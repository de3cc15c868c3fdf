"""MS MARCO: training pairs with hard negatives and teacher scores, dev and TREC-DL 2019.

The training data of SPLADE-EnsembleDistil, which the Vocabulary Transfer paper takes (section 5.1):
`sentence-transformers/msmarco-hard-negatives`, up to 50 negatives by BM25 and by each of twelve
dense systems, with cross-encoder scores. The scores of that repository are a pickle; the same
numbers as Parquet are `sentence-transformers/msmarco-scores-ms-marco-MiniLM-L6-v2`, and those are
read. Passages, queries and judgements are BEIR's copy, whose `test` split is TREC-DL 2019.
"""

import gzip
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lexigraft.corpora import hub
from lexigraft.corpora.beir import copy_set, download, link_or_copy
from lexigraft.corpora.collection import write_manifest, write_negatives
from lexigraft.corpora.records import (
    Judgement,
    Query,
    read_documents,
    read_queries,
    write_qrels,
    write_queries,
)
from lexigraft.errors import LexigraftError
from lexigraft.files import whole_file
from lexigraft.progress import track
from lexigraft.specs.stages import MSMARCO_SETS

log = logging.getLogger(__name__)
HARD_NEGATIVES = "sentence-transformers/msmarco-hard-negatives"
HARD_NEGATIVES_FILE = "msmarco-hard-negatives.jsonl.gz"
SCORES = hub.HubSet("sentence-transformers/msmarco-scores-ms-marco-MiniLM-L6-v2", "list")
RELEVANCE_LEVELS = {"trec-dl-2019": 2}
"""TREC-DL counts grades 2 and 3 of 0 to 3 as relevant where a measure is binary (Craswell et al.,
2020, "Overview of the TREC 2019 Deep Learning Track", section 3)."""
_SCHEMA = pa.schema([("query", pa.string()), ("document", pa.string()), ("score", pa.float32())])
_ROWS_A_GROUP = 1_000_000

Candidates = dict[str, tuple[list[str], list[str]]]
"""Query id to its positives and its hard negatives."""


def write_msmarco_collection(out: Path, downloads: Path, *, negatives: int, limit: int) -> None:
    """Download MS MARCO and write it as a collection.

    Args:
        out: empty folder.
        downloads: where archives are kept while the stage has not succeeded.
        negatives: hard negatives of each query, by turns from all systems; 0 for all.
        limit: at most so many training pairs and documents in each evaluation set; 0 for all.

    Raises:
        LexigraftError: something cannot be downloaded or read.
    """
    revisions = {name: hub.commit(name) for name in (HARD_NEGATIVES, SCORES.repository)}
    mined = hub.fetch(HARD_NEGATIVES, HARD_NEGATIVES_FILE, revisions[HARD_NEGATIVES])
    scores = hub.rows(SCORES, revisions[SCORES.repository])
    folder = download("msmarco", downloads)
    write_from(
        out,
        folder,
        read_hard_negatives(mined),
        scores,
        negatives=negatives,
        limit=limit,
        sources=revisions,
    )


def write_from(
    out: Path,
    folder: Path,
    mined: Iterable[Mapping[str, Any]],
    scores: Iterable[Mapping[str, Any]],
    *,
    negatives: int,
    limit: int,
    sources: Mapping[str, str],
) -> None:
    """Write the collection from what was downloaded.

    Args:
        out: empty folder.
        folder: BEIR's msmarco folder.
        mined: rows {"qid", "pos": [ids], "neg": {system: [ids]}}.
        scores: rows {"query_id", "corpus_id": [ids], "score": [numbers]}.
        negatives: see write_msmarco_collection.
        limit: see write_msmarco_collection.
        sources: repository to commit, for the manifest.

    Raises:
        LexigraftError: a row without its fields, or no scored query with a positive and a negative.
    """
    texts = {query.id: query.text for query in read_queries(folder / "queries.jsonl")}
    documents = {document.id for document in read_documents(folder / "corpus.jsonl")}
    candidates = choose(mined, texts, documents, negatives, limit)
    train = out / "train"
    counts = write_scores(train / "scores.parquet", candidates, scores)
    with whole_file(train / "corpus.jsonl") as partial:
        link_or_copy(folder / "corpus.jsonl", partial)
    write_queries(train / "queries.jsonl", (Query(q, texts[q]) for q in candidates))
    write_qrels(
        train / "qrels" / "train.tsv",
        (Judgement(q, d, 1) for q, (positives, _) in candidates.items() for d in positives),
    )
    write_negatives(train / "negatives.jsonl", {q: hard for q, (_, hard) in candidates.items()})
    sets = {
        name: copy_set(folder, out / "sets" / name, name, split, False, limit, copy=False)
        for name, split in MSMARCO_SETS.items()
    }
    for name, level in RELEVANCE_LEVELS.items():
        sets[name]["relevance_level"] = level
    write_manifest(out, "msmarco", sets, {**counts, "documents": len(documents)}, sources=sources)


def read_hard_negatives(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of `msmarco-hard-negatives.jsonl.gz`.

    Raises:
        LexigraftError: not a gzip file of JSON lines.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)
    except (OSError, EOFError, ValueError) as error:
        raise LexigraftError(f"{path}: not a gzip file of JSON lines ({error})") from None


def choose(
    mined: Iterable[Mapping[str, Any]],
    queries: Mapping[str, str],
    documents: set[str],
    negatives: int,
    limit: int,
) -> Candidates:
    """Positives and hard negatives of each query that has both and a text.

    Negatives are taken by turns: the best of each system, then the second best, and so on.

    Raises:
        LexigraftError: a row without its fields.
    """
    chosen: Candidates = {}
    for row in track(mined, "read hard negatives"):
        try:
            query, systems = str(row["qid"]), row["neg"].values()
            positives = [str(d) for d in row["pos"] if str(d) in documents]
        except (KeyError, AttributeError, TypeError):
            raise LexigraftError(
                f"{HARD_NEGATIVES}: a row with the fields {sorted(row)}, "
                "'qid', 'pos' and 'neg' (lists by system) are needed"
            ) from None
        turns = (str(d) for turn in zip_longest(*systems) for d in turn if d is not None)
        fresh = (d for d in dict.fromkeys(turns) if d in documents and d not in positives)
        hard = list(islice(fresh, negatives or None))
        if positives and hard and query in queries:
            chosen[query] = (positives, hard)
        if limit and len(chosen) == limit:
            break
    return chosen


def write_scores(
    path: Path, candidates: Candidates, scores: Iterable[Mapping[str, Any]]
) -> dict[str, int]:
    """Write the scores of the candidates and drop the candidates that have none.

    Args:
        path: Parquet file to write, columns query, document, score.
        candidates: changed in place: every pair that stays has a score.
        scores: rows {"query_id", "corpus_id": [ids], "score": [numbers]}.

    Returns:
        pairs (queries that stay), negatives, scores, and what fell for want of a score.

    Raises:
        LexigraftError: a row without its fields, or no query stays.
    """
    scored: Candidates = {}
    before = sum(len(positives) + len(hard) for positives, hard in candidates.values())
    queries: list[str] = []
    documents: list[str] = []
    values: list[float] = []
    with whole_file(path) as partial, pq.ParquetWriter(partial, _SCHEMA) as writer:
        for row in track(scores, "read teacher scores"):
            try:
                query = str(row["query_id"])
                table = dict(zip(map(str, row["corpus_id"]), row["score"], strict=True))
            except (KeyError, TypeError, ValueError):
                raise LexigraftError(
                    f"{SCORES.repository}: a row with the fields {sorted(row)}, 'query_id', "
                    "'corpus_id' and 'score' (lists of one length) are needed"
                ) from None
            positives, hard = candidates.get(query, ([], []))
            positives = [d for d in positives if d in table]
            hard = [d for d in hard if d in table]
            if not positives or not hard or query in scored:
                continue
            scored[query] = (positives, hard)
            for document in (*positives, *hard):
                queries.append(query)
                documents.append(document)
                values.append(float(table[document]))
            if len(values) >= _ROWS_A_GROUP:
                writer.write_table(pa.table([queries, documents, values], schema=_SCHEMA))
                queries, documents, values = [], [], []
        writer.write_table(pa.table([queries, documents, values], schema=_SCHEMA))
    if not scored:
        raise LexigraftError(
            f"{SCORES.repository}: scores no positive and negative of the same query"
        )
    kept = sum(len(positives) + len(hard) for positives, hard in scored.values())
    counts = {
        "pairs": len(scored),
        "negatives": sum(len(hard) for _, hard in scored.values()),
        "scores": kept,
        "queries_without_score": len(candidates) - len(scored),
        "documents_without_score": before - kept,
    }
    ordered = {query: scored[query] for query in candidates if query in scored}
    candidates.clear()
    candidates.update(ordered)
    return counts
