"""Fine-tuning with queries that no model reads."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SparseEncoder
from test_finetune import OPTIONS, RUN, command, train
from torch import nn

from lexigraft.corpora import Collection
from lexigraft.encoders import load_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.training.finetune_trainer import FinetuneTrainer
from lexigraft.training.gradient_cache import backward_step
from tiny_retrieval import QUERIES, tiny_collection, tiny_model, tiny_teacher, tiny_tokenizer

FREE = replace(OPTIONS, query_encoder="idf", activation="double_log", l0_threshold=5, steps=40)
LEARNED = replace(FREE, query_encoder="learned", query_learning_rate=0.05)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("material")
    tiny_model(folder / "model")
    tiny_model(folder / "still", dropout=0.0)
    tiny_collection(folder / "collection")
    tiny_teacher(folder / "teacher")
    return folder


@pytest.fixture(scope="module")
def trained(material: Path) -> Path:
    """Folders `idf` and `learned`."""
    for name, options in (("idf", FREE), ("learned", LEARNED)):
        train(material, material / name, options)
    return material


def stored_weights(folder: Path) -> torch.Tensor:
    return load_file(folder / "query" / "model.safetensors")["weight"]


def counted(material: Path) -> torch.Tensor:
    """IDF of `tiny_retrieval`'s words, counted with sets of words; the five specials weigh 0."""
    texts = Collection.open(material / "collection").training().documents.values()
    N = len(texts)
    assert N == 3 * QUERIES
    idf = []
    for word in tiny_tokenizer().convert_ids_to_tokens(list(range(5, 45))):
        n = sum(word in set(text.split()) for text in texts)
        idf.append(math.log(1 + (N - n + 0.5) / (n + 0.5)))
    return torch.tensor([0.0] * 5 + idf)


def test_the_loss_falls_and_queries_are_not_regularised(trained: Path) -> None:
    for name in ("idf", "learned"):
        records = [json.loads(line) for line in (trained / name / "training.jsonl").open()]
        early = np.mean([r["info_nce"] for r in records[:5]])
        late = np.mean([r["info_nce"] for r in records[-5:]])
        assert late < 0.9 * early
        last = records[-1]
        assert not {"flops_query", "lambda_query"} & set(last)
        penalty = last["lambda_document"] * last["flops_document"]
        assert last["loss"] == pytest.approx(
            last["margin_mse"] + last["info_nce"] + penalty, rel=1e-4
        )
        # Every query of the collection is two words.
        assert last["query_terms"] == 2.0
        summary = json.loads((trained / name / "finetune.json").read_text())
        assert summary["query_encoder"] == name


def test_fixed_weights_stay_and_learned_ones_move_from_there(trained: Path) -> None:
    idf = counted(trained)
    torch.testing.assert_close(stored_weights(trained / "idf"), idf, rtol=1e-6, atol=0)
    learned = stored_weights(trained / "learned")
    asked = {
        int(word[1:]) + 5
        for text in Collection.open(trained / "collection").training().queries.values()
        for word in text.split()
    }
    moved = set((learned - idf).abs().gt(1e-6).nonzero().squeeze(1).tolist())
    # A word that no query has, or no document answers, gets no gradient, and there is no decay.
    assert moved < asked
    assert len(moved) > len(asked) / 2
    # Adam moves by at most about the learning rate a step.
    assert (learned - idf).abs().max() < 40 * 0.05 * 1.5


@pytest.mark.parametrize("name", ["idf", "learned"])
def test_sentence_transformers_gives_the_same_vectors(trained: Path, name: str) -> None:
    texts = ["w1 w2 w3", "w9 w9 w30 w31", "w7"]
    ours, peer = load_encoder(trained / name), SparseEncoder(str(trained / name), device="cpu")
    for role in ("query", "document"):
        theirs = getattr(peer, f"encode_{role}")(texts, convert_to_sparse_tensor=False).numpy()
        vectors = ours.encode(texts, 32, role=role).toarray()
        np.testing.assert_allclose(vectors, theirs, rtol=1e-5, atol=1e-6)
    assert (vectors > 0).any()


def test_uniform_queries(material: Path, tmp_path: Path) -> None:
    train(material, tmp_path / "uniform", replace(FREE, query_encoder="uniform", steps=2))
    query = load_encoder(tmp_path / "uniform").encode(["w1 w2 w1"], 8, role="query")
    assert query.data.tolist() == [1.0, 1.0]


def test_micro_batches_end_in_the_same_weights(material: Path, tmp_path: Path) -> None:
    options = replace(LEARNED, steps=10)
    for name, size in (("whole", 0), ("parts", 3)):
        train(material, tmp_path / name, replace(options, micro_batch_size=size), model="still")
    whole, parts = (load_file(tmp_path / n / "model.safetensors") for n in ("whole", "parts"))
    for key, value in whole.items():
        torch.testing.assert_close(parts[key], value, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(
        stored_weights(tmp_path / "parts"), stored_weights(tmp_path / "whole"), rtol=1e-4, atol=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["idf", "learned"])
def test_two_processes_end_in_the_same_weights(material, tmp_path, kind: str) -> None:
    options = replace(LEARNED, query_encoder=kind, steps=10)
    train(material, tmp_path / "one", options, model="still")
    (tmp_path / "run.py").write_text(RUN)
    changed = {
        name: value for name, value in vars(options).items() if value != getattr(OPTIONS, name)
    }
    subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"),
            str(tmp_path / "run.py"),
            *command(material, tmp_path / "two", "still", **changed, micro_batch_size=2),
        ],
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    one, two = (load_file(tmp_path / n / "model.safetensors") for n in ("one", "two"))
    for key, value in one.items():
        torch.testing.assert_close(two[key], value, rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(
        stored_weights(tmp_path / "two"), stored_weights(tmp_path / "one"), rtol=1e-4, atol=1e-5
    )


def test_an_interrupted_training_ends_bit_identical(
    material: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = replace(LEARNED, steps=60)
    train(material, tmp_path / "whole", options)
    step = FinetuneTrainer.training_step

    def interrupted(self, *arguments):
        if self.state.global_step == 55:
            raise KeyboardInterrupt
        return step(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FinetuneTrainer, "training_step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(material, tmp_path / "out", options)
    assert (tmp_path / "out.checkpoints" / "checkpoint-50").is_dir()
    train(material, tmp_path / "out", options)
    for name in ("model.safetensors", "query/model.safetensors", "training.jsonl"):
        assert sha256_file(tmp_path / "out" / name) == sha256_file(tmp_path / "whole" / name), name


def test_a_group_without_a_graph_gets_no_gradient() -> None:
    """d/dw of q.(w * d) is q * d: queries (1, 2), documents (3, 4) and (5, 6) summed."""
    weight = nn.Parameter(torch.ones(2))
    ones = torch.ones(2, 2, dtype=torch.long)
    fixed = {"input_ids": torch.tensor([[1.0, 2.0]]), "attention_mask": ones[:1]}
    trained = {"input_ids": torch.tensor([[3.0, 4.0], [5.0, 6.0]]), "attention_mask": ones}
    encoders = [lambda tokens: tokens["input_ids"], lambda tokens: tokens["input_ids"] * weight]
    for size in (0, 1):
        weight.grad = None
        loss = backward_step(
            encoders,
            [fixed, trained],
            lambda reps: (reps[0] @ reps[1].T).sum(),
            [weight],
            micro_batch_size=size,
        )
        assert loss.item() == 8 + 20
        assert weight.grad.tolist() == [8.0, 20.0]


def test_a_dense_head_is_refused(material: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, query_encoder="idf", head="dense", objective="info_nce")
    with pytest.raises(LexigraftError, match="query_encoder: found 'idf'; allowed with a dense"):
        train(material, tmp_path / "out", options, teacher=False)
