"""Transferred models: shared tokens keep their logits, special ids and padding follow, and what is
saved loads the same everywhere."""

from pathlib import Path

import pytest
import torch
from sentence_transformers import SparseEncoder
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertForMaskedLM,
    BertModel,
    MPNetConfig,
    MPNetForMaskedLM,
)

from lexigraft.encoders.decoder import output_projection
from lexigraft.encoders.masked_lm import save_masked_lm
from lexigraft.errors import LexigraftError
from lexigraft.specs.options import TransferOptions
from lexigraft.specs.stages import TransferSpec
from lexigraft.transfer import transfer_vocabulary
from lexigraft.transfer.initialisation import STRATEGIES
from lexigraft.transfer.transfer import transfer
from lexigraft.vocabulary import overlap

ARCHITECTURES = ("bert", "roberta", "modernbert")
KEEP_BIAS = {"initialisation": "subtoken", "bias_alignment": "none"}


def test_a_permuted_seven_token_bert_keeps_its_logits(build, wordpiece_of) -> None:
    order = [4, 6, 0, 3, 5, 2, 1]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heat", "sun"]
    source_tokenizer = wordpiece_of(names)
    target_tokenizer = wordpiece_of([names[i] for i in order])
    source = build("bert", source_tokenizer)
    moved = transfer_vocabulary(source, source_tokenizer, target_tokenizer, None, KEEP_BIAS)
    ids = torch.tensor([[2, 5, 6, 4, 3]])
    there = torch.tensor([[order.index(int(i)) for i in ids[0]]])
    expected = source(input_ids=ids).logits[..., order]
    # The rows of a product are summed in an order of their own: the last bit may differ.
    torch.testing.assert_close(moved(input_ids=there).logits, expected, rtol=1e-6, atol=1e-6)
    assert moved.config.pad_token_id == order.index(0)


def test_a_token_that_the_target_lacks_leaves_the_other_logits(build, wordpiece_of) -> None:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "heat", "sun"]
    source_tokenizer = wordpiece_of(names)
    target_tokenizer = wordpiece_of([*names[:5], "sun"])
    source = build("bert", source_tokenizer)
    moved = transfer_vocabulary(source, source_tokenizer, target_tokenizer, None, KEEP_BIAS)
    expected = source(input_ids=torch.tensor([[2, 6, 3]])).logits[..., [0, 1, 2, 3, 4, 6]]
    torch.testing.assert_close(moved(input_ids=torch.tensor([[2, 5, 3]])).logits, expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("direction", ["bytes to words", "words to bytes", "words to words"])
def test_shared_tokens_keep_their_logits(
    architecture: str, tied: bool, direction: str, byte_bpe, uncased, cased, build
) -> None:
    source_tokenizer, target_tokenizer = {
        "bytes to words": (byte_bpe, uncased),
        "words to bytes": (uncased, byte_bpe),
        "words to words": (cased, uncased),
    }[direction]
    source = build(
        architecture,
        source_tokenizer,
        rows=len(source_tokenizer) + 9,
        tie_word_embeddings=tied,
    )
    before = {name: p.clone() for name, p in source.state_dict().items()}
    moved = transfer_vocabulary(source, source_tokenizer, target_tokenizer, None, KEEP_BIAS)
    shared = overlap(source_tokenizer, target_tokenizer)
    assert len(shared.target_ids) > 40
    mask = torch.ones(2, 20, dtype=torch.int64)
    mask[1, 13:] = 0
    pairs = []
    for ids, tokenizer in (
        (shared.source_ids, source_tokenizer),
        (shared.target_ids, target_tokenizer),
    ):
        batch = torch.stack((ids[5:25], ids[20:40]))
        pairs.append(batch.masked_fill(mask == 0, tokenizer.pad_token_id))
    expected = source(input_ids=pairs[0], attention_mask=mask).logits[..., shared.source_ids]
    found = moved(input_ids=pairs[1], attention_mask=mask).logits[..., shared.target_ids]
    torch.testing.assert_close(found[mask == 1], expected[mask == 1], rtol=1e-4, atol=1e-4)
    assert all(torch.equal(before[name], p) for name, p in source.state_dict().items())
    assert (moved.get_output_embeddings().weight is moved.get_input_embeddings().weight) == tied


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_saved_models_load_with_the_same_logits_and_vectors(
    architecture: str, strategy: str, byte_bpe, uncased, build, sentences, tmp_path: Path
) -> None:
    source = build(architecture, byte_bpe, tie_word_embeddings=strategy != "mean")
    target = build("bert", uncased)
    done = transfer(source, byte_bpe, uncased, target, TransferOptions(initialisation=strategy))
    save_masked_lm(done.model, done.tokenizer, tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer.get_vocab() == uncased.get_vocab()
    inputs = tokenizer(sentences, return_tensors="pt", padding=True)
    mask = inputs["attention_mask"]
    expected = done.model(input_ids=inputs["input_ids"], attention_mask=mask).logits
    loaded = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    assert torch.equal(loaded(**inputs).logits, expected)
    vectors = (expected.relu() * mask[:, :, None]).amax(1).log1p()
    encoded = SparseEncoder(str(tmp_path), device="cpu").encode(sentences).to_dense()
    torch.testing.assert_close(encoded, vectors, rtol=0, atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_special_ids_are_the_new_tokenizers(
    architecture: str, byte_bpe, uncased, build, tmp_path: Path
) -> None:
    done = transfer(build(architecture, byte_bpe), byte_bpe, uncased, None, KEEP_BIAS)
    save_masked_lm(done.model, done.tokenizer, tmp_path)
    for model in (done.model, AutoModelForMaskedLM.from_pretrained(tmp_path)):
        for config in filter(None, (model.config, getattr(model, "generation_config", None))):
            for role in ("pad", "cls", "sep", "mask", "unk", "bos", "eos"):
                if hasattr(config, f"{role}_token_id"):
                    expected = getattr(uncased, f"{role}_token_id")
                    assert getattr(config, f"{role}_token_id") == expected, role
        assert model.get_input_embeddings().padding_idx == uncased.pad_token_id
        assert model.config.vocab_size == len(uncased)


def test_roberta_positions_follow_the_padding_id(byte_bpe, uncased, build) -> None:
    source = build("roberta", byte_bpe)
    assert (byte_bpe.pad_token_id, uncased.pad_token_id) == (1, 0)
    moved = transfer_vocabulary(source, byte_bpe, uncased, None, KEEP_BIAS)
    before = source.roberta.embeddings.position_embeddings.weight
    after = moved.roberta.embeddings.position_embeddings.weight
    assert len(after) == len(before) - 1
    assert torch.equal(after, before[1:])
    back = transfer_vocabulary(moved, uncased, byte_bpe, None, KEEP_BIAS)
    again = back.roberta.embeddings.position_embeddings.weight
    assert torch.equal(again[1:], before[1:])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_padding_row_is_the_sources(architecture: str, byte_bpe, uncased, build) -> None:
    source = build(architecture, byte_bpe)
    moved = transfer_vocabulary(source, byte_bpe, uncased, None, KEEP_BIAS)
    row = moved.get_input_embeddings().weight[uncased.pad_token_id]
    assert torch.equal(row, source.get_input_embeddings().weight[byte_bpe.pad_token_id])


def test_untied_output_rows_are_mixed_as_the_input_rows(byte_bpe, uncased, build) -> None:
    source = build("bert", byte_bpe, tie_word_embeddings=False)
    moved = transfer_vocabulary(source, byte_bpe, uncased, None, KEEP_BIAS)
    shared = overlap(byte_bpe, uncased)
    new = {uncased.convert_ids_to_tokens(int(i)): int(i) for i in shared.new_ids}
    token = next(t for t in new if t.isalpha() and len(t) > 3)
    pieces = byte_bpe(" " + token, add_special_tokens=False)["input_ids"]
    for before, after in (
        (source.get_input_embeddings(), moved.get_input_embeddings()),
        (source.get_output_embeddings(), moved.get_output_embeddings()),
    ):
        torch.testing.assert_close(after.weight[new[token]], before.weight[pieces].mean(0))
        assert torch.equal(after.weight[shared.target_ids], before.weight[shared.source_ids])


def test_aligned_bias_has_the_sources_scale_and_the_targets_order(byte_bpe, uncased, build) -> None:
    source = build("modernbert", byte_bpe, rows=len(byte_bpe) + 20)
    source.decoder.bias.data[len(byte_bpe) :] = 1e6
    target = build("bert", uncased)
    moved = transfer_vocabulary(source, byte_bpe, uncased, target, TransferOptions())
    real = source.decoder.bias.detach()[: len(byte_bpe)]
    bias = output_projection(moved)[1].detach()
    assert float(bias.mean()) == pytest.approx(float(real.mean()), abs=1e-5)
    assert float(bias.std(correction=0)) == pytest.approx(float(real.std(correction=0)), abs=1e-5)
    assert torch.equal(bias.argsort(), output_projection(target)[1].argsort())


def test_without_alignment_overlapping_tokens_keep_their_own_bias(byte_bpe, uncased, build) -> None:
    source = build("modernbert", byte_bpe)
    moved = transfer_vocabulary(source, byte_bpe, uncased, None, KEEP_BIAS)
    shared = overlap(byte_bpe, uncased)
    bias = output_projection(moved)[1]
    kept = source.decoder.bias[shared.source_ids]
    assert torch.equal(bias[shared.target_ids], kept)
    torch.testing.assert_close(bias[shared.new_ids], kept.mean().expand(len(shared.new_ids)))


@pytest.mark.parametrize("alignment", ["prior_aware", "none"])
def test_a_decoder_without_a_bias_gets_one(
    alignment: str, byte_bpe, uncased, build, tmp_path: Path
) -> None:
    source = build("modernbert", byte_bpe, decoder_bias=False)
    options = {"initialisation": "mean", "bias_alignment": alignment}
    done = transfer(source, byte_bpe, uncased, build("bert", uncased), options)
    assert torch.equal(output_projection(done.model)[1], torch.zeros(len(uncased)))
    with torch.no_grad():
        output_projection(done.model)[1].add_(3)
    save_masked_lm(done.model, done.tokenizer, tmp_path)
    loaded = AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert torch.equal(output_projection(loaded)[1], torch.full((len(uncased),), 3.0))


def test_a_target_without_a_head_gets_counted_priors(byte_bpe, uncased, build, sentences) -> None:
    encoder = BertModel(build("bert", uncased).config)
    done = transfer(build("modernbert", byte_bpe), byte_bpe, uncased, encoder, texts=sentences)
    assert done.unigrams is not None
    assert done.unigrams.texts == len(sentences)
    vocabulary = uncased.get_vocab()
    assert int(done.bias.argmax()) == vocabulary["the"]
    assert done.bias[vocabulary["the"]] > done.bias[vocabulary["sea"]] > done.bias[0]
    with pytest.raises(LexigraftError, match=r"no output bias.*text.*bias_alignment"):
        transfer(build("modernbert", byte_bpe), byte_bpe, uncased, encoder)


def test_a_vocabulary_moved_to_itself_is_the_same_model(uncased, build) -> None:
    source = build("bert", uncased)
    moved = transfer_vocabulary(source, uncased, uncased, source, TransferOptions())
    ids = torch.arange(len(uncased))[None, :60]
    torch.testing.assert_close(moved(input_ids=ids).logits, source(input_ids=ids).logits)


def test_the_same_seed_gives_the_same_rows_and_torch_is_left_alone(
    byte_bpe, uncased, build
) -> None:
    source, target = build("bert", byte_bpe), build("bert", uncased)
    state = torch.get_rng_state()
    rows = [
        transfer_vocabulary(
            source,
            byte_bpe,
            uncased,
            target,
            TransferSpec(source="a", target="b", initialisation="random_new", seed=seed),
        ).get_input_embeddings()
        for seed in (1, 1, 2)
    ]
    assert torch.equal(rows[0].weight, rows[1].weight)
    assert not torch.equal(rows[0].weight, rows[2].weight)
    assert torch.equal(torch.get_rng_state(), state)


class _ReadsIds(BertForMaskedLM):
    """Its positions depend on the ids themselves, which no config can tell."""

    def forward(self, input_ids: torch.Tensor, **kwargs: object) -> object:  # type: ignore[override]
        return super().forward(input_ids=input_ids, position_ids=input_ids % 2, **kwargs)


def test_an_architecture_that_reads_ids_otherwise_is_refused(byte_bpe, uncased, build) -> None:
    source = _ReadsIds(build("bert", byte_bpe).config).eval()
    with pytest.raises(LexigraftError, match=r"hidden states .* change"):
        transfer_vocabulary(source, byte_bpe, uncased, None, KEEP_BIAS)


def test_an_architecture_with_a_fixed_padding_id_is_refused(byte_bpe, uncased) -> None:
    config = MPNetConfig(
        vocab_size=len(byte_bpe),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=48,
    )
    source = MPNetForMaskedLM(config).eval()
    with pytest.raises(LexigraftError, match=r"padding id is 0.*fixes 1"):
        transfer_vocabulary(source, byte_bpe, uncased, None, KEEP_BIAS)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"initialisation": "semantics"}, "semantics.*semantic, subtoken"),
        ({"bias_alignment": "prior"}, "prior.*prior_aware, none"),
        ({"initialization": "mean"}, "initialization.*initialisation"),
        ({"initialisation": "semantic", "bias_alignment": "none"}, "target's embeddings"),
    ],
)
def test_bad_options_are_told(config, message: str, byte_bpe, uncased, build) -> None:
    with pytest.raises(LexigraftError, match=message):
        transfer_vocabulary(build("bert", byte_bpe), byte_bpe, uncased, None, config)
