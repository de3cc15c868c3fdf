"""The page of results: what it shows, what it escapes, and how a browser lays it out."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from browser import laid_out

from lexigraft.errors import LexigraftError
from lexigraft.report.figures import write_figure
from lexigraft.report.page import write_page
from lexigraft.report.tables import build_table
from lexigraft.specs.experiments import PlannedExperiment

CLAIMS = {
    "counts": {"holds": 1, "fails": 0, "within noise": 0, "not run here": 1},
    "left_out": 3,
    "decided_by": "A test.",
    "claims": [
        {
            "id": "moves",
            "text": "Moved < naive & more.",
            "source": {"document": "vocabulary-transfer", "table": 2},
            "metric": "zero_shot.ndcg@10",
            "margin": 0.5,
            "verdict": "holds",
            "note": "",
            "likely_reason": "Size.",
            "relations": [
                {
                    "relation": "moved > naive",
                    "verdict": "holds",
                    "difference": 48.0,
                    "p_adjusted": 0.0041,
                    "detectable": 2.0,
                    "blind": True,
                    "reported_difference": 4.7,
                    "collapsed": {"naive": "dense collapse"},
                }
            ],
        },
        {
            "id": "other",
            "text": "Another.",
            "source": {"document": "vocabulary-transfer", "table": 2},
            "metric": "zero_shot.ndcg@10",
            "margin": 0.0,
            "verdict": "not run here",
            "note": "A note.",
            "likely_reason": "",
            "relations": [
                {
                    "relation": "moved > dpr",
                    "verdict": "not run here",
                    "reason": "dpr is cited, not run",
                    "reported_difference": 14.9,
                }
            ],
        },
    ],
}


@pytest.fixture
def made(experiment: PlannedExperiment, results: Path) -> str:
    (results / "claims.json").write_text(json.dumps(CLAIMS), encoding="utf-8")
    (results / "figures").mkdir()
    write_figure(experiment, results, results / "figures" / "tiny")
    write_page({"tiny": replace(experiment, title="A <tiny> table")}, results)
    return (results / "index.html").read_text(encoding="utf-8")


def words(html: str) -> str:
    """What a person reads."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", html, flags=re.S).split())


def test_claims_come_first_with_their_numbers(made: str) -> None:
    shown = words(made)
    assert shown.index("Claims ✓ 1 holds") < shown.index("Table 2: A &lt;tiny&gt; table")
    assert shown.count("zero-shot nDCG@10, margin 0.5") == 1
    assert "Moved &lt; naive &amp; more." in shown
    told = "moved &gt; naive: +48.0 (p 0.004, detectable 2.0), ✓ holds; reported +4.7; too little"
    assert f"{told} power for a difference as reported; collapsed: naive" in shown
    assert "Not run: moved &gt; dpr (dpr is cited, not run; reported +14.9)" in shown
    assert shown.count("Likely reason at this scale: Size.") == 1
    assert "3 more are about experiments that are not configured here." in shown


@pytest.mark.parametrize(
    ("claim", "relation"),
    [
        ({"verdict": "perhaps"}, {}),
        ({"verdict": ["holds"]}, {}),
        ({"source": None}, {}),
        ({"text": "\ud800"}, {}),
        ({"metric": 3}, {}),
        ({}, {"detectable": "abc"}),
        ({}, {"difference": float("nan")}),
        ({}, {"p_adjusted": 10**400}),
        ({}, {"detectable": float("inf")}),
    ],
)
def test_claims_of_another_form_are_refused(
    made: str,
    experiment: PlannedExperiment,
    results: Path,
    claim: dict[str, object],
    relation: dict[str, object],
) -> None:
    first, *rest = CLAIMS["claims"]
    damaged = {**first, **claim, "relations": [{**first["relations"][0], **relation}]}
    text = json.dumps({**CLAIMS, "claims": [damaged, *rest]})
    (results / "claims.json").write_text(text, encoding="utf-8")
    with pytest.raises(LexigraftError, match=r"claims\.json: not what was written"):
        write_page({"tiny": experiment}, results)
    assert (results / "index.html").read_text(encoding="utf-8") == made


def test_every_row_and_value_of_a_table_is_there(
    made: str, experiment: PlannedExperiment, results: Path
) -> None:
    for row in build_table(experiment, results).rows:
        (line,) = re.findall(rf'<tr id="tiny-{re.escape(row.id)}">.*?</tr>', made, flags=re.S)
        for cell in row.cells:
            if cell.ours is not None:
                assert f'href="evaluate/{cell.evaluations[0]}/"' in line
                assert " ± ".join(part for part in cell.printed("ours") if part) in line
            if cell.reported is not None:
                assert f"reported {cell.reported}" in words(line).replace("± ", "±")
        assert ("✗ collapsed" in line) is (row.collapse is not None)


def test_it_asks_nothing_of_the_network(made: str) -> None:
    assert re.search(r"https?:", made) is None
    assert "<script" not in made


def test_a_figure_that_was_not_made_is_named(experiment: PlannedExperiment, results: Path) -> None:
    (results / "claims.json").write_text(json.dumps(CLAIMS), encoding="utf-8")
    with pytest.raises(LexigraftError, match=r"tiny\.png: .*; make the figure first"):
        write_page({"tiny": experiment}, results)
    assert not (results / "index.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_scrolls_tables_and_not_the_page(made: str, results: Path, width: int) -> None:
    widest, rows = laid_out(results / "index.html", width)
    assert widest <= width
    assert rows >= 6
