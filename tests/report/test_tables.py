from dataclasses import replace
from pathlib import Path

import pytest
from tiny_table import measures, ran, write_evaluation

from lexigraft.errors import LexigraftError
from lexigraft.report.tables import Table, build_table, write_table
from lexigraft.specs.experiments import PlannedExperiment, PlannedRow


def cells(table: Table, row: str):
    return next(r for r in table.rows if r.id == row).cells


def test_a_cell_is_the_mean_over_sets_and_seeds(experiment: PlannedExperiment, results: Path):
    table = build_table(experiment, results)
    # (60 + 40) / 2; seeds: 50, 52, 51.
    assert cells(table, "bm25")[0].ours == pytest.approx(50.0)
    moved = cells(table, "moved")[0]
    assert moved.by_seed == pytest.approx({1: 50.0, 2: 52.0, 3: 51.0})
    assert moved.ours == pytest.approx(51.0)
    assert moved.deviation == pytest.approx(1.0)
    assert moved.difference == pytest.approx(51.0 - 52.4)
    assert moved.evaluations == ("moved-1", "moved-2", "moved-3")
    assert cells(table, "moved")[3].ours == pytest.approx(110.0)


def test_five_seeds_give_the_mean_and_deviation_of_the_papers_table_10(tmp_path: Path):
    seeds = {42: 52.44, 1: 52.36, 2: 52.38, 3: 52.36, 4: 52.35}
    for seed, value in seeds.items():
        write_evaluation(tmp_path, f"vt-{seed}", {"beir": {"ndcg@10": value / 100}})
    evaluations = {seed: {"zero_shot": ((f"vt-{seed}", "beir"),)} for seed in seeds}
    row = PlannedRow(id="vt", label="VT", evaluations=evaluations)
    table = build_table(
        PlannedExperiment("t10", "", {}, ("zero_shot.ndcg@10",), (row,), "paper"), tmp_path
    )
    cell = table.rows[0].cells[0]
    assert cell.printed("ours") == ("52.4", "0.04")
    assert cell.ours == pytest.approx(52.38, abs=0.005)


def test_what_no_seed_can_change_has_no_spread_and_no_best(tmp_path: Path):
    rows = []
    for name, rate in (("small", 1.534), ("large", 1.296)):
        evaluations = {}
        for seed in (1, 2):
            write_evaluation(tmp_path, f"{name}-{seed}", {"chem": {"fragmentation": rate}})
            evaluations[seed] = {"domain_a": ((f"{name}-{seed}", "chem"),)}
        rows.append(PlannedRow(id=name, label=name, evaluations=evaluations))
    columns = ("domain_a.fragmentation",)
    table = build_table(PlannedExperiment("t9", "", {}, columns, tuple(rows), "paper"), tmp_path)
    assert [row.cells[0].printed("ours") for row in table.rows] == [("1.53", ""), ("1.30", "")]
    assert not any(row.cells[0].bold for row in table.rows)


def test_the_best_of_a_group_and_of_all_are_marked_for_each_side(
    experiment: PlannedExperiment, results: Path
):
    table = build_table(experiment, results)
    first = {row.id: row.cells[0] for row in table.rows}
    assert {name for name, cell in first.items() if "ours" in cell.bold} == {"bm25", "moved"}
    assert {name for name, cell in first.items() if "ours" in cell.underlined} == {"moved"}
    assert {name for name, cell in first.items() if "reported" in cell.bold} == {"bm25", "moved"}
    assert {name for name, cell in first.items() if "reported" in cell.underlined} == {"moved"}
    assert not any(row.cells[3].bold for row in table.rows)


def test_what_is_equal_in_print_is_equally_best(results: Path, experiment: PlannedExperiment):
    write_evaluation(
        results,
        "dense-1",
        {
            "a": measures(0.5002, 0, None, None),
            "b": measures(0.5, 0, None, None),
            "dev": measures(0, 0, None, None),
        },
    )
    table = build_table(experiment, results)
    best = [row.id for row in table.rows if "ours" in row.cells[0].bold]
    assert best == ["bm25", "dense", "moved"]


def test_reported_values_are_equal_as_their_source_prints_them(
    results: Path, experiment: PlannedExperiment
):
    """Table 10 of the paper has two decimals where ours has one."""
    values = dict(zip(("bm25", "dense", "moved"), (52.36, 52.36, 52.44), strict=True))
    rows = tuple(
        replace(row, group="", reported=(values[row.id], *row.reported[1:]))
        for row in experiment.rows
        if row.id in values
    )
    table = build_table(replace(experiment, rows=rows), results)
    assert [r.id for r in table.rows if "reported" in r.cells[0].underlined] == ["moved"]


def test_every_row_says_why_it_has_no_value(experiment: PlannedExperiment, results: Path):
    table = build_table(experiment, results)
    rows = {row.id: row for row in table.rows}
    notes = {
        name: [table.footnotes[number - 1] for number in row.notes] for name, row in rows.items()
    }
    assert rows["dpr"].status == "cited"
    assert notes["dpr"] == ["Cited as the paper reports it, not run: DPR (Someone, 2020)."]
    assert rows["lower"].status == "not run"
    assert "part of `all`" in notes["lower"][0]
    assert notes["moved"] == ["Our main row."]
    absent = table.footnotes[table.column_notes["dl19.ndcg@10"] - 1]
    assert "no sets at scale mini" in absent
    assert all(row.cells[2].ours is None for row in table.rows)
    assert cells(table, "dense")[3].ours is None


def test_a_collapsed_model_is_called_so(experiment: PlannedExperiment, results: Path):
    table = build_table(experiment, results)
    naive = next(row for row in table.rows if row.id == "naive")
    assert naive.collapse is not None
    assert [table.footnotes[number - 1] for number in naive.notes] == [
        "Model_1 & 50%: collapsed (dense collapse) on 3 of 3 evaluated sets: "
        "97.0 % of the vocabulary active, cosine of unrelated texts 0.99."
    ]
    assert [row.id for row in table.rows if row.collapse] == ["naive"]


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        (
            {"a": (1.0, 0.99), "b": (0.98, 0.97), "dev": (0.99, 0.98)},
            "VT: searched by seismic, which finds 99.0 % of exact search's best 10 documents and "
            "98.0 % of all it retrieves.",
        ),
        (
            {"a": (1.0, 0.9), "b": (1.0, 0.8), "dev": (1.0, 1.0)},
            "VT: searched by seismic, which finds 100.0 % of exact search's best 10 documents and "
            "90.0 % of all it retrieves; low, 80.0 % on b: judge the engine, not the model.",
        ),
    ],
)
def test_what_an_approximate_engine_misses_is_said(
    tmp_path: Path, shares: dict[str, tuple[float, float]], said: str
):
    sets = {
        name: measures(0.5, 0.5, 10.0, None) | {"engine_recall@10": best, "engine_recall": of_all}
        for name, (best, of_all) in shares.items()
    }
    write_evaluation(tmp_path, "vt-1", sets)
    columns = ("zero_shot.ndcg@10", "zero_shot.engine_recall")
    row = PlannedRow(id="vt", label="VT", evaluations=ran("vt-1"), facts={"engine": "seismic"})
    table = build_table(PlannedExperiment("t", "", {}, columns, (row,), "mini"), tmp_path)
    assert [table.footnotes[number - 1] for number in table.rows[0].notes] == [said]
    mean = (shares["a"][1] + shares["b"][1]) / 2
    assert cells(table, "vt")[1].ours == pytest.approx(100 * mean)
    assert not cells(table, "vt")[1].bold


def test_a_missing_result_of_a_planned_row_stops_the_table(
    experiment: PlannedExperiment, results: Path
):
    (results / "evaluate" / "dense-1" / "metrics.json").unlink()
    with pytest.raises(LexigraftError, match=r"dense-1/metrics\.json: no such file"):
        build_table(experiment, results)


def test_a_missing_set_never_shrinks_an_average(experiment: PlannedExperiment, results: Path):
    write_evaluation(results, "dense-1", {"a": measures(0.2, 0, None, None)})
    with pytest.raises(LexigraftError, match="no set 'b'; found: a"):
        build_table(experiment, results)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.4", True])
def test_a_value_that_is_no_finite_number_is_refused(
    experiment: PlannedExperiment, results: Path, value: object
):
    bad = {**measures(0.2, 0, None, None), "ndcg@10": value}
    write_evaluation(results, "dense-1", {"a": bad, "b": bad, "dev": bad})
    with pytest.raises(LexigraftError, match=r"dense-1/metrics.json: set 'a': ndcg@10 is "):
        build_table(experiment, results)


def test_a_measure_that_is_null_for_some_sets_only_is_refused(
    experiment: PlannedExperiment, results: Path
):
    sets = {
        name: measures(0.2, 0.1, length, None)
        for name, length in (("a", 3.0), ("b", None), ("dev", 3.0))
    }
    write_evaluation(results, "dense-1", sets)
    with pytest.raises(LexigraftError, match="document_length is null for the sets b"):
        build_table(experiment, results)


def test_rows_over_different_sets_are_not_put_in_one_table(
    experiment: PlannedExperiment, results: Path
):
    other = {1: {**ran("dense-1")[1], "zero_shot": (("dense-1", "a"),)}}
    rows = tuple(
        replace(row, evaluations=other) if row.id == "dense" else row for row in experiment.rows
    )
    with pytest.raises(LexigraftError, match="the same sets for every row"):
        build_table(replace(experiment, rows=rows), results)


def test_three_files_are_written(experiment: PlannedExperiment, results: Path):
    write_table(experiment, results, results / "tables" / "tiny")
    names = sorted(path.name for path in (results / "tables").iterdir())
    assert names == ["tiny.csv", "tiny.md", "tiny.tex"]


def test_a_column_of_one_set_has_its_value_alone(experiment: PlannedExperiment, results: Path):
    one = replace(
        experiment,
        columns=("zero_shot/a.ndcg@10", "zero_shot.ndcg@10"),
        rows=tuple(replace(row, reported=(), reported_spread=()) for row in experiment.rows),
    )
    table = build_table(one, results)
    (row,) = (row for row in table.rows if row.id == "bm25")
    assert [cell.ours for cell in row.cells] == pytest.approx([60.0, 50.0])
    assert table.columns[0].role_heading == "a"
    assert "zero_shot/a.ndcg@10" not in table.column_notes
