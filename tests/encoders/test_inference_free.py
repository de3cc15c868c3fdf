"""Queries without a model: weights by hand, and the same vectors in sentence-transformers."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SparseEncoder
from transformers import AutoModelForMaskedLM

from lexigraft.encoders import load_encoder, save_encoder
from lexigraft.encoders.inference_free import (
    TokenWeights,
    drop_tokenless_rows,
    idf_weights,
    uniform_weights,
)
from lexigraft.encoders.tokenizers import lowercase_tokenizer
from lexigraft.errors import LexigraftError

DOCUMENTS = ["solve the graph", "solve solve the", "matrix the", "", "graph the"]
TEXTS = ["Solve the graph graph", "", "eigenvalues of a matrix " * 9, "[MASK] graph", "1"]
LENGTH = 12


def test_idf_by_hand(tokenizer) -> None:
    """Four documents have a token: `the` is in 4, `solve` and `graph` in 2, `matrix` in 1."""
    idf = idf_weights(tokenizer, DOCUMENTS)
    found = {word: float(idf[tokenizer.convert_tokens_to_ids(word)]) for word in tokenizer.vocab}
    assert found["the"] == pytest.approx(math.log(1 + 0.5 / 4.5))  # 0.105
    assert found["solve"] == found["graph"] == pytest.approx(math.log(2))
    assert found["matrix"] == pytest.approx(math.log(1 + 3.5 / 1.5))  # 1.204
    assert found["array"] == found["z"] == pytest.approx(math.log(10))  # in no document
    assert [found[s] for s in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")] == [0.0] * 5


def test_uniform_weights_are_1_but_for_special_tokens(tokenizer) -> None:
    weights = uniform_weights(tokenizer)
    assert weights[:5].tolist() == [0.0] * 5
    assert set(weights[5:].tolist()) == {1.0}


def test_a_bag_of_tokens_by_hand() -> None:
    """Token 1 twice counts once; padding does not count, whatever its id."""
    weights = TokenWeights(torch.tensor([0.0, 2.0, 0.5, -3.0]), learned=True)
    ids = torch.tensor([[1, 1, 2], [3, 2, 1]])
    mask = torch.tensor([[1, 1, 1], [1, 1, 0]])
    rep = weights(ids, mask)
    assert rep.tolist() == [[0.0, 2.0, 0.5, 0.0], [0.0, 0.0, 0.5, 0.0]]
    rep.sum().backward()
    assert weights.weight.grad.tolist() == [0.0, 1.0, 2.0, 0.0]
    assert weights.values().tolist() == [0.0, 2.0, 0.5, 0.0]
    assert not TokenWeights(torch.ones(3)).weight.requires_grad


def test_documents_without_tokens_and_ids_with_gaps_are_refused(tokenizer) -> None:
    with pytest.raises(LexigraftError, match="no document has any token"):
        idf_weights(tokenizer, ["", " "])
    other = lowercase_tokenizer(tokenizer)
    other.get_vocab = lambda: {"a": 0, "b": 2}
    with pytest.raises(LexigraftError, match="2 tokens have ids up to 2; ids without gaps"):
        uniform_weights(other)


@pytest.mark.parametrize("config", ["BertConfig", "RobertaConfig", "ModernBertConfig"])
def test_rows_of_no_token_are_dropped_and_nothing_else(
    config: str, make_model, tokenizer, tmp_path: Path
) -> None:
    model = make_model(config)
    tokens = len(tokenizer)
    ids = torch.tensor([[2, 9, 60, 3]])
    before = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    model.resize_token_embeddings(tokens + 7)
    drop_tokenless_rows(model, tokenizer)
    after = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    torch.testing.assert_close(after, before, rtol=0, atol=0)
    model.save_pretrained(tmp_path)
    back = AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert back.get_output_embeddings().bias.shape == (tokens,)


@pytest.mark.parametrize("config", ["BertConfig", "RobertaConfig", "ModernBertConfig"])
@pytest.mark.parametrize("activation", ["log1p", "double_log"])
def test_the_same_vectors_in_sentence_transformers(
    config: str, activation: str, make_model, tokenizer, tmp_path: Path
) -> None:
    lower, weights = lowercase_tokenizer(tokenizer), idf_weights(tokenizer, DOCUMENTS)
    model, folder = make_model(config), tmp_path / "ours"
    save_encoder(
        model, lower, folder, "splade", LENGTH, LENGTH, activation=activation, query_weights=weights
    )
    ours = load_encoder(folder)
    peer = SparseEncoder(str(folder), device="cpu")
    for role in ("query", "document"):
        theirs = getattr(peer, f"encode_{role}")(TEXTS, convert_to_sparse_tensor=False).numpy()
        vectors = ours.encode(TEXTS, LENGTH, role=role).toarray()
        np.testing.assert_allclose(vectors, theirs, rtol=1e-5, atol=1e-6)
    # Documents are those of the plain formula, in transformers.
    plain = AutoModelForMaskedLM.from_pretrained(folder).eval()
    (ids,) = ours.tokenize(TEXTS[:1], LENGTH, "document")
    with torch.no_grad():
        expected = plain(input_ids=torch.tensor([ids])).logits.relu().log1p().amax(1)
    expected = expected.log1p() if activation == "double_log" else expected
    np.testing.assert_allclose(ours.encode(TEXTS[:1], LENGTH).toarray(), expected, atol=1e-5)
    # Their own layout, with the model in a folder of its own, is read too.
    peer.save(str(tmp_path / "theirs"))
    again = load_encoder(tmp_path / "theirs")
    assert (again.activation, again.default_length("document")) == (activation, LENGTH)
    for role in ("query", "document"):
        vectors = [e.encode(TEXTS, LENGTH, role=role).toarray() for e in (ours, again)]
        np.testing.assert_array_equal(*vectors)


def test_a_query_is_its_tokens(make_model, tokenizer, tmp_path: Path) -> None:
    weights = idf_weights(tokenizer, DOCUMENTS)
    save_encoder(make_model("BertConfig"), tokenizer, tmp_path, "splade", query_weights=weights)
    encoder = load_encoder(tmp_path)
    query = encoder.encode(["graph the graph", "[MASK]", ""], 8, role="query")
    place = {word: tokenizer.convert_tokens_to_ids(word) for word in ("graph", "the")}
    assert sorted(query[[0]].indices) == sorted(place.values())
    assert query[0, place["graph"]] == pytest.approx(math.log(2))
    assert query[[1, 2]].nnz == 0
    # Four tokens are four tokens: no special one takes a place.
    assert len(encoder.tokenize(["graph the solve array of"], 4, "query")[0]) == 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"query/model.safetensors": None}, r"query/model\.safetensors: no such file"),
        ({"query/model.safetensors": torch.ones(3)}, r"shape \(3,\) for documents of 94 entries"),
        ({"query/model.safetensors": -torch.ones(94)}, "a weight below 0 or not finite"),
        ({"query/tokenizer.json": "Lowercase"}, "queries have another tokenizer"),
        ({"router_config.json": {"types": {}, "structure": {}}}, "no ways; a way 'query' of one"),
        ({"router_config.json": {"types": {}}}, "'structure' is missing"),
        (
            {"router_config.json": {"types": {}, "structure": {"query": [3]}}},
            r"structure: 'query' is \[3\], names of modules",
        ),
        (
            {"router_config.json": {"types": {}, "structure": {"query": ["x"]}}},
            "types: 'x' is missing",
        ),
    ],
)
def test_a_broken_way_is_refused(make_model, tokenizer, tmp_path: Path, change, told: str) -> None:
    weights = uniform_weights(tokenizer)
    save_encoder(make_model("BertConfig"), tokenizer, tmp_path, "splade", query_weights=weights)
    ((name, value),) = change.items()
    path = tmp_path / name
    if value is None:
        path.unlink()
    elif isinstance(value, torch.Tensor):
        save_file({"weight": value}, path)
    elif isinstance(value, str):
        lowercase_tokenizer(tokenizer).save_pretrained(path.parent)
    else:
        path.write_text(json.dumps(value))
    with pytest.raises(LexigraftError, match=told):
        load_encoder(tmp_path)
