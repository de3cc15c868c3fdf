"""Encoders read from folders of our own and of others, and texts to vectors."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from sentence_transformers.sparse_encoder.modules import SpladePooling

from lexigraft.encoders.encoder import batches_by_length
from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.masked_lm import save_masked_lm
from lexigraft.encoders.saving import save_encoder
from lexigraft.errors import LexigraftError

TEXTS = ["solve a linear system", "sparse matrix", "", "graph " * 40]


@pytest.fixture
def masked_lm(make_model, tokenizer, tmp_path: Path) -> Path:
    make_model("BertConfig").save_pretrained(tmp_path / "mlm")
    tokenizer.save_pretrained(tmp_path / "mlm")
    return tmp_path / "mlm"


def test_a_masked_lm_without_modules_is_a_sparse_encoder(masked_lm: Path) -> None:
    encoder = load_encoder(masked_lm)
    assert encoder.head == "splade"
    assert encoder.encode(TEXTS, 32).shape == (4, encoder.dimensions)


@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("activation", ["relu", "log1p_relu"])
def test_a_sparse_encoder_that_sentence_transformers_wrote(
    masked_lm: Path, tmp_path: Path, pooling: str, activation: str
) -> None:
    transformer = Transformer(str(masked_lm), transformer_task="fill-mask", max_seq_length=20)
    head = SpladePooling(pooling, activation)
    peer = SparseEncoder(modules=[transformer, head], device="cpu")
    peer.save(str(tmp_path / "peer"))
    encoder = load_encoder(tmp_path / "peer")
    theirs = peer.encode_document(TEXTS, convert_to_sparse_tensor=False).numpy()
    np.testing.assert_allclose(encoder.encode(TEXTS, 20).toarray(), theirs, atol=1e-5)
    assert encoder.default_length("document") == 20


def test_the_layout_of_older_public_checkpoints(masked_lm: Path) -> None:
    """naver/splade-v3 and its like: MLMTransformer, and the length beside it."""
    package = "sentence_transformers.sparse_encoder.models"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{package}.MLMTransformer"},
        {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": f"{package}.SpladePooling"},
    ]
    (masked_lm / "modules.json").write_text(json.dumps(modules))
    (masked_lm / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 30, "do_lower_case": False})
    )
    (masked_lm / "1_SpladePooling").mkdir()
    pooling = {"pooling_strategy": "max", "activation_function": "relu"}
    (masked_lm / "1_SpladePooling" / "config.json").write_text(json.dumps(pooling))
    encoder = load_encoder(masked_lm)
    assert (encoder.head, encoder.default_length("query")) == ("splade", 30)
    pooling["pooling_strategy"] = "mean"
    (masked_lm / "1_SpladePooling" / "config.json").write_text(json.dumps(pooling))
    sentence = "pooling mean with relu; allowed: max or sum with relu or log1p_relu"
    with pytest.raises(LexigraftError, match=sentence):
        load_encoder(masked_lm)
    (masked_lm / "1_SpladePooling" / "config.json").write_text('{"activation_function": 3}')
    with pytest.raises(LexigraftError, match="'activation_function' is 3, a string is needed"):
        load_encoder(masked_lm)


@pytest.mark.parametrize("mode", ["mean", "cls"])
@pytest.mark.parametrize("normalise", [False, True])
def test_a_dense_encoder_without_a_prediction_head(
    masked_lm: Path, tmp_path: Path, mode: str, normalise: bool
) -> None:
    modules = [Transformer(str(masked_lm), max_seq_length=20), Pooling(16, mode)]
    peer = SentenceTransformer(modules=[*modules, *[Normalize()] * normalise], device="cpu")
    peer.save(str(tmp_path / "peer"))
    encoder = load_encoder(tmp_path / "peer")
    np.testing.assert_allclose(encoder.encode(TEXTS, 20), peer.encode(TEXTS), atol=1e-5)


def test_prompts_are_put_before_texts(masked_lm: Path, tmp_path: Path) -> None:
    modules = [Transformer(str(masked_lm)), Pooling(16, "mean")]
    prompts = {"query": "solve ", "document": "return "}
    peer = SentenceTransformer(modules=modules, prompts=prompts, device="cpu")
    peer.save(str(tmp_path / "peer"))
    encoder = load_encoder(tmp_path / "peer")
    for role in ("query", "document"):
        theirs = getattr(peer, f"encode_{role}")(TEXTS)
        np.testing.assert_allclose(encoder.encode(TEXTS, 64, role=role), theirs, atol=1e-5)


def test_other_pooling_and_other_modules_are_refused(masked_lm: Path, tmp_path: Path) -> None:
    peer = SentenceTransformer(
        modules=[Transformer(str(masked_lm)), Pooling(16, "max")], device="cpu"
    )
    peer.save(str(tmp_path / "peer"))
    with pytest.raises(LexigraftError, match="neither mean nor cls"):
        load_encoder(tmp_path / "peer")
    path = tmp_path / "peer" / "modules.json"
    path.write_text(json.dumps(json.loads(path.read_text())[:1]))
    with pytest.raises(LexigraftError, match="modules Transformer; a Transformer with"):
        load_encoder(tmp_path / "peer")


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("modules.json", "{}", "dict found, a list of modules is needed"),
        ("modules.json", "[3]", "int found, a JSON object is needed"),
        ("config_sentence_transformers.json", '{"prompts": 3}', "'prompts' is 3, a JSON object"),
        (
            "config_sentence_transformers.json",
            '{"prompts": {"query": 3}}',
            "prompts: 'query' is 3, a string is needed",
        ),
        ("sentence_bert_config.json", '{"max_seq_length": "abc"}', "'max_seq_length' is 'abc'"),
        ("sentence_bert_config.json", '{"query_length": -1}', "a length of -1 tokens; 1 or more"),
    ],
)
def test_settings_of_other_types_are_refused(
    make_model, tokenizer, tmp_path: Path, file: str, text: str, told: str
) -> None:
    save_encoder(make_model("BertConfig"), tokenizer, tmp_path, "splade")
    (tmp_path / file).write_text(text)
    with pytest.raises(LexigraftError, match=rf"{file}: {told}"):
        load_encoder(tmp_path).default_length("query")


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="no such folder"):
        load_encoder(tmp_path / "none")


def test_a_hub_id_is_fetched_without_code_and_pickles(
    masked_lm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fetch(name: str, allow_patterns: list[str]) -> str:
        asked.append((name, allow_patterns))
        return str(masked_lm)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    assert load_encoder("someone/encoder").name == str(masked_lm)
    assert asked == [("someone/encoder", ["*.json", "*.safetensors", "*.txt", "*.model"])]

    def offline(name: str, allow_patterns: list[str]) -> str:
        raise OSError("offline")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    with pytest.raises(LexigraftError, match="could be fetched from the hub"):
        load_encoder("someone/encoder")


def test_order_and_batches_do_not_matter(make_model, tokenizer, tmp_path: Path) -> None:
    save_encoder(make_model("ModernBertConfig"), tokenizer, tmp_path, "splade")
    encoder = load_encoder(tmp_path)
    together = encoder.encode(TEXTS, 64).toarray()
    alone = [encoder.encode([text], 64, tokens_per_batch=1).toarray()[0] for text in TEXTS]
    np.testing.assert_allclose(together, np.stack(alone), atol=1e-5)
    assert encoder.encode([], 64).shape == (0, encoder.dimensions)
    with pytest.raises(LexigraftError, match="tokens_per_batch: found -1; allowed: 0 and above"):
        encoder.encode(TEXTS, 64, tokens_per_batch=-1)


def test_a_length_below_special_tokens_is_refused(make_model, tokenizer, tmp_path: Path) -> None:
    save_encoder(make_model("BertConfig"), tokenizer, tmp_path, "splade")
    encoder = load_encoder(tmp_path)
    text = "graph " * 200
    assert [len(encoder.tokenize([text], n, "document")[0]) for n in (2, 3)] == [2, 3]
    with pytest.raises(LexigraftError, match="inputs of 1 tokens asked for; the model reads 2 to"):
        encoder.encode([text], 1)


def test_a_text_without_a_token_is_a_zero_vector(make_model, tokenizer, tmp_path: Path) -> None:
    save_encoder(make_model("BertConfig"), tokenizer, tmp_path, "splade")
    encoder = load_encoder(tmp_path)
    rep = encoder.represent([[], [2, 9, 3]])
    assert rep[0].count_nonzero() == 0
    assert rep[1].count_nonzero() > 0
    assert encoder.represent([]).shape == (0, encoder.dimensions)


def test_a_vector_that_is_no_number_names_its_text(make_model, tokenizer, tmp_path: Path) -> None:
    save_masked_lm(make_model("BertConfig"), tokenizer, tmp_path)
    encoder = load_encoder(tmp_path)
    with torch.no_grad():
        encoder.model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids("graph")] = (
            torch.nan
        )
    # Tied weights: the decoder's row of that word is broken too, so only its own column is.
    with pytest.raises(LexigraftError, match="the vector of text 1 is not finite"):
        encoder.encode_batch(encoder.tokenize(["graph"], 8, "document"), ["text 1"])


def test_batches_by_length() -> None:
    """Longest first, at most 12 tokens with padding; a longer text is alone."""
    assert batches_by_length([30, 200, 60, 40, 30, 50], 128) == [[1], [2, 5], [3, 0, 4]]
    assert batches_by_length([], 128) == []
