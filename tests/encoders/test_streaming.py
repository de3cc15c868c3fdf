"""Encoding to disk: bounded shards, taken up again after a kill, the same bytes at the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexigraft.encoders import encoder as encoders
from lexigraft.encoders import streaming
from lexigraft.encoders.encoder import Encoder
from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.saving import save_encoder
from lexigraft.encoders.streaming import encode_to_disk
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_folder
from lexigraft.retrieval.vectors import Vectors

WORDS = ["solve", "matrix", "graph", "return", "sparse"]
TEXTS = {f"d{i}": " ".join(WORDS[j % 5] for j in range(i % 13)) for i in range(50)}


@pytest.fixture(params=["splade", "dense"])
def folder(request, make_model, tokenizer, tmp_path: Path) -> Path:
    save_encoder(make_model("BertConfig"), tokenizer, tmp_path / "model", request.param)
    return tmp_path / "model"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "SHARD_TEXTS", 16)
    monkeypatch.setattr(encoders, "TOKENS_PER_BATCH", 40)


def stream(folder: Path, out: Path, texts: dict[str, str] = TEXTS, length: int = 32) -> Vectors:
    encoder = load_encoder(folder)
    return encode_to_disk(encoder, texts, length, "document", out, out.parent / "checkpoints")


def test_vectors_are_those_of_encoding_in_memory(folder: Path, tmp_path: Path) -> None:
    written = stream(folder, tmp_path / "out")
    read = Vectors.open(tmp_path / "out", "documents")
    assert read == written
    assert (read.ids, read.rows) == (list(TEXTS), [16, 16, 16, 2])
    encoder = load_encoder(folder)
    expected = encoder.encode(list(TEXTS.values()), 32)
    found = read.matrix()
    if read.sparse:
        expected, found = expected.toarray(), found.toarray()
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("values", ["float16", "int8"])
def test_fewer_bytes_are_another_encoding(folder: Path, tmp_path: Path, values: Any) -> None:
    """Shards of other values, finished before, are not taken for these."""
    whole = stream(folder, tmp_path / "out").matrix()
    encoder = load_encoder(folder)
    checkpoints = tmp_path / "checkpoints"
    small = encode_to_disk(
        encoder, TEXTS, 32, "document", tmp_path / "small", checkpoints, values=values
    )
    assert Vectors.open(tmp_path / "small", "documents") == small
    found = small.matrix()
    if small.sparse:
        whole, found = whole.toarray(), found.toarray()
    assert (found != whole).any()
    step = np.abs(whole).max(1, keepdims=True) / (255 if small.sparse else 127)
    assert (np.abs(found - whole) <= 0.501 * step).all()


def test_finished_shards_are_kept_and_no_others(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream(folder, tmp_path / "out")
    whole = sha256_folder(tmp_path / "out")
    made: list[int] = []
    real = streaming._encode_shard

    def counted(encoder: Encoder, ids: list[str], *rest: Any) -> Iterator[None]:
        made.append(len(ids))
        return real(encoder, ids, *rest)

    monkeypatch.setattr(streaming, "_encode_shard", counted)
    stream(folder, tmp_path / "out")
    assert (made, sha256_folder(tmp_path / "out")) == ([], whole)
    stream(folder, tmp_path / "other", TEXTS | {"d20": "another text"})
    assert made == [16]
    stream(folder, tmp_path / "shorter", length=8)
    assert made[1:] == [16, 16, 16, 2]
    made.clear()
    next((tmp_path / "checkpoints").glob("*documents.00001*")).write_bytes(b"cut")
    stream(folder, tmp_path / "again")
    assert sum(made) in (0, 16)
    assert sha256_folder(tmp_path / "again") == whole


def test_other_weights_are_another_input(
    folder: Path, tmp_path: Path, make_model, tokenizer
) -> None:
    first = stream(folder, tmp_path / "out")
    model = make_model("BertConfig")
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(1.5)
    save_encoder(model, tokenizer, folder, "splade" if first.sparse else "dense")
    second = stream(folder, tmp_path / "out2")
    assert abs(first.matrix() - second.matrix()).max() > 1e-3


def test_a_vector_that_is_not_finite_names_the_document(folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(folder)
    with torch.no_grad():
        encoder.model.base_model.encoder.layer[0].output.dense.weight[0, 0] = torch.nan
    with pytest.raises(LexigraftError, match=r"the vector of document 'd\d+' is not finite"):
        encode_to_disk(encoder, TEXTS, 32, "document", tmp_path / "out", tmp_path / "checkpoints")


def test_a_length_beyond_the_model_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="inputs of 81 tokens"):
        stream(folder, tmp_path / "out", length=81)


def test_a_collapsed_model_has_smaller_shards(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dimensions = load_encoder(folder).dimensions
    monkeypatch.setattr(streaming, "SHARD_VALUES", dimensions * 5)
    assert max(stream(folder, tmp_path / "out").rows) == 5


CHILD = """
import sys, time
from pathlib import Path
from lexigraft.encoders import encoder, streaming
from lexigraft.encoders.loading import load_encoder
streaming.SHARD_TEXTS, encoder.TOKENS_PER_BATCH = 16, 40
real = streaming.write_shard
def slow(*arguments):
    real(*arguments)
    time.sleep(float(sys.argv[3]))
streaming.write_shard = slow
words = ["solve", "matrix", "graph", "return", "sparse"]
texts = {f"d{i}": " ".join(words[j % 5] for j in range(i % 13)) for i in range(50)}
out = Path(sys.argv[2])
streaming.encode_to_disk(
    load_encoder(sys.argv[1]), texts, 32, "document", out, out.parent / "checkpoints"
)
"""


@pytest.mark.slow
def test_kill_9_and_again_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(folder)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    undisturbed, killed = tmp_path / "a" / "out", tmp_path / "b" / "out"
    subprocess.run([*command, str(undisturbed), "0"], check=True, env=environment)
    child = subprocess.Popen([*command, str(killed), "60"], env=environment)
    checkpoints = killed.parent / "checkpoints"
    deadline = time.monotonic() + 120
    while not list(checkpoints.glob("*.documents.*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert len(list(checkpoints.glob("*.documents.*"))) == 1
    subprocess.run([*command, str(killed), "0"], check=True, env=environment)
    assert sha256_folder(killed) == sha256_folder(undisturbed)
