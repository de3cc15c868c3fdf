"""BM25 by hand, its terms, and known collections."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.evaluation import evaluate
from lexigraft.retrieval.bm25 import search_bm25, terms


def test_terms() -> None:
    text = "The model's Relational operators, and the dogs’ n_jobs=2: naïve X"
    assert terms(text) == ["model", "relat", "oper", "dog", "n_job", "2", "naïv", "x"]
    assert terms("of the and") == []


def test_by_hand() -> None:
    """Lucene's formula: idf tf / (tf + k1 (1 - b + b l / avg)).

    idf = ln(1 + (N - df + .5) / (df + .5)).
    Three documents of 2, 3 and 1 terms, mean 2; "graph" is in two of them.
    """
    documents = {"a": "graph matrix", "b": "graph graph solver", "c": "tensor"}
    hits = search_bm25({"q": "the graph", "none": "unknown words"}, documents, 10, k1=0.9, b=0.4)
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    score = {
        "a": idf * 1 / (1 + 0.9 * (1 - 0.4 + 0.4 * 2 / 2)),
        "b": idf * 2 / (2 + 0.9 * (1 - 0.4 + 0.4 * 3 / 2)),
    }
    assert hits.run() == {"q": ["b", "a"], "none": []}
    assert hits.scores[0].tolist() == pytest.approx([score["b"], score["a"]], rel=1e-6)


def test_a_repeated_query_term_counts_twice() -> None:
    documents = {"a": "graph", "b": "matrix solver"}
    once, twice = (
        search_bm25({"q": text}, documents, 10).scores[0][0] for text in ("graph", "graph graphs")
    )
    assert twice == pytest.approx(2 * once)


def test_documents_and_queries_without_terms() -> None:
    hits = search_bm25({"q": "", "r": "graph"}, {"a": "", "b": "graph", "c": "the"}, 10)
    assert hits.run() == {"q": [], "r": ["b"]}
    assert search_bm25({"q": "graph"}, {"a": "of", "b": ""}, 10).run() == {"q": []}


def test_scores_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "from lexigraft.retrieval.bm25 import search_bm25\n"
        "docs = {str(i): ' '.join(f'w{(i * j) % 17}' for j in range(1, 12)) for i in range(40)}\n"
        "hits = search_bm25({'q': ' '.join(f'w{j}' for j in range(17))}, docs, 40)\n"
        "print(hits.run(), hits.scores[0].tobytes().hex())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("name", "documents", "queries", "low", "high"),
    # Bands in which BM25's mean average precision is usually reported on these two collections.
    [("cranfield", 1400, 225, 0.25, 0.35), ("cacm", 3204, 52, 0.30, 0.37)],
)
def test_known_collections(
    name: str, documents: int, queries: int, low: float, high: float, shared: Path
) -> None:
    judged = EvaluationSet.read(shared / "collections" / name)
    assert (len(judged.documents), len(judged.qrels)) == (documents, queries)
    hits = search_bm25(judged.queries, judged.documents, 1000)
    assert low < evaluate(judged.qrels, hits.run(), ["map@1000"]).mean["map@1000"] < high
