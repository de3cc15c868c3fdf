"""Experiment files: rows, sweeps, and the mistakes that are refused."""

import shutil
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.experiments import Experiment, load_experiment

HEAD = """
title: T
source: {document: vocabulary-transfer, table: 5}
columns: [zero_shot.ndcg@10, zero_shot.flops]
base: {backbone: modernbert}
"""


@pytest.fixture
def load(root: Path, tmp_path: Path):
    shutil.copytree(root / "workflow" / "schemas", tmp_path / "workflow" / "schemas")
    (tmp_path / "workflow" / "experiments").mkdir()
    shutil.copytree(root / "workflow" / "scales", tmp_path / "workflow" / "scales")

    def loaded(text: str) -> Experiment:
        path = tmp_path / "workflow" / "experiments" / "t.yaml"
        path.write_text(HEAD + text, encoding="utf-8")
        return load_experiment(tmp_path, "t")

    return loaded


def test_a_sweep_makes_one_row_a_value(load) -> None:
    rows = load("sweep: {calibrate.rate: [0.1, 0.2]}\nreported: {0.2: [52.1, 10.2]}").rows
    assert [row.id for row in rows] == ["t-0.1", "t-0.2"]
    assert rows[1].deltas == {"backbone": "modernbert", "calibrate.rate": 0.2}
    assert [row.reported for row in rows] == [(), (52.1, 10.2)]


def test_two_axes_make_their_product(load) -> None:
    rows = load("sweep: {calibrate.rate: [0.1, 0.2], mlm.trains: [all, embeddings]}").rows
    assert [row.label for row in rows][:2] == [
        "calibrate.rate = 0.1, mlm.trains = all",
        "calibrate.rate = 0.1, mlm.trains = embeddings",
    ]
    assert len(rows) == 4


def test_a_scale_that_extends_another_has_what_rows_say_for_that_one(load) -> None:
    (row,) = load(
        "rows: [{id: a, label: A, run: {mlm.steps: 9}, at: {mini: {mlm.steps: 2, seed: 3}, "
        "development: {seed: 4}}}]"
    ).rows
    assert row.deltas_at(["mini", "development"]) == {
        "backbone": "modernbert",
        "mlm.steps": 2,
        "seed": 4,
    }


def test_a_row_may_say_more_at_one_scale(load) -> None:
    (row,) = load("rows: [{id: a, label: A, run: {mlm.steps: 9}, at: {mini: {mlm.steps: 2}}}]").rows
    assert row.deltas_at(["mini"]) == {"backbone": "modernbert", "mlm.steps": 2}
    assert row.deltas_at(["paper"]) == {"backbone": "modernbert", "mlm.steps": 9}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "rows: [{id: a, label: A, run: {}, at: {huge: {mlm.steps: 1}}}]",
            "row 'a': at: 'huge' is no scale; allowed: development, mini, mini-backbones, paper",
        ),
        ("rows: [{id: a, label: A, run: {mlm.step: 3}}]", "did you mean 'mlm.steps'?"),
        (
            "rows: [{id: a, label: A, run: {transfer.initialisation: semantik}}]",
            "did you mean 'semantic'?",
        ),
        ("rows: [{id: a, label: A, run: {}}, {id: a, label: B, run: {}}]", "stands twice"),
        ("rows: [{id: a, label: A, run: {}, reported: [1.0]}]", "has 1 values; allowed: 2"),
        ("rows: []", "rows"),
        (
            "sweep: {calibrate.ratio: [1]}",
            "sweep: unknown key 'calibrate.ratio'; did you mean 'calibrate.rate'?",
        ),
        (
            "sweep: {calibrate.rate: [0.1]}\nreported: {0.3: [1, 2]}",
            "'0.3' is no value of the sweep",
        ),
    ],
)
def test_a_wrong_experiment_is_refused(load, text: str, sentence: str) -> None:
    with pytest.raises(LexigraftError) as refused:
        load(text)
    assert "t.yaml" in str(refused.value)
    assert sentence in str(refused.value)
