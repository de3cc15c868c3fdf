"""Measures of the theory stage in a table, in claims and in the picture."""

import json
from pathlib import Path

import pandas as pd
import pytest

from lexigraft.analysis.claims import judge_claims
from lexigraft.report.csv_table import csv_text
from lexigraft.report.latex import latex_text
from lexigraft.report.markdown import markdown_text
from lexigraft.report.tables import build_table
from lexigraft.report.theory import theory
from lexigraft.specs.claims import Claim, parse_relation
from lexigraft.specs.experiments import PlannedExperiment, PlannedRow

COLUMNS = ("complexity", "complexity_error", "complexity_pairwise", "compatibility_error")
COLUMNS += ("estimation", "bound")
NORMS = {"own": [0.30, 0.20] * 10, "folded": [0.29, 0.18] * 10}
VALUES = {
    "own": (0.25, 0.01, 0.02, 0.0, 1.0, 1.5),
    "folded": (0.235, 0.01, None, 0.4, 0.94, 1.84),
}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name, values in VALUES.items():
        folder = tmp_path / "results" / "theory" / f"{name}-1"
        folder.mkdir(parents=True)
        record = {"sets": {"dev": dict(zip(COLUMNS, values, strict=True))}}
        (folder / "metrics.json").write_text(json.dumps(record))
        rows = [("dev", f"draw {i}", "complexity", norm) for i, norm in enumerate(NORMS[name])]
        frame = pd.DataFrame(rows, columns=["set", "query", "metric", "value"])
        frame.to_parquet(folder / "per_query.parquet")
    return tmp_path / "results"


@pytest.fixture
def experiment() -> PlannedExperiment:
    def row(name: str, label: str) -> PlannedRow:
        evaluations = {42: {"theory": ((f"{name}-1", "dev"),)}}
        return PlannedRow(name, label, group="Model", evaluations=evaluations)

    return PlannedExperiment(
        name="theory",
        title="Theory",
        source={"document": "vocabulary-transfer", "section": "3"},
        columns=tuple(f"theory.{name}" for name in COLUMNS),
        rows=(row("own", "own vocabulary"), row("folded", "+ case"), PlannedRow("none", "other")),
        scale="mini",
        figure="theory",
    )


def test_every_form_holds_the_values_and_their_folder(
    experiment: PlannedExperiment, results: Path
) -> None:
    table = build_table(experiment, results)
    markdown = markdown_text(table, results, results / "tables")
    assert "0.2350" in markdown
    assert "[folded-1](../theory/folded-1)" in markdown
    # No value is the best one, so nothing is said about marks.
    assert "Bold" not in markdown + latex_text(table)
    assert ",theory/own-1," in csv_text(table, results)
    cells = {cell.column.metric: cell for cell in table.rows[1].cells}
    assert (cells["bound"].ours, cells["complexity_pairwise"].ours) == (1.84, None)


def test_a_claim_is_tested_over_draws(experiment: PlannedExperiment, results: Path) -> None:
    claim = Claim(
        id="c",
        text="Folding lowers the complexity.",
        source={"document": "vocabulary-transfer", "section": "3.2"},
        metric="theory.complexity",
        relations=(parse_relation("folded < own", "c"),),
    )
    (judgement,) = judge_claims([claim], {"theory": experiment}, results)
    (finding,) = judgement.findings
    assert judgement.verdict == "holds"
    assert finding.comparison is not None
    assert finding.comparison.difference == pytest.approx(-0.015)
    assert len(finding.comparison.pairs.sets) == 20


def test_the_picture_stacks_the_terms(experiment: PlannedExperiment, results: Path) -> None:
    figure = theory(experiment, build_table(experiment, results))
    above, below = figure.axes
    heights = [patch.get_height() for patch in below.patches]
    # Confidence, estimation and compatibility of both rows.
    assert heights == pytest.approx([0.5, 0.5, 1.0, 0.94, 0.0, 0.4])
    assert [label.get_text() for label in below.get_xticklabels()] == ["own vocabulary", "case"]
    # The row without differences has a bar of its features alone.
    assert {text.get_text() for text in above.texts} == {"0.2500", "0.2350", "0.0200", "Model"}
