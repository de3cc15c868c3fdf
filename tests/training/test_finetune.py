import json
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer, SparseEncoder
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lexigraft.encoders import load_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.specs.options import FinetuneOptions
from lexigraft.training.finetune import finetune
from lexigraft.training.finetune_trainer import FinetuneTrainer
from tiny_retrieval import tiny_collection, tiny_model, tiny_teacher

OPTIONS = FinetuneOptions(
    objective="margin_mse+info_nce",
    flops_query=0.01,
    flops_document=0.01,
    flops_ramp_steps=20,
    steps=100,
    batch_size=4,
    negatives=2,
    query_length=16,
    document_length=16,
    learning_rate=2e-3,
    warmup_steps=5,
)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """model, still (the same without dropout), collection, teacher."""
    folder = tmp_path_factory.mktemp("material")
    tiny_model(folder / "model")
    tiny_model(folder / "still", dropout=0.0)
    tiny_collection(folder / "collection")
    tiny_teacher(folder / "teacher")
    return folder


def train(material: Path, out: Path, options=OPTIONS, *, model="model", teacher=True) -> dict:
    return finetune(
        material / model,
        material / "collection",
        material / "teacher" if teacher else None,
        options,
        seed=1,
        out=out,
        checkpoints=out.with_name(f"{out.name}.checkpoints"),
    )


@pytest.fixture(scope="module")
def trained(material: Path) -> Path:
    train(material, material / "trained")
    return material / "trained"


def test_it_learns_and_records(trained: Path) -> None:
    records = [json.loads(line) for line in (trained / "training.jsonl").open()]
    assert records[-1]["step"] == 100
    early = np.mean([r["info_nce"] for r in records[:10]])
    late = np.mean([r["info_nce"] for r in records[-10:]])
    assert late < 0.8 * early
    last = records[-1]
    assert last["lambda_document"] == 0.01
    parts = last["margin_mse"] + last["info_nce"]
    penalty = 0.01 * last["flops_query"] + 0.01 * last["flops_document"]
    # A record a step: the loss is the weighted sum of what stands beside it.
    assert records[-2]["step"] == 99
    assert last["loss"] == pytest.approx(parts + penalty, rel=1e-4)
    assert 0 < last["query_terms"] < 45
    summary = json.loads((trained / "finetune.json").read_text())
    assert {"before", "during", "after"} <= set(summary)
    assert summary["after"]["verdict"] == "healthy"
    assert summary["during"] is None


def test_the_same_vectors_in_transformers_and_sentence_transformers(trained: Path) -> None:
    texts = ["w1 w2 w3", "w9 w9 w30 w31", "w7"]
    ours = load_encoder(trained).encode(texts, 16).toarray()
    theirs = SparseEncoder(str(trained), device="cpu").encode(texts, convert_to_tensor=True)
    np.testing.assert_allclose(ours, theirs.to_dense().numpy(), atol=1e-5)
    tokens = AutoTokenizer.from_pretrained(trained)(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = AutoModelForMaskedLM.from_pretrained(trained)(**tokens).logits
    pooled = torch.log1p(logits.relu()) * tokens["attention_mask"][..., None]
    np.testing.assert_allclose(ours, pooled.amax(1).numpy(), atol=1e-5)


@pytest.mark.parametrize(("activation", "pooling"), [("double_log", "max"), ("log1p", "sum")])
def test_what_was_trained_is_what_is_saved(
    material: Path, tmp_path: Path, activation: str, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last probe of the training and the saved encoder measure the same texts alike."""
    probes = []
    health_of = FinetuneTrainer.health_of

    def probed(self, tokens):
        probes.append((tokens, self.encode(tokens).detach()))
        return health_of(self, tokens)

    monkeypatch.setattr(FinetuneTrainer, "health_of", probed)
    options = replace(OPTIONS, activation=activation, pooling=pooling, steps=5)
    summary = train(material, tmp_path / "out", options, model="still")
    assert (summary["activation"], summary["pooling"]) == (activation, pooling)
    tokens, trained = probes[-1]
    model = AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()
    with torch.no_grad():
        logits = model(**tokens).logits
    weights = torch.log1p(logits.relu()) * tokens["attention_mask"][..., None]
    weights = torch.log1p(weights) if activation == "double_log" else weights
    pooled = weights.sum(1) if pooling == "sum" else weights.amax(1)
    torch.testing.assert_close(trained, pooled, rtol=1e-4, atol=1e-4)
    encoder = load_encoder(tmp_path / "out")
    assert (encoder.activation, encoder.sparse_pooling) == (activation, pooling)


@pytest.mark.parametrize("option", [{"activation": "double_log"}, {"pooling": "sum"}])
def test_a_sparse_option_with_a_dense_head_is_refused(
    material: Path, tmp_path: Path, option: dict[str, str]
) -> None:
    options = replace(OPTIONS, head="dense", objective="info_nce", **option)
    with pytest.raises(LexigraftError, match="allowed with a dense head: "):
        train(material, tmp_path / "out", options, teacher=False)
    assert not (tmp_path / "out").exists()


def test_a_dense_encoder_loads_in_sentence_transformers(material: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, head="dense", objective="info_nce", steps=20)
    summary = train(material, tmp_path / "dense", options, teacher=False)
    assert summary["after"]["active_share"] is None
    texts = ["w1 w2 w3", "w7"]
    ours = load_encoder(tmp_path / "dense").encode(texts, 16)
    theirs = SentenceTransformer(str(tmp_path / "dense"), device="cpu").encode(texts)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert "flops_query" not in (tmp_path / "dense" / "training.jsonl").read_text()


def test_lower_casing_is_saved_with_the_encoder(material: Path, tmp_path: Path) -> None:
    train(material, tmp_path / "lower", replace(OPTIONS, lowercase=True, steps=2))
    encoder = load_encoder(tmp_path / "lower")
    assert encoder.tokenize(["W1 w2"], 16, "query") == encoder.tokenize(["w1 w2"], 16, "query")


def test_micro_batches_end_in_the_same_weights(material: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, steps=10)
    train(material, tmp_path / "whole", options, model="still")
    train(material, tmp_path / "parts", replace(options, micro_batch_size=3), model="still")
    whole, parts = (load_file(tmp_path / n / "model.safetensors") for n in ("whole", "parts"))
    for name, value in whole.items():
        torch.testing.assert_close(parts[name], value, rtol=1e-3, atol=1e-5)


def test_an_interrupted_training_ends_bit_identical(
    material: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = FinetuneTrainer.training_step

    def interrupted(self, *arguments):
        if self.state.global_step == 70:
            raise KeyboardInterrupt
        return step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FinetuneTrainer, "training_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(material, tmp_path / "out")
    train(material, tmp_path / "out")
    for name in ("model.safetensors", "training.jsonl", "finetune.json"):
        assert sha256_file(tmp_path / "out" / name) == sha256_file(trained / name), name


RUN = """
import sys
from pathlib import Path
import torch
sys.path += [sys.argv[1], str(Path(sys.argv[1]).parent)]
torch.set_num_threads(1)
import test_finetune
options = {**test_finetune.OPTIONS.__dict__, **eval(sys.argv[5])}
test_finetune.train(
    Path(sys.argv[2]), Path(sys.argv[3]), type(test_finetune.OPTIONS)(**options), model=sys.argv[4]
)
"""


def command(material: Path, out: Path, model: str, **options: object) -> list[str]:
    here = str(Path(__file__).parent)
    return [here, str(material), str(out), model, repr(options)]


@pytest.mark.slow
def test_a_killed_training_ends_bit_identical(material, trained, tmp_path) -> None:
    out = tmp_path / "out"
    call = [sys.executable, "-c", RUN, *command(material, out, "model")]
    process = subprocess.Popen(call)
    mark = tmp_path / "out.checkpoints" / "checkpoint-50" / "whole.json"
    while not mark.exists() and process.poll() is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not out.exists()
    subprocess.run(call, check=True)
    assert sha256_file(out / "model.safetensors") == sha256_file(trained / "model.safetensors")


@pytest.mark.slow
def test_two_processes_end_in_the_same_weights(material, tmp_path) -> None:
    train(material, tmp_path / "one", replace(OPTIONS, steps=10), model="still")
    script = tmp_path / "run.py"
    script.write_text(RUN)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    arguments = command(material, tmp_path / "two", "still", steps=10, micro_batch_size=2)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*torchrun, str(script), *arguments], check=True, env=environment)
    one, two = (load_file(tmp_path / n / "model.safetensors") for n in ("one", "two"))
    for name, value in one.items():
        torch.testing.assert_close(two[name], value, rtol=1e-3, atol=1e-5)
    losses = [
        [json.loads(line)["loss"] for line in (tmp_path / n / "training.jsonl").open()]
        for n in ("one", "two")
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize(("bias", "verdict"), [(60.0, "dense collapse"), (-60.0, "dead outputs")])
def test_a_collapse_is_recorded_and_does_not_stop(
    material, tmp_path, caplog: pytest.LogCaptureFixture, bias, verdict
) -> None:
    tiny_model(material / verdict, bias=bias)
    with caplog.at_level(logging.WARNING):
        summary = train(material, tmp_path / "out", replace(OPTIONS, steps=5), model=verdict)
    assert summary["before"]["verdict"] == verdict
    assert (summary["during"]["step"], summary["during"]["verdict"]) == (1, verdict)
    assert summary["during"]["records"] == 5
    assert summary["after"]["verdict"] == verdict
    assert f"before fine-tuning: {verdict}" in caplog.text
    assert f"fine-tuning, step 1: {verdict}" in caplog.text


@pytest.mark.parametrize(
    ("changes", "teacher", "message"),
    [
        ({}, False, "objective: margin_mse\\+info_nce needs teacher scores"),
        ({"objective": "kl", "negatives": 0}, True, "negatives: 0 found; kl needs at least 1"),
        ({"document_length": 33}, True, "document_length: .*33 tokens"),
        ({"negatives": 3}, True, "none of 24 queries has a positive and 3 hard negatives"),
        ({"learning_rate": 1e30, "warmup_steps": 0}, True, "loss became"),
        ({"flops_document": 1e30, "flops_ramp_steps": 1}, True, "grad_norm became inf"),
    ],
)
def test_what_cannot_train_is_refused(material, tmp_path, changes, teacher, message) -> None:
    options = replace(OPTIONS, **changes)
    with pytest.raises(LexigraftError, match=message):
        train(material, tmp_path / "out", options, teacher=teacher)


def test_trainings_share_tokens_whatever_their_seed(material: Path, tmp_path: Path) -> None:
    # 6 steps of 4 queries see all 24: the same texts for every seed.
    options, cache = replace(OPTIONS, steps=6), tmp_path / "cache"

    def made(seed: int, name: str, token_cache: Path | None) -> str:
        out = tmp_path / name
        finetune(
            *(material / "model", material / "collection", material / "teacher"),
            options,
            seed=seed,
            out=out,
            checkpoints=tmp_path / f"{name}.checkpoints",
            token_cache=token_cache,
        )
        return sha256_file(out / "model.safetensors")

    first = made(1, "one", cache)
    kept = sorted(path.name for path in cache.iterdir())
    assert len(kept) == 2  # queries and documents
    assert made(2, "two", cache) != first
    assert sorted(path.name for path in cache.iterdir()) == kept
    assert not list(tmp_path.glob("*.checkpoints/texts-*"))
    # Without a shared folder they lie beside the checkpoints, and the weights are the same.
    assert made(1, "three", None) == first
    assert sorted(path.name for path in tmp_path.glob("three.checkpoints/texts-*")) == kept
