"""What is saved gives the same vectors in transformers and in sentence-transformers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, SparseEncoder
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.masked_lm import save_masked_lm
from lexigraft.encoders.saving import longest_input, save_encoder
from lexigraft.encoders.tokenizers import lowercase_tokenizer
from lexigraft.errors import LexigraftError

TEXTS = ["Solve a linear System", "", "   ", " the Eigenvalues of a sparse matrix" * 6, "graph"]
QUERY_LENGTH, DOCUMENT_LENGTH = 8, 24


@pytest.mark.parametrize("config", ["BertConfig", "RobertaConfig", "ModernBertConfig"])
@pytest.mark.parametrize("role", ["query", "document"])
def test_sparse_vectors_are_the_same_everywhere(
    config: str, role: str, make_model, tokenizer, tmp_path: Path
) -> None:
    lower = lowercase_tokenizer(tokenizer)
    save_encoder(make_model(config), lower, tmp_path, "splade", QUERY_LENGTH, DOCUMENT_LENGTH)
    length = QUERY_LENGTH if role == "query" else DOCUMENT_LENGTH
    ours = load_encoder(tmp_path).encode(TEXTS, length, role=role).toarray()

    peer = SparseEncoder(str(tmp_path), device="cpu")
    theirs = getattr(peer, f"encode_{role}")(TEXTS, convert_to_sparse_tensor=False)
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-5)
    assert peer.similarity_fn_name == "dot"
    assert peer.max_seq_length == DOCUMENT_LENGTH

    model = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    batch = AutoTokenizer.from_pretrained(tmp_path)(
        TEXTS, padding=True, truncation=True, max_length=length, return_tensors="pt"
    )
    with torch.no_grad():
        logits = model(**batch).logits
    weights = torch.log1p(torch.relu(logits)) * batch["attention_mask"][:, :, None]
    np.testing.assert_allclose(ours, weights.max(1).values.numpy(), atol=1e-5)
    assert (ours > 0).sum(1).min() > 0


@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("activation", ["log1p", "double_log"])
def test_the_head_is_saved_with_the_model(
    activation: str, pooling: str, make_model, tokenizer, tmp_path: Path
) -> None:
    model = make_model("BertConfig")
    save_encoder(model, tokenizer, tmp_path, "splade", activation=activation, pooling=pooling)
    encoder = load_encoder(tmp_path)
    assert (encoder.activation, encoder.sparse_pooling) == (activation, pooling)
    ours = encoder.encode(TEXTS, DOCUMENT_LENGTH).toarray()
    peer = SparseEncoder(str(tmp_path), device="cpu")
    peer.max_seq_length = DOCUMENT_LENGTH
    theirs = peer.encode_document(TEXTS, convert_to_sparse_tensor=False)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-5)
    assert (ours > 0).sum(1).min() > 0


@pytest.mark.parametrize("config", ["BertConfig", "ModernBertConfig"])
def test_dense_vectors_are_the_same_everywhere(
    config: str, make_model, tokenizer, tmp_path: Path
) -> None:
    save_encoder(make_model(config), tokenizer, tmp_path, "dense", QUERY_LENGTH, DOCUMENT_LENGTH)
    encoder = load_encoder(tmp_path)
    assert encoder.head == "dense"
    ours = encoder.encode(TEXTS, DOCUMENT_LENGTH)
    peer = SentenceTransformer(str(tmp_path), device="cpu")
    np.testing.assert_allclose(ours, peer.encode_document(TEXTS), atol=1e-5)
    assert peer.similarity_fn_name == "dot"
    assert AutoModelForMaskedLM.from_pretrained(tmp_path).config.vocab_size == len(tokenizer)


def test_saving_does_not_touch_the_tokenizer_in_hand(make_model, tokenizer, tmp_path: Path) -> None:
    before = (tokenizer.model_max_length, list(tokenizer.model_input_names))
    save_masked_lm(make_model("DistilBertConfig"), tokenizer, tmp_path, max_length=16)
    assert (tokenizer.model_max_length, list(tokenizer.model_input_names)) == before


def test_saved_twice_is_the_same_bytes(make_model, tokenizer, tmp_path: Path) -> None:
    from lexigraft.files import sha256_folder

    for name in ("a", "b"):
        save_encoder(make_model("BertConfig"), tokenizer, tmp_path / name, "splade")
    assert sha256_folder(tmp_path / "a") == sha256_folder(tmp_path / "b")


@pytest.mark.parametrize(
    ("config", "longest"),
    # RoBERTa's position embeddings begin after its padding id, which is 0 in these models.
    [("BertConfig", 80), ("RobertaConfig", 79), ("ModernBertConfig", 80), ("DebertaV2Config", 80)],
)
def test_longest_input(config: str, longest: int, make_model) -> None:
    model = make_model(config)
    assert longest_input(model) == longest
    ids = torch.full((1, longest), 9)
    model(input_ids=ids, attention_mask=torch.ones_like(ids))


def test_a_length_beyond_the_model_is_refused(make_model, tokenizer, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"inputs of 80 tokens asked for; .* 1 to 79"):
        save_encoder(make_model("RobertaConfig"), tokenizer, tmp_path, "splade", 8, 80)
