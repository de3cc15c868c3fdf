"""Masked-language-model training against transformers' own loss, and its invariances."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import (
    BertForMaskedLM,
    ModernBertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from lexigraft.encoders.architectures import Shape, new_masked_lm
from lexigraft.encoders.masked_lm import save_masked_lm
from lexigraft.errors import LexigraftError
from lexigraft.training.masked_lm import (
    MaskedLmLoss,
    MaskedLmOptions,
    MaskedLmResult,
    train_masked_lm,
)
from lexigraft.vocabulary.training import train_tokenizer

TEXTS = [f"row {i} of the array holds value {i * i} and its heat is {i % 7}" for i in range(120)]
SHAPE = Shape(layers=2, hidden_size=16, heads=2, intermediate_size=32, positions=32)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer("wordpiece", True, 120, TEXTS, max_length=32)


def new_model(
    tokenizer: PreTrainedTokenizerFast, architecture: str = "bert", *, tied: bool = True
) -> PreTrainedModel:
    model = new_masked_lm(architecture, SHAPE, tokenizer, seed=1)  # type: ignore[arg-type]
    if not tied:
        weight = model.get_output_embeddings().weight
        model.config.tie_word_embeddings = False
        model.get_output_embeddings().weight = torch.nn.Parameter(weight.detach().clone())
    return model


def train(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    folder: Path,
    save_steps: int = 0,
    new_ids: tuple[int, ...] = (),
    **changes: object,
) -> MaskedLmResult:
    values = {
        "steps": 6,
        "batch_size": 8,
        "length": 16,
        "learning_rate": 1e-2,
        "warmup_steps": 2,
        "weight_decay": 0.1,
        **changes,
    }
    options = MaskedLmOptions(**values)  # type: ignore[arg-type]
    return train_masked_lm(
        model, tokenizer, TEXTS, options, folder, new_ids=new_ids, save_steps=save_steps
    )


@pytest.mark.parametrize("architecture", ["bert", "roberta", "modernbert"])
def test_loss_is_that_of_transformers(
    architecture: str, tokenizer: PreTrainedTokenizerFast
) -> None:
    model = new_model(tokenizer, architecture)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 120, (4, 16), generator=generator)
    labels = ids.masked_fill(torch.rand(4, 16, generator=generator) < 0.7, -100)
    expected = model(input_ids=ids, labels=labels).loss
    expected.backward()
    gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    loss = MaskedLmLoss(model)(ids, labels, (labels != -100).sum())
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, gradients[name], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("architecture", "tied"), [("bert", True), ("bert", False), ("modernbert", True)]
)
def test_embeddings_move_and_nothing_else(
    architecture: str, tied: bool, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    model = new_model(tokenizer, architecture, tied=tied)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    train(model, tokenizer, tmp_path, trains="embeddings")
    moved = {n for n, t in model.state_dict().items() if not torch.equal(t, before[n])}
    allowed = ("word_embeddings", "tok_embeddings", "decoder.", "predictions.bias")
    assert moved
    assert all(any(part in name for part in allowed) for name in moved)
    output = model.get_output_embeddings()
    assert not torch.equal(output.bias, torch.zeros_like(output.bias))
    shared = output.weight is model.get_input_embeddings().weight
    assert shared == tied
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_untied_embeddings_both_move(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    model = new_model(tokenizer, tied=False)
    before = [
        model.get_input_embeddings().weight.clone(),
        model.get_output_embeddings().weight.clone(),
    ]
    train(model, tokenizer, tmp_path, trains="embeddings", weight_decay=0.0)
    after = [model.get_input_embeddings().weight, model.get_output_embeddings().weight]
    assert not torch.equal(after[0], before[0])
    assert not torch.equal(after[1], before[1])
    assert not torch.equal(*after)


def test_small_forward_passes_train_the_same_model(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    models = [new_model(tokenizer) for _ in range(2)]
    whole, small = (
        train(model, tokenizer, tmp_path / str(micro), micro_batch_size=micro, mask_probability=0.1)
        for model, micro in zip(models, (0, 2), strict=True)
    )
    losses = [[record["loss"] for record in result.history] for result in (whole, small)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    norms = [[record["grad_norm"] for record in result.history] for result in (whole, small)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-3)


def test_training_lowers_the_loss(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    result = train(new_model(tokenizer), tokenizer, tmp_path, steps=60, batch_size=16)
    assert result.history[0]["loss"] == pytest.approx(torch.tensor(120.0).log().item(), abs=0.3)
    assert result.final_loss < 0.75 * result.history[0]["loss"]
    assert result.summary["sequences"] > 100


def test_result_says_how_often_new_tokens_were_predicted(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    new = tuple(tokenizer.convert_tokens_to_ids(["row", "heat", "value"]))
    summary = train(
        new_model(tokenizer),
        tokenizer,
        tmp_path,
        new_ids=new,
        new_token_weight=2.0,
        batch_size=32,
        trains="embeddings",
    ).summary
    share = summary["new_share_of_text"]
    assert share > 0.1
    # Twice as likely at an equal rate: 2 s / (2 s + 1 - s).
    assert summary["new_share_of_masked"] == pytest.approx(2 * share / (1 + share), abs=0.04)
    assert summary["masked_share"] == pytest.approx(0.3, abs=0.03)


def test_same_arguments_same_bits(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    models = [new_model(tokenizer, "modernbert") for _ in range(2)]
    for number, model in enumerate(models):
        train(model, tokenizer, tmp_path / str(number))
    first, second = (list(model.parameters()) for model in models)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_checkpoints_belong_to_the_initial_weights(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    model = new_model(tokenizer)
    train(model, tokenizer, tmp_path)
    with pytest.raises(LexigraftError, match="another run"):
        train(model, tokenizer, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trains": "bias"}, "trains: 'bias' found"),
        ({"corruption": (1.0, 0.0)}, "corruption"),
        ({"mask_probability": 1.5}, "mask_probability"),
        ({"length": 20_000}, "less than one sequence"),
        ({"steps": 0}, "steps: 0 found"),
    ],
)
def test_options_that_are_refused(
    changes: dict[str, object],
    message: str,
    tokenizer: PreTrainedTokenizerFast,
    tmp_path: Path,
) -> None:
    with pytest.raises(LexigraftError, match=message):
        train(new_model(tokenizer), tokenizer, tmp_path, **changes)


def pretrain_in_process(folder: Path) -> None:
    """What the subprocesses of the next test run."""
    tokenizer = train_tokenizer("wordpiece", True, 120, TEXTS, max_length=32)
    model = new_model(tokenizer, "modernbert")
    train(model, tokenizer, folder / "checkpoints", save_steps=20, steps=200, batch_size=16)
    save_masked_lm(model, tokenizer, folder / "out")


@pytest.mark.slow
def test_killed_training_ends_with_the_same_file(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    hashes = []
    for name, kills in (("undisturbed", []), ("killed", ["checkpoint-40", "checkpoint-120"])):
        folder = tmp_path / name
        code = f"import test_masked_lm as t; t.pretrain_in_process(t.Path({str(folder)!r}))"
        for checkpoint in kills:
            process = subprocess.Popen([sys.executable, "-c", code], env=environment)
            wait_for(folder / "checkpoints" / checkpoint / "whole.json", process)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL
        assert not (folder / "out").exists()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        weights = (folder / "out" / "model.safetensors").read_bytes()
        hashes.append(hashlib.sha256(weights).hexdigest())
        hashes.append((folder / "checkpoints" / "training.jsonl").read_text())
    assert hashes[:2] == hashes[2:]


def wait_for(path: Path, process: "subprocess.Popen[bytes]") -> None:
    while not path.exists():
        assert process.poll() is None, "ended before it could be killed"
        time.sleep(0.005)


def test_classes_are_transformers_own(tokenizer: PreTrainedTokenizerFast) -> None:
    assert isinstance(new_model(tokenizer), BertForMaskedLM)
    assert isinstance(new_model(tokenizer, "modernbert"), ModernBertForMaskedLM)
