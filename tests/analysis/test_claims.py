import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from per_query_values import experiments, row, write_values

from lexigraft.analysis.claims import Judgement, judge_claims, write_claims
from lexigraft.errors import LexigraftError
from lexigraft.report.claims import claims_markdown
from lexigraft.specs.claims import parse_claims
from lexigraft.specs.experiments import PlannedRow

HIGH = [0.60, 0.61, 0.62, 0.63, 0.64, 0.65, 0.66, 0.67]
LOW = [0.10, 0.12, 0.14, 0.16, 0.18, 0.20, 0.22, 0.24]
MIXED = [0.70, 0.51, 0.72, 0.53, 0.74, 0.55, 0.76, 0.57]  # HIGH +10 or -10 points, in turns


def claim(name: str, *holds: str, table: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "text": f"The claim {name}.",
        "source": {"document": "paper", "table": table},
        "metric": "zero_shot.ndcg@10",
        "holds": list(holds),
        **more,
    }


@pytest.fixture
def results(tmp_path: Path) -> Path:
    sick = {"active_share": 0.97, "mean_cosine": 0.99, "verdict": "dense collapse"}
    write_values(tmp_path, "high-1", {"a": HIGH})
    write_values(tmp_path, "low-1", {"a": LOW}, sick)
    write_values(tmp_path, "mixed-1", {"a": MIXED})
    return tmp_path


ROWS = (
    row("high"),
    row("low"),
    row("mixed"),
    PlannedRow(id="cited", label="", cited="Someone, 2020"),
    PlannedRow(id="absent", label=""),
)


def judged(results: Path, *entries: dict[str, Any]) -> dict[str, Judgement]:
    found = judge_claims(parse_claims(entries, "claims.yaml"), experiments(*ROWS), results)
    return {judgement.claim.id: judgement for judgement in found}


def test_the_four_verdicts(results: Path):
    found = judged(
        results,
        claim("right", "high > low"),
        claim("wrong", "high < low"),
        claim("open", "mixed > high"),
        claim("cited", "high > cited"),
        claim("absent", "absent < high"),
        claim("unknown", "high > nobody"),
    )
    assert {name: judgement.verdict for name, judgement in found.items()} == {
        "right": "holds",
        "wrong": "fails",
        "open": "within noise",
        "cited": "not run here",
        "absent": "not run here",
        "unknown": "not run here",
    }
    reasons = {name: judgement.findings[0].reason for name, judgement in found.items()}
    assert reasons["cited"] == "cited is cited, not run"
    assert reasons["absent"] == "absent is not among the rows that were asked for"
    assert reasons["unknown"] == "nobody is in no configured experiment"


@pytest.mark.parametrize(("reported", "blind"), [(10.0, True), (11.0, False)])
def test_an_open_claim_whose_reported_difference_could_be_missed_is_said_to_be_blind(
    results: Path, reported: float, blind: bool
):
    """Eight differences of +10 and -10: a standard error of 10 / sqrt(7), of which 2.8016 standard
    errors, 10.59 points, are detectable."""
    values = {"mixed": 50.0 + reported, "high": 50.0}
    entries = [claim("open", "mixed > high", reported=values)]
    found = judge_claims(parse_claims(entries, "claims.yaml"), experiments(*ROWS), results)
    assert found[0].findings[0].blind is blind
    text = claims_markdown(found, "smoke", 0.05)
    assert ("too little power for a difference as reported" in text) is blind


def test_holm_over_the_hypotheses_of_a_table(results: Path):
    found = judged(
        results,
        claim("right", "high > low"),
        claim("wrong", "low > high"),  # the same hypothesis, turned: it counts once
        claim("other", "mixed > low"),
        claim("open", "mixed > high"),
        claim("elsewhere", "high > low", table=3),
    )
    # All eight differences have one sign: 2 of 256 assignments. Three hypotheses: the two smallest
    # p-values are multiplied by 3 and by 2, made monotone; the third is 1.
    p = {name: judgement.findings[0].p_adjusted for name, judgement in found.items()}
    assert p["right"] == pytest.approx(3 * 2 / 256)
    assert p["wrong"] == pytest.approx(3 * 2 / 256)
    assert p["other"] == pytest.approx(3 * 2 / 256)
    # Ten points up and down in turns: the mean is 0, every assignment is as extreme.
    assert p["open"] == pytest.approx(1.0)
    assert p["elsewhere"] == pytest.approx(2 / 256)


def test_a_claim_is_as_good_as_its_relations(results: Path):
    found = judged(
        results,
        claim("both", "high > low", "mixed > low"),
        claim("one-open", "high > low", "mixed > high"),
        claim("one-wrong", "high > low", "low > mixed", "high > cited"),
        claim("one-unrun", "high > low", "high > cited"),
    )
    assert [found[name].verdict for name in ("both", "one-open", "one-wrong", "one-unrun")] == [
        "holds",
        "within noise",
        "fails",
        "not run here",
    ]


def test_no_gain_is_shown_by_a_margin_not_by_a_missing_difference(tmp_path: Path):
    write_values(tmp_path, "base-1", {"a": HIGH})
    write_values(tmp_path, "same-1", {"a": [value + 0.002 for value in HIGH]})
    write_values(tmp_path, "more-1", {"a": [value + 0.020 for value in HIGH]})
    write_values(tmp_path, "vague-1", {"a": MIXED})
    rows = experiments(row("base"), row("same"), row("more"), row("vague"))
    entries = [
        claim(name, f"{name} <= base", table=table, margin=1.0)
        for table, name in enumerate(("same", "more", "vague"))
    ]
    found = judge_claims(parse_claims(entries, "x"), rows, tmp_path)
    assert [judgement.verdict for judgement in found] == ["holds", "fails", "within noise"]
    assert found[0].findings[0].comparison is not None
    assert found[0].findings[0].comparison.difference == pytest.approx(0.2)


def test_rows_of_a_table_share_their_deviation_and_a_collapsed_one_has_its_own(tmp_path: Path):
    sick = {"active_share": 0.97, "mean_cosine": 0.99, "verdict": "dense collapse"}
    drawn = {"x": (0.40, 0.44), "y": (0.30, 0.32), "z": (0.50, 0.56), "dead": (0.01, 0.03)}
    for name, values in drawn.items():
        for seed, value in enumerate(values, 1):
            values_of = {"a": [value] * 8}
            write_values(tmp_path, f"{name}-{seed}", values_of, sick if name == "dead" else None)
    planned = experiments(*(row(name, seeds=2) for name in drawn))
    entries = [claim("xy", "x > y"), claim("xz", "x < z"), claim("dead", "y > dead")]
    entries.append(claim("other", "x > z", metric="zero_shot.ndcg@10", table=3))
    found = judge_claims(parse_claims(entries, "claims.yaml"), planned, tmp_path)
    tested = {j.claim.id: j.findings[0].comparison for j in found}
    told = {name: c and (c.df_seeds, c.error_seeds) for name, c in tested.items()}
    # Squares: x 8, y 2, z 18, dead 2. An error is sqrt(squares / df * (1/2 + 1/2)).
    assert told == {
        "xy": (3, pytest.approx((28 / 3) ** 0.5)),
        "xz": (3, pytest.approx((28 / 3) ** 0.5)),
        "dead": (2, pytest.approx((4 / 2) ** 0.5)),
        "other": (2, pytest.approx((26 / 2) ** 0.5)),
    }


def test_files_say_all_of_it(results: Path):
    entries = [
        claim("right", "high > low", reported={"high": 40.0, "low": 45.0}, note="A | note."),
        claim("cited", "high > cited"),
    ]
    write_claims(
        parse_claims(entries, "claims.yaml"), experiments(*ROWS), results, results / "claims"
    )
    document = json.loads((results / "claims.json").read_text())
    assert document["counts"] == {"holds": 1, "fails": 0, "within noise": 0, "not run here": 1}
    (relation,) = document["claims"][0]["relations"]
    assert relation["difference"] == pytest.approx(63.5 - 17.0)
    assert relation["p_adjusted"] == pytest.approx(2 / 256)
    assert relation["reported_difference"] == -5.0
    assert relation["reported_agrees"] is False
    assert relation["collapsed"] == {"low": "dense collapse"}
    assert relation["queries"] == 8
    assert relation["evaluations"] == ["evaluate/high-1", "evaluate/low-1"]
    text = (results / "claims.md").read_text()
    assert "2 claims, 1 ✓ holds, 0 ✗ fails, 0 ~ within noise, 1 · not run here." in text
    assert "### ✓ holds: The claim right." in text
    (line,) = [line for line in text.splitlines() if line.startswith("| `high > low`")]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[1:4] == ["✓ holds", "+46.5", "−5.0"]
    assert cells[5:] == [
        "0.008",
        "low collapsed (dense collapse); the reported values do not bear it out",
    ]


def test_where_a_claim_does_not_hold_the_page_says_why_it_may_not(results: Path):
    reason = {"mini": "Too\n  small.", "paper": "Luck."}
    entries = [
        claim("wrong", "high < low", likely_reason=reason),
        claim("open", "mixed > high", likely_reason=reason),
        claim("right", "high > low", likely_reason=reason),
        claim("absent", "absent < high", likely_reason=reason),
        claim("elsewhere", "high < low", likely_reason={"paper": "Luck."}),
    ]
    write_claims(
        parse_claims(entries, "claims.yaml"), experiments(*ROWS), results, results / "claims"
    )
    document = json.loads((results / "claims.json").read_text())
    told = {entry["id"]: entry["likely_reason"] for entry in document["claims"]}
    small = "Too small."
    assert told == {"wrong": small, "open": small, "right": "", "absent": "", "elsewhere": ""}
    assert (results / "claims.md").read_text().count(f"Likely reason at this scale: {small}") == 2


def test_claims_about_other_experiments_are_counted_and_left_out(results: Path):
    entries = [claim("here", "high > low"), claim("elsewhere", "high > nowhere")]
    write_claims(
        parse_claims(entries, "claims.yaml"), experiments(*ROWS), results, results / "claims"
    )
    document = json.loads((results / "claims.json").read_text())
    assert [entry["id"] for entry in document["claims"]] == ["here"]
    assert document["left_out"] == 1
    text = (results / "claims.md").read_text()
    assert "1 claims, " in text
    assert "1 more are about experiments that are not configured here." in text


def test_a_missing_result_of_a_planned_row_stops_the_claims(results: Path):
    (results / "evaluate" / "low-1" / "per_query.parquet").unlink()
    with pytest.raises(LexigraftError, match=r"low-1/per_query\.parquet: no such file"):
        judged(results, claim("right", "high > low"))


def test_reports_need_no_torch():
    names = ("analysis.claims", "report.tables", "report.figures", "report.summary", "specs.claims")
    code = "import sys, " + ", ".join(f"lexigraft.{name}" for name in names)
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)
