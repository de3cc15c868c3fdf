"""Head-only transfer: the source's tokens are read, the target's are written, and what is saved
gives the same vectors everywhere."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from sentence_transformers import SparseEncoder
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lexigraft.encoders.decoder import output_projection
from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.encoders.output_vocabulary import SILENT, read_output_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.transfer import calibrate
from lexigraft.transfer.transfer import transfer
from lexigraft.vocabulary import overlap

ARCHITECTURES = ("bert", "roberta", "modernbert")
KEEP_BIAS = {"initialisation": "subtoken", "bias_alignment": "none", "part": "head"}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("direction", ["larger to smaller", "smaller to larger"])
def test_shared_tokens_keep_their_logits_on_the_sources_own_input(
    architecture: str, tied: bool, direction: str, byte_bpe, uncased, build
) -> None:
    pair = (byte_bpe, uncased) if direction == "larger to smaller" else (uncased, byte_bpe)
    source_tokenizer, target_tokenizer = pair
    source = build(architecture, source_tokenizer, tie_word_embeddings=tied)
    before = {name: p.clone() for name, p in source.state_dict().items()}
    done = transfer(source, *pair, None, KEEP_BIAS)
    ids = torch.arange(6, 46).view(2, 20)
    mask = torch.ones_like(ids)
    mask[1, 13:] = 0
    ids = ids.masked_fill(mask == 0, source_tokenizer.pad_token_id)
    expected = source(input_ids=ids, attention_mask=mask).logits
    found = done.model(input_ids=ids, attention_mask=mask).logits
    shared = overlap(*pair)
    torch.testing.assert_close(
        found[..., shared.target_ids][mask == 1],
        expected[..., shared.source_ids][mask == 1],
        rtol=1e-4,
        atol=1e-4,
    )
    assert found.shape[-1] == max(len(source_tokenizer), len(target_tokenizer))
    assert bool((found[..., len(target_tokenizer) :] == SILENT).all())
    assert done.tokenizer is source_tokenizer
    assert done.output_tokenizer.get_vocab() == target_tokenizer.get_vocab()
    weight, bias = output_projection(done.model)
    assert len(weight) == len(bias) == len(target_tokenizer)
    assert all(torch.equal(before[name], p) for name, p in source.state_dict().items())


def test_a_mixed_row_is_made_of_the_heads_rows_not_of_the_inputs(byte_bpe, uncased, build) -> None:
    source = build("bert", byte_bpe, tie_word_embeddings=False)
    done = transfer(source, byte_bpe, uncased, None, KEEP_BIAS | {"initialisation": "mean"})
    shared = overlap(byte_bpe, uncased)
    rows = source.get_output_embeddings().weight[shared.source_ids]
    new = done.model.get_output_embeddings().weight[shared.new_ids]
    torch.testing.assert_close(new, rows.mean(0).expand_as(new))
    assert torch.equal(
        done.model.get_input_embeddings().weight[: len(byte_bpe)],
        source.get_input_embeddings().weight,
    )


@pytest.fixture(params=ARCHITECTURES)
def folder(request, tmp_path: Path, byte_bpe, uncased, build) -> Path:
    source, target = build(request.param, byte_bpe), build("bert", uncased)
    done = transfer(source, byte_bpe, uncased, target, {"part": "head"})
    save_masked_lm(
        done.model, done.tokenizer, tmp_path / "moved", output_tokenizer=done.output_tokenizer
    )
    return tmp_path / "moved"


def test_vectors_are_the_same_everywhere(folder: Path, byte_bpe, uncased, sentences) -> None:
    encoder = load_encoder(folder)
    ours = torch.from_numpy(encoder.encode(sentences, 48).toarray())
    assert ours.shape == (len(sentences), len(uncased))
    assert encoder.dimensions == len(uncased)
    assert encoder.term_tokenizer.get_vocab() == uncased.get_vocab()
    assert encoder.tokenizer.get_vocab() == byte_bpe.get_vocab()
    assert (ours > 0).sum(1).min() > 0

    peer = SparseEncoder(str(folder), device="cpu")
    peer.max_seq_length = 48
    theirs = peer.encode_document(sentences, convert_to_sparse_tensor=False)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    batch = tokenizer(sentences, padding=True, truncation=True, max_length=48, return_tensors="pt")
    with torch.no_grad():
        logits = AutoModelForMaskedLM.from_pretrained(folder).eval()(**batch).logits
    plain = (logits.relu() * batch["attention_mask"][:, :, None]).amax(1).log1p()
    for vectors in (theirs, plain):
        torch.testing.assert_close(vectors[:, : len(uncased)], ours, rtol=1e-5, atol=1e-5)
        assert torch.equal(vectors[:, : len(uncased)] > 0, ours > 0)
        assert vectors.shape[1] == len(byte_bpe)
        assert not vectors[:, len(uncased) :].any()


def test_calibration_counts_the_output_terms(folder: Path, sentences) -> None:
    model, tokenizer = load_masked_lm(folder)
    terms = read_output_tokenizer(folder, model)
    result = calibrate(model, tokenizer, sentences, rate=0.25, length=32, output_tokenizer=terms)
    assert result.after.pooled.shape == (len(sentences), len(terms))
    assert result.after.rate == pytest.approx(0.25, abs=1e-3)
    decoder = model.get_output_embeddings()
    assert bool((decoder.bias[len(terms) :] == SILENT).all())


def test_what_fills_the_decoder_up_gets_no_gradient(folder: Path) -> None:
    model, tokenizer = load_masked_lm(folder)
    ids = torch.tensor([tokenizer("the sun")["input_ids"]])
    logits = model(input_ids=ids).logits
    torch.nn.functional.cross_entropy(
        logits[0], torch.zeros(len(ids[0]), dtype=torch.long)
    ).backward()
    decoder = model.get_output_embeddings()
    size = model.config.output_vocab_size
    assert decoder.weight.grad[:size].any()
    assert not decoder.weight.grad[size:].any()
    assert not decoder.bias.grad[size:].any()


def test_an_output_vocabulary_needs_its_tokenizer(folder: Path, uncased, byte_bpe) -> None:
    model, tokenizer = load_masked_lm(folder)
    with pytest.raises(LexigraftError, match="but without a tokenizer"):
        save_masked_lm(model, tokenizer, folder.parent / "other")
    config = json.loads((folder / "config.json").read_text())
    for value in (0, len(byte_bpe) + 1, "many"):
        (folder / "config.json").write_text(json.dumps(config | {"output_vocab_size": value}))
        with pytest.raises(LexigraftError, match=r"config\.json: output_vocab_size is"):
            load_masked_lm(folder)
    (folder / "config.json").write_text(json.dumps(config | {"output_vocab_size": 40}))
    with pytest.raises(LexigraftError, match="ids beyond the 40 output terms"):
        load_masked_lm(folder)
    (folder / "config.json").write_text(json.dumps(config))
    shutil.rmtree(folder / "output_tokenizer")
    with pytest.raises(LexigraftError, match=r"output_tokenizer: no tokenizer\.json"):
        load_masked_lm(folder)


def test_a_moved_head_is_not_moved_again(folder: Path, uncased, byte_bpe, build) -> None:
    model, tokenizer = load_masked_lm(folder)
    with pytest.raises(LexigraftError, match="head was moved to another vocabulary before"):
        transfer(model, tokenizer, uncased, build("bert", uncased))
    with pytest.raises(LexigraftError, match="head was moved to another vocabulary before"):
        transfer(build("bert", uncased), uncased, tokenizer, model)


def test_an_unknown_part_is_refused(uncased, cased, build) -> None:
    with pytest.raises(LexigraftError, match="part: 'tail' is not one of vocabulary, head"):
        transfer(build("bert", cased), cased, uncased, None, {"part": "tail"})
