"""A backbone is pre-trained, shipped in half precision, and taken again by the stage."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lexigraft.encoders.shipped import half_precision, ship_backbones
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, sha256_folder, write_json
from lexigraft.specs.stages import BackboneSpec
from lexigraft.stages import backbone
from lexigraft.stages.job import execute

SPEC = BackboneSpec(
    origin="pretrain",
    vocabulary_size=300,
    layers=1,
    hidden_size=16,
    heads=2,
    intermediate_size=32,
    positions=32,
    steps=2,
    batch_size=4,
    length=16,
    warmup_steps=1,
    corpus="text",
)
KINDS = {
    "bert": {"architecture": "bert", "tokenizer": "wordpiece"},
    "roberta": {"architecture": "roberta", "tokenizer": "byte_bpe", "lowercase": False},
    "modernbert": {"architecture": "modernbert", "tokenizer": "byte_bpe", "lowercase": False},
}
HASH = "0123456789"
NOT_RESTORED = "`git restore` brings it back, `make backbones` makes it anew"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pre-trained backbone of each kind, named as in results."""
    text = tmp_path_factory.mktemp("text")
    (text / "text").mkdir()
    lines = [f"Row {i} of the Array holds value {i * i} and heat {i % 7}" for i in range(80)]
    (text / "text" / "0.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in lines))
    write_json(text / "manifest.json", {"kind": "text", "sets": {}})
    results = tmp_path_factory.mktemp("backbone")
    for kind, options in KINDS.items():
        spec = replace(SPEC, **options)  # type: ignore[arg-type]
        execute(spec, {"corpus": text}, results / f"{kind}-{HASH}", backbone.run)
    return results


@pytest.fixture
def shipped(made: Path, tmp_path: Path) -> Path:
    ship_backbones([made / f"bert-{HASH}"], tmp_path / "backbones")
    return tmp_path / "backbones" / "bert"


def take(folder: Path, out: Path, sha256: str = "") -> Path:
    spec = BackboneSpec(origin="shipped", location=str(folder), sha256=sha256)
    execute(spec, {}, out, backbone.run)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_taken_is_what_was_made_rounded_once(made: Path, tmp_path: Path, kind: str) -> None:
    source = made / f"{kind}-{HASH}"
    ship_backbones([source], tmp_path)
    out = take(tmp_path / kind, tmp_path / "out")

    # numpy rounds to half precision by itself: the weights, and the logits that they give.
    before = load_file(source / "model.safetensors")
    expected = {
        name: value.astype(np.float16).astype(np.float32) if value.dtype.kind == "f" else value
        for name, value in before.items()
    }
    after = load_file(out / "model.safetensors")
    assert after.keys() == expected.keys()
    for name, value in expected.items():
        assert after[name].dtype == value.dtype
        np.testing.assert_array_equal(after[name], value)
    reference = tmp_path / "reference"
    shutil.copytree(source, reference)
    save_file(expected, reference / "model.safetensors", {"format": "pt"})

    tokenizer = AutoTokenizer.from_pretrained(out)
    inputs = tokenizer("the heat of Row 3", return_tensors="pt")
    assert (
        inputs["input_ids"].tolist()
        == (AutoTokenizer.from_pretrained(source)("the heat of Row 3", return_tensors="pt"))[
            "input_ids"
        ].tolist()
    )
    with torch.no_grad():
        ours, rounded, whole = (
            AutoModelForMaskedLM.from_pretrained(folder)(**inputs).logits
            for folder in (out, reference, source)
        )
    assert torch.equal(ours, rounded)
    assert 0 < (ours - whole).abs().max() < 0.01 * whole.abs().max()


def test_where_a_shipped_backbone_comes_from_is_told(made: Path, shipped: Path) -> None:
    source = made / f"bert-{HASH}"
    out = take(shipped, shipped.parent / "out", sha256_file(shipped / "model.safetensors"))
    record, before = (json.loads((f / "backbone.json").read_text()) for f in (out, source))
    assert (record["origin"], record["location"]) == ("shipped", str(shipped))
    assert record["sha256"]["model.safetensors"] == sha256_file(shipped / "model.safetensors")
    pretraining = record["pretraining"]
    assert pretraining["final_loss"] == before["final_loss"]
    assert (pretraining["spec"]["steps"], pretraining["spec"]["corpus"]) == (2, "text")
    provenance = json.loads((source / "provenance.json").read_text())
    assert pretraining["provenance"] == provenance
    assert {"commit", "versions", "hardware"} <= set(provenance)
    for key in ("class", "parameters", "vocabulary", "masked_language_model_head"):
        assert record[key] == before[key]
    for name in ("training.jsonl", "loss.svg", "loss.png", "tokenizer.json"):
        assert sha256_file(out / name) == sha256_file(source / name)


def test_half_the_size_and_a_record_of_what_was_lost(made: Path, shipped: Path) -> None:
    source = made / f"bert-{HASH}"
    before, after = (load_file(f / "model.safetensors") for f in (source, shipped))
    floats = [name for name, value in before.items() if value.dtype.kind == "f"]
    assert {str(after[name].dtype) for name in floats} == {"float16"}
    record = json.loads((shipped / "shipped.json").read_text())
    assert record["values"] == "float16"
    assert record["sha256_before_rounding"] == sha256_file(source / "model.safetensors")
    largest = max(
        np.abs(before[name] - after[name].astype(np.float32)).max(initial=0) for name in floats
    )
    assert record["largest_change"] == largest > 0
    names = {path.name for path in shipped.iterdir()}
    assert names == {*record["sha256"], "shipped.json"}
    # As a model of transformers it needs none of our code.
    assert AutoModelForMaskedLM.from_pretrained(shipped).num_parameters() > 0


def test_shipping_again_gives_the_same_bytes(made: Path, shipped: Path) -> None:
    once = sha256_folder(shipped)
    ship_backbones([made / f"bert-{HASH}"], shipped.parent)
    ship_backbones([made / f"bert-{HASH}"], shipped.parent / "other")
    assert sha256_folder(shipped) == sha256_folder(shipped.parent / "other" / "bert") == once
    assert sorted(p.name for p in shipped.parent.iterdir()) == ["bert", "other"]


def test_half_precision_rounds_to_the_nearest_of_11_bits() -> None:
    values = [1 / 3, 1 + 2**-11, 1 + 3 * 2**-11, -65504.0, 2.0**-24, 2.0**-26]
    half = half_precision({"a": torch.tensor(values), "ids": torch.tensor([70000])}, "here")
    # 1/3 is 1365/4096 in 11 bits; halves go to the even neighbour; 2^-24 is the smallest value.
    expected = [1365 / 4096, 1.0, 1 + 2**-9, -65504.0, 2.0**-24, 0.0]
    assert half["a"].dtype == torch.float16
    assert half["a"].tolist() == expected
    assert half["ids"].tolist() == [70000]


@pytest.mark.parametrize("value", [65520.0, float("inf"), float("nan")])
def test_a_weight_that_half_precision_cannot_hold(value: float, made: Path, tmp_path: Path) -> None:
    source = tmp_path / f"bert-{HASH}"
    shutil.copytree(made / f"bert-{HASH}", source)
    weights = {k: v.copy() for k, v in load_file(source / "model.safetensors").items()}
    weights["cls.predictions.bias"][3] = value
    save_file(weights, source / "model.safetensors", {"format": "pt"})
    with pytest.raises(LexigraftError, match=r"cls\.predictions\.bias holds a value that is no fi"):
        ship_backbones([source], tmp_path / "backbones")
    assert not list((tmp_path / "backbones").iterdir())


def test_weights_that_become_zero_are_counted(made: Path, tmp_path: Path) -> None:
    source = tmp_path / f"bert-{HASH}"
    shutil.copytree(made / f"bert-{HASH}", source)
    ship_backbones([source], tmp_path)
    before = json.loads((tmp_path / "bert" / "shipped.json").read_text())["became_zero"]
    weights = {k: v.copy() for k, v in load_file(source / "model.safetensors").items()}
    assert (np.abs(weights["cls.predictions.bias"][:2]) > 1e-3).all()
    weights["cls.predictions.bias"][:2] = [1e-9, 0]
    save_file(weights, source / "model.safetensors", {"format": "pt"})
    ship_backbones([source], tmp_path)
    after = json.loads((tmp_path / "bert" / "shipped.json").read_text())["became_zero"]
    assert after == before + 1


def test_an_altered_folder_is_refused(shipped: Path) -> None:
    (shipped / "config.json").write_text((shipped / "config.json").read_text() + " ")
    refused(
        shipped, rf"config\.json: SHA-256 \w+\.\.\. found, shipped\.json has .*; {NOT_RESTORED}"
    )


def test_an_incomplete_folder_is_refused(shipped: Path) -> None:
    (shipped / "model.safetensors").unlink()
    refused(shipped, rf"model\.safetensors: no such file; {NOT_RESTORED}")


def test_a_file_that_could_change_what_is_loaded_is_refused(shipped: Path) -> None:
    (shipped / ".DS_Store").write_text("")
    (shipped / "generation_config.json").write_text("{}")
    refused(shipped, r"generation_config\.json: shipped\.json says nothing of it; remove it")


def test_an_absent_folder_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "absent", rf"location: no such folder: '.*absent'; {NOT_RESTORED}")


def test_other_weights_than_those_asked_for_are_refused(shipped: Path) -> None:
    refused(shipped, r"--sha256: aaaaaaaaaaaa\.\.\. asked for, the weights of", "a" * 64)


def refused(shipped: Path, sentence: str, sha256: str = "") -> None:
    out = shipped.parent / "out"
    with pytest.raises(LexigraftError, match=sentence) as told:
        take(shipped, out, sha256)
    assert "\n" not in str(told.value)
    assert not out.exists()


def test_only_pretrained_backbones_are_shipped(made: Path, shipped: Path) -> None:
    taken = take(shipped, shipped.parent / f"taken-{HASH}")
    target = shipped.parent / "new"
    with pytest.raises(LexigraftError, match="stage 'backbone' of origin 'shipped' found; the out"):
        # The first is fine; nothing is written all the same.
        ship_backbones([made / f"bert-{HASH}", taken], target)
    assert not target.exists()
    with pytest.raises(LexigraftError, match=r"absent.config\.json: no such file; the output of a"):
        ship_backbones([shipped.parent / "absent"], target)


def test_two_of_one_name_are_refused(made: Path, tmp_path: Path) -> None:
    other = tmp_path / "bert-aaaaaaaaaa"
    shutil.copytree(made / f"bert-{HASH}", other)
    with pytest.raises(LexigraftError, match=r"bert goes|goes to .*bert too; name one"):
        ship_backbones([made / f"bert-{HASH}", other], tmp_path / "backbones")


def test_what_is_no_shipped_backbone_is_not_replaced(made: Path, tmp_path: Path) -> None:
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert" / "mine.txt").write_text("mine")
    with pytest.raises(LexigraftError, match=r"holds 'mine\.txt' and is no earlier output"):
        ship_backbones([made / f"bert-{HASH}"], tmp_path)
    assert (tmp_path / "bert" / "mine.txt").read_text() == "mine"
