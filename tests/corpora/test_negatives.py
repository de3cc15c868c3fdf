import pytest

from lexigraft.corpora.negatives import hard_negatives

DOCUMENTS = {
    "answer": "heat flows through metal plates when one side grows warm over time",
    "copy": "Heat flows through metal plates when one side grows warm, over time!",
    "near": "heat and metal are topics of this text",
    "twin1": "metal is the topic of another text",
    "twin2": "metal is the topic of another text",
    "quote": "see also: heat of metal",
    "far1": "wings have drag",
    "far2": "jets make noise",
}


def test_the_best_that_are_not_relevant() -> None:
    found = hard_negatives({"q": "heat of metal"}, DOCUMENTS, {"q": ["answer"]}, 3)
    assert found == {"q": ["near", "twin1", "twin2"]}


def test_documents_without_its_words_fill_up() -> None:
    queries = {"q": "heat of metal", "r": "wings"}
    found = hard_negatives(queries, DOCUMENTS, {"q": ["answer"], "r": ["far1"]}, 20)
    assert found["q"] == ["near", "twin1", "twin2", "far1", "far2"]
    assert sorted(found["r"]) == sorted(set(DOCUMENTS) - {"far1"})
    assert found["r"][0] == "copy"  # begins one place on for the second query


@pytest.mark.parametrize("query", ["", "the of and", "unknown words"])
def test_a_query_without_known_words_gets_others(query: str) -> None:
    found = hard_negatives({"q": query}, DOCUMENTS, {"q": ["far1"]}, 2)
    assert found == {"q": ["answer", "copy"]}


def test_none_are_asked_for() -> None:
    assert hard_negatives({"q": "heat", "r": "x"}, DOCUMENTS, {"q": ["answer"]}, 0) == {"q": []}
