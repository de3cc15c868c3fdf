"""Which pairs are drawn, which documents stand against them, and the features of both."""

import numpy as np
import pytest
import scipy.sparse

from lexigraft.analysis.theory.pairs import draw_pairs, encode_pairs, negatives
from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.errors import LexigraftError

WEIGHTS = {"a": [1, 0, 2], "b": [0, 3, 1], "A": [2, 5, 1], "B": [1, 1, 4], "C": [7, 0, 0]}


class Stub:
    """An encoder whose vector of a text is looked up."""

    def encode(self, texts, length, role="document"):
        return scipy.sparse.csr_array(np.array([WEIGHTS[t] for t in texts], dtype=np.float32))


def judged(qrels: dict[str, dict[str, int]], relevance_level: int = 1) -> EvaluationSet:
    documents = {name: name for name in "ABC"}
    queries = {name: name for name in "ab"}
    return EvaluationSet("set", documents, queries, qrels, relevance_level=relevance_level)


def test_pairs_are_relevant_present_and_drawn_without_order() -> None:
    found = judged({"a": {"A": 1, "B": 0, "gone": 1}, "b": {"B": 2, "C": 1}})
    assert sorted(draw_pairs(found, 10, seed=0)) == [("a", "A"), ("b", "B"), ("b", "C")]
    assert len(draw_pairs(found, 2, seed=0)) == 2
    assert len({tuple(draw_pairs(found, 2, seed=seed)) for seed in range(20)}) > 1
    assert draw_pairs(judged(found.qrels, relevance_level=2), 10, seed=0) == [("b", "B")]
    with pytest.raises(LexigraftError, match="set: no pair of a query and a relevant document"):
        draw_pairs(judged({"a": {"B": 0}}), 10, seed=0)


def test_a_negative_is_the_next_pairs_document_that_is_not_relevant() -> None:
    # A is relevant to b as well, so the circle goes on from it to C.
    found = judged({"a": {"A": 1, "C": 1}, "b": {"B": 1, "A": 1}})
    assert negatives(found, [("b", "B"), ("a", "A"), ("a", "C")]) == ["C", "B", "B"]
    assert negatives(found, [("a", "A"), ("a", "C")]) is None


def test_features_are_products_key_by_key() -> None:
    found = judged({"a": {"A": 1}, "b": {"B": 1}})
    pairs = [("a", "A"), ("b", "B")]
    features = encode_pairs(Stub(), found, pairs, query_length=8, document_length=8)
    assert features.pointwise.toarray().tolist() == [[2, 0, 2], [0, 3, 4]]
    # Minus (1, 0, 8) of a and B, and (0, 15, 1) of b and A.
    assert features.pairwise.toarray().tolist() == [[1, 0, -6], [0, -12, 3]]
