from dataclasses import replace
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.report.dense_vs_sparse import dense_vs_sparse
from lexigraft.report.figures import write_figure
from lexigraft.report.tables import build_table
from lexigraft.report.trade_off import trade_off
from lexigraft.specs.experiments import PlannedExperiment


def test_the_same_results_give_the_same_bytes(experiment: PlannedExperiment, results: Path):
    for name in ("one", "two"):
        write_figure(experiment, results, results / name)
    for kind in ("png", "svg"):
        one, two = ((results / f"{name}.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two
    assert b"<dc:date>" not in (results / "one.svg").read_bytes()


def test_bars_are_as_high_as_the_values(experiment: PlannedExperiment, results: Path):
    figure = dense_vs_sparse(experiment, build_table(experiment, results))
    ours, reported = figure.axes
    assert [patch.get_height() for patch in ours.patches] == pytest.approx([25.0, 3.0, 51.0])
    assert [patch.get_height() for patch in reported.patches] == pytest.approx([42.1, 47.7, 52.4])
    assert [patch.get_hatch() for patch in ours.patches] == [None, "//////", None]
    shown = {text.get_text() for text in ours.texts}
    assert {"25.0", "3.0", "51.0", "dense collapse"} <= shown


def test_nothing_run_is_said(experiment: PlannedExperiment, results: Path):
    rows = tuple(replace(row, evaluations={}) for row in experiment.rows)
    nothing = replace(experiment, rows=rows)
    figure = dense_vs_sparse(nothing, build_table(nothing, results))
    assert [text.get_text() for text in figure.axes[0].texts] == ["nothing run"]


def test_an_experiment_without_a_figure_is_refused(experiment: PlannedExperiment, results: Path):
    with pytest.raises(LexigraftError, match="allowed: dense_vs_sparse"):
        write_figure(replace(experiment, figure=""), results, results / "x")


def test_a_trade_off_has_a_point_for_each_row_that_was_run(
    experiment: PlannedExperiment, results: Path
):
    table = build_table(experiment, results)
    (panel,) = trade_off(experiment, table).axes[:1]
    path, *points = panel.lines
    columns = [[row.cells[place].ours for row in table.rows] for place in (0, 1)]
    both = [(x, y) for y, x in zip(*columns, strict=True) if x is not None and y is not None]
    assert list(zip(*path.get_data(), strict=True)) == both
    assert len(points) == len(both) > 1
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["collapsed"]
