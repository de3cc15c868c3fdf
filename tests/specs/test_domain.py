"""Runs of a scale's domain, and vocabularies that are trained on a run's own text."""

import shutil
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.checks import check_run
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan
from lexigraft.specs.scales import load_scale

TRAINED = {"target": "trained", "transfer.initialisation": "subtoken"}


def planned(root: Path, scale: str) -> Plan:
    return build_plan(load_config(root, {"scale": scale, "experiments": ["table9"]}))


def of_stage(plan: Plan, stage: str) -> dict[str, dict[str, str]]:
    """Id to what is read, for the stages of one kind."""
    return {i: spec.inputs() for i, spec in plan.stages.items() if spec.stage == stage}


@pytest.mark.parametrize("scale", ["smoke", "mini", "paper"])
def test_a_domain_run_is_trained_on_the_domain_and_its_backbone_is_not(
    root: Path, scale: str
) -> None:
    plan, found = planned(root, scale), load_scale(root, scale)
    assert found.domain is not None
    training = found.collections[found.domain.training].id
    text = found.collections[found.domain.text].id
    for stage in ("vocabulary", "transfer", "mlm", "calibrate"):
        assert {reads["text"] for reads in of_stage(plan, stage).values()} == {text}
    assert {reads["corpus"] for reads in of_stage(plan, "finetune").values()} == {training}
    for reads in of_stage(plan, "backbone").values():
        assert text not in reads.values()


def test_five_sizes_at_each_scale_but_smoke(root: Path) -> None:
    sizes = {
        scale: [plan.stages[i].size for i in of_stage(plan, "vocabulary")]  # type: ignore[attr-defined]
        for scale in ("smoke", "mini", "paper")
        for plan in [planned(root, scale)]
    }
    assert sizes == {
        "smoke": [300, 600],
        "mini": [800, 1600, 2400, 3200, 4000],
        "paper": [10000, 20000, 30000, 40000, 50000],
    }


def test_the_paper_scale_has_five_seeds_of_every_row(root: Path) -> None:
    plan = planned(root, "paper")
    # Own vocabulary, the same calibrated, five sizes; adaptation is part of what a seed decides.
    assert len(of_stage(plan, "finetune")) == 7 * 5
    assert len(of_stage(plan, "mlm")) == 5 * 5
    assert len(of_stage(plan, "transfer")) == len(of_stage(plan, "vocabulary")) == 5


def test_small_domains_are_text_that_no_backbone_has_read(root: Path) -> None:
    mini, development = load_scale(root, "mini"), load_scale(root, "development")
    for scale in (mini, development):
        general, own = scale.collections["docstrings"], scale.collections["data-analysis"]
        assert set(own.train_packages) <= set(general.zero_shot_packages)
        assert set(own.zero_shot_packages) <= set(general.zero_shot_packages)
    there = development.collections["data-analysis"]
    seen = {*there.train_packages, *there.zero_shot_packages}
    assert seen.isdisjoint(mini.collections["data-analysis"].train_packages)
    assert seen.isdisjoint(mini.collections["docstrings"].zero_shot_packages)


def test_domain_deltas_lie_between_the_scales_and_the_rows(root: Path) -> None:
    scale = load_scale(root, "mini")
    assert scale.run_with({}).mlm.steps == 320
    assert scale.run_with({"domain": True}).mlm.steps == 48
    assert scale.run_with({"domain": True, "mlm.steps": 7}).mlm.steps == 7
    assert scale.run_with({"domain": False}) == scale.run


@pytest.mark.parametrize(
    ("deltas", "sentence"),
    [
        ({"target": "trained"}, "transfer.initialisation: found 'semantic'; a vocabulary that is"),
        ({**TRAINED, "vocabulary.size": 99}, "vocabulary.size: found 99; allowed: 261 or more"),
        ({**TRAINED, "vocabulary.size": -1}, "vocabulary.size: found -1; allowed: 0 or more"),
        ({"vocabulary.size": 999}, "vocabulary: read with target 'trained' only, the target is ''"),
        ({"target": "learnt"}, "roberta-large, trained"),
        (
            {**TRAINED, "adapted": True, "mlm.objective": "sap"},
            "mlm.objective: found 'sap'; with target trained it needs a sap_teacher",
        ),
    ],
)
def test_an_impossible_vocabulary_is_refused(
    root: Path, deltas: dict[str, object], sentence: str
) -> None:
    scale = load_scale(root, "smoke")
    with pytest.raises(LexigraftError) as refused:
        check_run(scale.run_with(deltas), scale, "row 'x'")
    assert str(refused.value).startswith("row 'x': ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("find", "write", "sentence"),
    [
        ("{training: domain,", "{training: other,", "domain.training: found 'other'; allowed: do"),
        ("text: domain}", "text: nothing}", "domain.text: found 'nothing'; allowed: docstrings, d"),
        ("text: domain}", "text: domain, run: {seed: 1}}", "domain.run.seed: a scale states its"),
        ("text: domain}", "text: domain, run: {mlm.steps: 0}}", "domain.run: mlm.steps: found 0;"),
        ("  roberta: ", "  trained: ", "backbones: 'trained' names a vocabulary, not a backbone"),
        ("[domain/bm25s]", "[domain/numpy]", "evaluation.domain_b: 'domain/numpy' names no set"),
        ("domain: {training: domain, text: domain}", "", "domain: found true; the scale smoke has"),
    ],
)
def test_a_wrong_domain_is_refused(
    root: Path, tmp_path: Path, find: str, write: str, sentence: str
) -> None:
    shutil.copytree(root / "workflow", tmp_path / "workflow")
    path = tmp_path / "workflow" / "scales" / "smoke.yaml"
    text = path.read_text(encoding="utf-8")
    assert find in text
    path.write_text(text.replace(find, write, 1), encoding="utf-8")
    with pytest.raises(LexigraftError) as refused:
        planned(tmp_path, "smoke")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
