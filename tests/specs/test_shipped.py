"""A scale takes shipped weights in the place of pre-training, if they were made as it states."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan
from lexigraft.specs.ranges import check_fields
from lexigraft.specs.scales import load_scale
from lexigraft.specs.stages import BackboneSpec

HASH = "0123456789abcdef" * 4
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "spec.json", "backbone.json")
FILES += ("provenance.json", "training.jsonl", "model.safetensors")
TAKING = "extends: smoke\ntitle: Taking\nshipped: [bert-uncased]\n"


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the workflow's files, with a scale that takes a backbone that is not there yet."""
    shutil.copytree(root / "workflow", tmp_path / "workflow")
    write_scale(tmp_path, TAKING)
    return tmp_path


def write_scale(tree: Path, text: str) -> Path:
    path = tree / "workflow" / "scales" / "taking.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def ship(tree: Path, weights: str = HASH) -> Path:
    """The records of a backbone that was made as smoke states."""
    folder = tree / "workflow" / "backbones" / "bert-uncased"
    folder.mkdir(parents=True, exist_ok=True)
    recipe = load_scale(tree, "smoke").backbones["bert-uncased"]
    write(folder / "spec.json", {"id": recipe.id, **recipe.record()})
    hashes = dict.fromkeys(FILES, "f" * 64) | {"model.safetensors": weights}
    write(folder / "shipped.json", {"values": "float16", "sha256": hashes})
    return folder


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def planned(tree: Path, scale: str = "taking") -> Plan:
    return build_plan(load_config(tree, {"scale": scale, "experiments": ["table2"]}))


def test_the_plan_takes_the_weights_that_are_there(tree: Path) -> None:
    ship(tree)
    plan = planned(tree)
    spec = plan.config.scale.backbones["bert-uncased"]
    assert plan.options(spec.id) == (
        f"--origin shipped --location workflow/backbones/bert-uncased --sha256 {HASH}"
    )
    assert plan.inputs(spec.id) == []
    others = planned(tree, "smoke").config.scale.backbones
    assert plan.config.scale.backbones["modernbert"] == others["modernbert"]
    names = [stage.name for stage in plan.stages.values() if stage.stage == "backbone"]
    assert names.count("bert-uncased") == 1


def test_other_weights_have_another_id(tree: Path) -> None:
    ids = []
    for weights in (HASH, "e" * 64):
        ship(tree, weights)
        ids.append(load_scale(tree, "taking").backbones["bert-uncased"].id)
    assert ids[0] != ids[1]


def test_a_scale_that_retrains_makes_what_the_other_would_have_made(tree: Path) -> None:
    write_scale(tree, f"{TAKING}retrain: true\n")
    plan, plain = planned(tree), planned(tree, "smoke")
    identity = plain.config.scale.backbones["bert-uncased"].id
    assert plan.retrained == [f"results/backbone/{identity}"]
    assert plan.stages[identity].inputs() == plain.stages[identity].inputs()
    assert plain.retrained == []


def test_all_that_is_retrained_is_planned_with_its_text(root: Path) -> None:
    plan = planned(root, "mini-backbones")
    scale = plan.config.scale
    assert len(plan.retrained) == len(scale.retrained) >= 2
    assert scale.collections[scale.text].id in plan.stages
    mini, here = load_scale(root, "mini"), scale.collections["docstrings"]
    assert here == mini.collections["docstrings"]


def test_a_field_that_is_newer_than_the_folder_had_its_default(tree: Path) -> None:
    folder = ship(tree)
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    del spec["sha256"], spec["mask_probability"]
    write(folder / "spec.json", spec)
    assert load_scale(tree, "taking").backbones["bert-uncased"].origin == "shipped"


def test_what_a_shipped_backbone_reads_is_known(tree: Path) -> None:
    ship(tree)
    write_scale(tree, f"{TAKING}run: {{encode.document_length: 65}}\n")
    with pytest.raises(LexigraftError, match=r"found 65; allowed: at most 64, the positions of"):
        planned(tree)


def altered(field: str, value: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
        write(folder / "spec.json", spec | {field: value})

    return change


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def recorded(text: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / "shipped.json").write_text(text, encoding="utf-8")

    return change


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (shutil.rmtree, "shipped: 'bert-uncased' has no folder .*`make backbones` pre-trains"),
        (altered("steps", 3), "was pre-trained with steps 3, the scale states 4; leave it out"),
        (altered("corpus", "docstrings-0"), "with corpus 'docstrings-0', the scale states 'docs"),
        (altered("version", 2), "was pre-trained with version 2, the scale states 1"),
        (without("shipped.json"), r"shipped\.json: no such file; `git restore` brings it back"),
        (without("spec.json"), r"spec\.json: no such file; `git restore`"),
        (recorded("{"), r"shipped\.json: not valid JSON"),
        (recorded("{}"), r"shipped\.json: 'sha256' is missing, a JSON object is needed"),
        (recorded('{"sha256": {}}'), r"shipped\.json: sha256: no hash of config\.json; `git"),
    ],
)
def test_weights_that_are_not_the_scales_are_refused(
    tree: Path, change: Callable[[Path], None], sentence: str
) -> None:
    change(ship(tree))
    with pytest.raises(LexigraftError, match=sentence) as refused:
        load_scale(tree, "taking")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("shipped: [bert]\n", "shipped: found 'bert'; allowed: bert-uncased, bert-cased, modern"),
        (
            "shipped: [mine]\nbackbones: {mine: {origin: folder, location: /x}}\n",
            "shipped: 'mine' has the origin folder; allowed: backbones of origin pretrain",
        ),
        ("retrain: true\n", "'shipped' is missing beside 'retrain'"),
        ("shipped: bert-uncased\n", 'shipped: found "bert-uncased"; allowed: a value of type arr'),
        ("shipped: [roberta, roberta]\n", 'shipped: found ["roberta", "roberta"]'),
        (
            "backbones: {mine: {origin: shipped}}\n",
            "mine.origin: found 'shipped'; allowed: pretrain, and 'mine' in the list 'shipped'",
        ),
        (
            "backbones: {roberta: {sha256: '0'}}\n",
            "backbones.roberta.sha256: found '0'; allowed: 64 hexadecimal digits",
        ),
    ],
)
def test_a_wrong_list_is_refused_with_its_key(tree: Path, text: str, sentence: str) -> None:
    path = write_scale(tree, f"extends: smoke\ntitle: Taking\n{text}")
    with pytest.raises(LexigraftError, match=re.escape(sentence)) as refused:
        load_scale(tree, "taking")
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


def test_a_hash_is_for_shipped_weights() -> None:
    spec = BackboneSpec(origin="shipped", location="x", sha256=HASH)
    check_fields(spec)
    with pytest.raises(LexigraftError, match=r"--sha256: read with origin shipped only, the origi"):
        check_fields(replace(spec, origin="folder"))
