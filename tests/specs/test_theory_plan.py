"""The theory experiment plans its own stage on models that the tables have anyway."""

from collections import Counter
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan

ROWS = """
title: T
source: {document: ours}
columns: [theory.bound]
rows: [{id: x, label: X, run: {%s}}]
"""


def planned(root: Path, *experiments: str, **values: object) -> Plan:
    return build_plan(
        load_config(root, {"scale": "paper", "experiments": list(experiments)} | values)
    )


def stages(plan: Plan) -> Counter[str]:
    return Counter(spec.stage for spec in plan.stages.values())


def test_main_rows_train_nothing_of_their_own(root: Path) -> None:
    tables = planned(root, "figure1", "table2", rows="main")
    both = planned(root, "figure1", "table2", "theory", rows="main")
    new = stages(both)
    new.subtract(stages(tables))
    assert {stage: count for stage, count in new.items() if count} == {"theory": 8}
    # What was planned before has the ids that it had.
    assert set(tables.stages) <= set(both.stages)


def test_pairs_are_those_of_the_in_domain_sets(root: Path) -> None:
    plan = planned(root, "theory")
    rows = {row.id: row for row in plan.experiments["theory"].rows}
    ((identity, name),) = rows["theory-modernbert-case"].evaluations[42]["theory"]
    assert name == "dev"
    assert plan.stages[identity].id == identity
    options = plan.options(identity)
    assert "--evaluation-set dev" in options
    # The default normaliser is not stated.
    assert "--normaliser" not in options
    ((own, _),) = rows["theory-modernbert"].evaluations[42]["theory"]
    assert "--normaliser none" in plan.options(own)
    assert plan.folder(identity) in plan.evaluations(["theory"])


@pytest.mark.parametrize(
    ("deltas", "head"), [("retrieve.engine: bm25", "bm25"), ("finetune.head: dense", "dense")]
)
def test_a_row_without_keys_is_refused(root: Path, tmp_path: Path, deltas: str, head: str) -> None:
    folder = tmp_path / "workflow"
    folder.mkdir()
    for name in ("schemas", "scales"):
        (folder / name).symlink_to(root / "workflow" / name)
    (folder / "experiments").mkdir()
    (folder / "claims.yaml").write_text("[]")
    (folder / "experiments" / "t.yaml").write_text(ROWS % deltas)
    with pytest.raises(LexigraftError, match=f"row 'x': found the head {head}; columns of theory"):
        planned(tmp_path, "t")


def test_the_inference_free_row_is_the_model_of_table_8(root: Path) -> None:
    for scale in ("mini", "paper"):
        plan = planned(root, "table8", "theory", scale=scale, rows="all")
        rows = {row.id: row for each in plan.experiments.values() for row in each.rows}
        ((theory, _),) = rows["theory-inference-free"].evaluations[42]["theory"]
        ((evaluation, _), *_) = rows["inference-free-modernbert"].evaluations[42]["zero_shot"]
        ranked = plan.stages[plan.stages[evaluation].inputs()["run"]]
        encoded = plan.stages[ranked.inputs()["vectors"]]
        assert plan.stages[theory].inputs()["model"] == encoded.inputs()["model"]
