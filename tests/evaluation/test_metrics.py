"""Metrics by hand, and what trec_eval on its own would do differently."""

import math
import subprocess
import sys

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.evaluation import evaluate

QRELS = {
    "graded": {"a": 1, "b": 2, "absent": 1},
    "silent": {"x": 1},
    "hopeless": {"y": 0},
    "second": {"z": 1},
}
RUN = {
    "graded": ["c", "a", "b"],
    "hopeless": ["y"],
    "second": ["m", "z"],
    "unjudged": ["a"],
}


def test_by_hand() -> None:
    found = evaluate(
        QRELS, RUN, ["ndcg@10", "ndcg@2", "mrr@10", "mrr@1", "recall@2", "precision@3", "map@10"]
    )
    # Gains 1 and 2 at ranks 2 and 3 against the ideal 2, 1, 1: "absent" is judged, so it counts.
    ndcg = (1 / math.log2(3) + 2 / math.log2(4)) / (2 + 1 / math.log2(3) + 1 / math.log2(4))
    graded = {name: values["graded"] for name, values in found.per_query.items()}
    assert graded == pytest.approx(
        {
            "ndcg@10": ndcg,
            "ndcg@2": (1 / math.log2(3)) / (2 + 1 / math.log2(3)),
            "mrr@10": 1 / 2,
            "mrr@1": 0,
            "recall@2": 1 / 3,
            "precision@3": 2 / 3,
            "map@10": (1 / 2 + 2 / 3) / 3,
        }
    )
    assert found.per_query["mrr@10"] == {"graded": 0.5, "silent": 0, "hopeless": 0, "second": 0.5}
    assert found.mean["mrr@10"] == 0.25
    assert found.mean["ndcg@10"] == pytest.approx((ndcg + 1 / math.log2(3)) / 4)
    assert (found.without_relevant, found.unanswered) == (1, 1)
    assert list(found.per_query["ndcg@10"]) == list(QRELS)


def test_the_given_order_counts() -> None:
    """trec_eval would sort equal scores by document id, descending, and find z first."""
    qrels = {"q": {"z": 1}}
    assert evaluate(qrels, {"q": ["a", "z"]}, ["mrr@10"]).mean["mrr@10"] == 0.5
    tied = {"q": {"z": 1.0, "a": 1.0}}
    assert evaluate(qrels, tied, ["mrr@10"]).mean["mrr@10"] == 0.5
    assert evaluate(qrels, {"q": {"a": 1.0, "z": 2.0}}, ["mrr@10"]).mean["mrr@10"] == 1.0


def test_an_empty_run_scores_zero() -> None:
    found = evaluate(QRELS, {}, ["ndcg@10", "recall@1000"])
    assert found.mean == {"ndcg@10": 0.0, "recall@1000": 0.0}
    assert found.unanswered == 4


def test_ids_that_look_like_numbers_and_negative_grades() -> None:
    qrels = {"1": {"007": 1, "7": -1, "1e3": 0}}
    assert evaluate(qrels, {"1": ["7", "1e3", "007"]}, ["mrr@10"]).mean["mrr@10"] == 1 / 3


def test_more_queries_than_are_measured_at_once() -> None:
    qrels = {f"q{i}": {"d": 1} for i in range(1203)}
    run = {f"q{i}": ["x"] * (i % 2) + ["d"] for i in range(1203)}
    found = evaluate(qrels, run, ["mrr@10"])
    assert found.mean["mrr@10"] == pytest.approx((602 * 1 + 601 * 0.5) / 1203)


@pytest.mark.parametrize("name", ["ndcg", "NDCG@10", "ndcg@0", "ndcg@-1", "bleu@10", "ndcg@10 "])
def test_unknown_metrics_are_refused(name: str) -> None:
    with pytest.raises(LexigraftError, match="allowed: ndcg@k, recall@k"):
        evaluate(QRELS, RUN, [name])


def test_bad_rankings_are_refused() -> None:
    with pytest.raises(LexigraftError, match="query second: a document is ranked twice"):
        evaluate(QRELS, {"second": ["z", "z"]})
    with pytest.raises(LexigraftError, match="query second: a score that is not a number"):
        evaluate(QRELS, {"second": {"z": math.nan}})
    with pytest.raises(LexigraftError, match="no judged query"):
        evaluate({}, RUN)


def test_imports_without_torch() -> None:
    code = "import sys, lexigraft.evaluation, lexigraft.retrieval; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
