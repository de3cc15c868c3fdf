import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from beir_folder import write_folder, write_lines

from lexigraft.corpora import Collection
from lexigraft.corpora.msmarco import choose, read_hard_negatives, write_from
from lexigraft.errors import LexigraftError

MINED = [
    {"qid": 10, "pos": [1], "neg": {"bm25": [2, 3, 1], "dense": [3, 4]}},
    {"qid": 11, "pos": [5, 99], "neg": {"bm25": [6]}},
    {"qid": 12, "pos": [], "neg": {"bm25": [6]}},
    {"qid": 13, "pos": [6], "neg": {"bm25": [7]}},
    {"qid": 404, "pos": [6], "neg": {"bm25": [7]}},
]
SCORES: list[dict[str, Any]] = [
    {"query_id": 11, "corpus_id": [5, 6], "score": [3.5, -1.0]},
    {"query_id": "10", "corpus_id": ["1", "2", "4", "8"], "score": [9.25, 1.0, 0.5, 7.0]},
    {"query_id": 77, "corpus_id": [1], "score": [1.0]},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """MS MARCO in BEIR's form: dev judges query 20, test (TREC-DL) grades query 21."""
    folder = write_folder(
        tmp_path / "msmarco",
        [{"_id": str(n), "title": "", "text": f"passage {n}"} for n in range(1, 9)],
        [{"_id": str(n), "text": f"query {n}"} for n in (10, 11, 12, 13, 20, 21)],
        ["20\t1\t1"],
        split="dev",
    )
    write_lines(
        folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", "21\t2\t3", "21\t3\t0"]
    )
    return folder


def write(folder: Path, out: Path, negatives: int = 0, limit: int = 0) -> Collection:
    sources = {"a/b": "0123"}
    write_from(out, folder, MINED, SCORES, negatives=negatives, limit=limit, sources=sources)
    return Collection.open(out)


def test_training_pairs_have_scores(folder: Path, tmp_path: Path) -> None:
    pairs = write(folder, tmp_path / "out").training()
    assert pairs.queries == {"10": "query 10", "11": "query 11"}
    assert pairs.positives == {"10": ["1"], "11": ["5"]}
    assert pairs.negatives == {"10": ["2", "4"], "11": ["6"]}  # 3 has no score
    assert len(pairs.documents) == 8
    assert pairs.scores is not None
    table = pq.read_table(pairs.scores).to_pylist()
    assert [tuple(row.values()) for row in table] == [
        ("11", "5", 3.5),
        ("11", "6", -1.0),
        ("10", "1", 9.25),
        ("10", "2", 1.0),
        ("10", "4", 0.5),
    ]


def test_evaluation_sets(folder: Path, tmp_path: Path) -> None:
    collection = write(folder, tmp_path / "out")
    dev, graded = map(collection.evaluation_set, ("dev", "trec-dl-2019"))
    assert dev.qrels == {"20": {"1": 1}}
    assert graded.qrels == {"21": {"2": 3, "3": 0}}
    assert (dev.relevance_level, graded.relevance_level) == (1, 2)
    assert dev.queries == {"20": "query 20"}
    links = (tmp_path / "out" / "train" / "corpus.jsonl").stat().st_nlink
    assert links == 4


def test_the_manifest_counts_what_has_no_score(folder: Path, tmp_path: Path) -> None:
    manifest = write(folder, tmp_path / "out").manifest
    assert manifest["train"] == {
        "pairs": 2,
        "negatives": 3,
        "scores": 5,
        "queries_without_score": 1,
        "documents_without_score": 3,
        "documents": 8,
    }
    assert manifest["sources"] == {"a/b": "0123"}


def test_systems_take_turns() -> None:
    queries = {str(n): "" for n in range(100)}
    documents = {str(n) for n in range(100)}
    mined = [{"qid": 1, "pos": [0], "neg": {"a": [1, 2, 3], "b": [2, 0, 4], "c": [5]}}]
    assert choose(mined, queries, documents, 0, 0)["1"][1] == ["1", "2", "5", "3", "4"]
    assert choose(mined, queries, documents, 2, 0)["1"][1] == ["1", "2"]
    many = [mined[0] | {"qid": n} for n in range(9)]
    assert list(choose(many, queries, documents, 2, 3)) == ["0", "1", "2"]


def test_refusals(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="'qid', 'pos' and 'neg'"):
        choose([{"qid": 1, "pos": [1]}], {}, set(), 0, 0)
    with pytest.raises(LexigraftError, match="'query_id', 'corpus_id' and 'score'"):
        write_from(tmp_path / "a", folder, MINED, [{"query": 1}], negatives=0, limit=0, sources={})
    with pytest.raises(LexigraftError, match="scores no positive and negative of the same query"):
        write_from(tmp_path / "b", folder, MINED, [], negatives=0, limit=0, sources={})


def test_the_published_file_of_negatives(tmp_path: Path) -> None:
    path = tmp_path / "n.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in MINED)
    assert list(read_hard_negatives(path)) == MINED
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(LexigraftError, match="not a gzip file of JSON lines"):
        list(read_hard_negatives(path))
