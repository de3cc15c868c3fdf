from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.claims import Relation, check_claims, load_claims, parse_claims
from lexigraft.specs.documents import check, schema
from lexigraft.specs.experiments import experiment_names, load_experiment

ENTRY = {
    "id": "gap",
    "text": "One is  above\nthe other.",
    "source": {"document": "vocabulary-transfer", "section": "6.1.1", "table": 2},
    "metric": "zero_shot.ndcg@10",
    "holds": ["modernbert-dense > bert-dense"],
    "reported": {"modernbert-dense": 44.2, "bert-dense": 42.1},
}


def test_a_claim_is_read(root: Path):
    check([ENTRY], schema("claims", root), "claims.yaml")
    (claim,) = parse_claims([ENTRY], "claims.yaml")
    assert claim.text == "One is above the other."
    assert claim.family == "vocabulary-transfer, table 2"
    (relation,) = claim.relations
    assert relation == Relation("modernbert-dense", ">", "bert-dense")
    assert claim.reported_difference(relation) == pytest.approx(2.1)
    assert claim.reported_agrees(relation) is True


@pytest.mark.parametrize(
    ("left", "holds", "agrees"),
    [
        (38.3, "a > b", False),  # equal values bear no difference out
        (38.3, "a <= b", True),
        (39.2, "a <= b", True),  # within the margin of 1.0
        (39.4, "a <= b", False),
        (37.4, "a >= b", True),
        (37.2, "a >= b", False),
    ],
)
def test_what_reported_values_say(left: float, holds: str, agrees: bool):
    entry = {**ENTRY, "holds": [holds], "reported": {"a": left, "b": 38.3}}
    if "=" in holds:
        entry["margin"] = 1.0
    (claim,) = parse_claims([entry], "x")
    assert claim.reported_agrees(claim.relations[0]) is agrees


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hold": []}, "unknown key 'hold'; did you mean 'holds'"),
        ({"holds": []}, "holds"),
        ({"holds": ["a = b"]}, "a = b"),
        ({"holds": ["a >b"]}, "a >b"),
        ({"metric": "zero_shot.flops"}, "zero_shot.flops"),
        ({"metric": "beir.ndcg@10"}, "beir.ndcg@10"),
        ({"id": "Gap 1"}, "Gap 1"),
        ({"source": {"table": 2}}, "document"),
        ({"margin": 0}, "margin"),
        ({"reported": {"a": "44.2"}}, "44.2"),
    ],
)
def test_the_schema_is_closed(root: Path, change: dict[str, object], said: str):
    with pytest.raises(LexigraftError, match=said):
        check([{**ENTRY, **change}], schema("claims", root), "claims.yaml")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"holds": ["a <= b"], "reported": {}}, "need a margin"),
        ({"margin": 1.0}, "a margin is for <= and >= only"),
        ({"holds": ["a > a"], "reported": {}}, "compares a row with itself"),
        ({"reported": {"bm25": 1.0}}, "'bm25' is in no relation"),
    ],
)
def test_what_no_schema_can_say_is_refused_too(change: dict[str, object], said: str):
    with pytest.raises(LexigraftError, match=said):
        parse_claims([{**ENTRY, **change}], "claims.yaml")


def test_ids_are_unique():
    with pytest.raises(LexigraftError, match="claim 'gap' stands twice"):
        parse_claims([ENTRY, ENTRY], "claims.yaml")


def test_the_shipped_claims_fit_the_shipped_experiments(root: Path):
    experiments = [load_experiment(root, name) for name in experiment_names(root)]
    claims = load_claims(root)
    check_claims(claims, experiments)
    assert len(claims) >= 20
    # The paper's own table contradicts one of its sentences (section 6.1.3), in two places.
    contradicted = {
        (claim.id, relation.right)
        for claim in claims
        for relation in claim.relations
        if claim.reported_agrees(relation) is False
    }
    assert contradicted == {
        ("transfer-above-all-but-splade-v3-in-domain", "colbertv2"),
        ("transfer-above-all-but-splade-v3-in-domain", "co-ensembledistil"),
    }


def test_a_value_that_two_tables_round_differently_may_be_either(root: Path):
    # Table 2 has 52.4 and table 10 has 52.38 for the mean over seeds.
    experiments = [load_experiment(root, name) for name in ("table10", "table2")]
    claims = load_claims(root)
    ours = [c for c in claims if c.rows <= {"modernbert-vt", "modernbert-splade", "bert-splade"}]
    assert any("modernbert-vt" in claim.reported for claim in ours)
    check_claims(ours, experiments)
    check_claims(ours, experiments[::-1])


def test_a_row_of_no_experiment_and_a_wrong_value_are_refused(root: Path):
    experiments = [load_experiment(root, "table2")]
    misspelt = {**ENTRY, "holds": ["modernbert-dense > bert-dens"], "reported": {}}
    with pytest.raises(LexigraftError, match="'bert-dens' is a row of no experiment"):
        check_claims(parse_claims([misspelt], "x"), experiments)
    wrong = {**ENTRY, "reported": {"bert-dense": 42.0}}
    with pytest.raises(LexigraftError, match=r"bert-dense is 42\.0, the experiments report 42\.1"):
        check_claims(parse_claims([wrong], "x"), experiments)
