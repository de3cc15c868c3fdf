"""Stages `backbone` and `mlm`, from a collection on disk to model folders."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file
from transformers import AutoTokenizer

from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, write_json
from lexigraft.specs.stages import BackboneSpec, MlmSpec
from lexigraft.stages import backbone, mlm
from lexigraft.stages.job import execute

SPEC = BackboneSpec(
    origin="pretrain",
    vocabulary_size=200,
    layers=1,
    hidden_size=16,
    heads=2,
    intermediate_size=32,
    positions=32,
    steps=3,
    batch_size=4,
    length=16,
    warmup_steps=1,
    corpus="text",
)
ADAPT = MlmSpec(
    model="m", text="t", steps=3, batch_size=64, length=16, learning_rate=1e-2, warmup_steps=1
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collection")
    texts = [f"row {i} of the array holds value {i * i} and heat {i % 7}" for i in range(80)]
    (folder / "text").mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "text" / "0.jsonl").write_text(lines)
    write_json(folder / "manifest.json", {"kind": "text", "sets": {}})
    return folder


@pytest.fixture(scope="module")
def model(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("models") / "model"
    execute(SPEC, {"corpus": collection}, out, backbone.run)
    vocabulary = AutoTokenizer.from_pretrained(out).get_vocab()
    write_json(out / "new_tokens.json", [vocabulary["row"], vocabulary["heat"]])
    return out


def test_pretraining_stage(model: Path, collection: Path, tmp_path: Path) -> None:
    assert json.loads((model / "spec.json").read_text())["steps"] == 3
    assert not list(model.parent.glob(".*"))
    execute(SPEC, {"corpus": collection}, tmp_path / "again", backbone.run)
    for name in ("model.safetensors", "tokenizer.json", "training.jsonl", "loss.svg", "loss.png"):
        assert sha256_file(model / name) == sha256_file(tmp_path / "again" / name)


def test_adaptation_stage(model: Path, collection: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    execute(ADAPT, {"model": model, "text": collection}, out, mlm.run)
    record = json.loads((out / "mlm.json").read_text())
    assert record["new_tokens"] == 2
    assert record["new_share_of_masked"] > 1.4 * record["new_share_of_text"] > 0
    assert (out / "new_tokens.json").read_text() == (model / "new_tokens.json").read_text()
    before, after = (load_file(folder / "model.safetensors") for folder in (model, out))
    frozen = [name for name in before if "encoder.layer" in name or "transform" in name]
    assert frozen
    assert all(before[name].equal(after[name]) for name in frozen)
    assert not before["bert.embeddings.word_embeddings.weight"].equal(
        after["bert.embeddings.word_embeddings.weight"]
    )


def test_further_training_moves_everything(model: Path, collection: Path, tmp_path: Path) -> None:
    spec = replace(ADAPT, trains="all")
    execute(spec, {"model": model, "text": collection}, tmp_path / "out", mlm.run)
    before, after = (load_file(f / "model.safetensors") for f in (model, tmp_path / "out"))
    assert not [name for name in before if before[name].equal(after[name])]


def test_trainings_share_tokens_where_a_cache_is_named(
    model: Path, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEXIGRAFT_CACHE", str(tmp_path / "cache"))
    for number, spec in enumerate((ADAPT, replace(ADAPT, new_token_weight=3.0))):
        inputs = {"model": model, "text": collection}
        execute(spec, inputs, tmp_path / str(number), mlm.run)
    assert len(list((tmp_path / "cache" / "tokens").glob("*.uint16"))) == 1


def test_unreadable_list_of_new_tokens(model: Path, collection: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((model / name).read_bytes())
    write_json(tmp_path / "new_tokens.json", {"ids": [1]})
    with pytest.raises(LexigraftError, match=r"new_tokens\.json: a list of token ids"):
        execute(ADAPT, {"model": tmp_path, "text": collection}, tmp_path / "out", mlm.run)


def test_pretraining_needs_text(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="corpus: a collection is needed"):
        execute(SPEC, {}, tmp_path / "out", backbone.run)
