"""Semantic initialisation whose neighbours are looked for in another model's embeddings."""

import re

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.transfer.space import space_of
from lexigraft.transfer.transfer import transfer
from lexigraft.vocabulary.pieces import Pieces

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIALS, "heat", "warm", "cold", "##er", "##ly", "sea"]


@pytest.fixture
def space(build, wordpiece_of) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Eleven tokens, of which row i is (i, 1)."""
    tokenizer = wordpiece_of(VOCABULARY)
    model = build("bert", tokenizer, hidden_size=2, num_attention_heads=1)
    rows = torch.stack((torch.arange(len(VOCABULARY)), torch.ones(len(VOCABULARY))), dim=1)
    model.get_input_embeddings().weight.data.copy_(rows)
    return model, tokenizer


def test_tokens_in_the_space(space, wordpiece_of) -> None:
    target = Pieces(wordpiece_of([*SPECIALS, "sea", "warmer", "heater", "##ly", "q"]))
    found = space_of(*space, target)
    assert (found.own, found.written, found.absent) == (7, 2, 1)
    assert found.embeddings[:5].tolist() == [[i, 1.0] for i in range(5)]
    # sea is row 10; warmer is written warm ##er, rows 6 and 8; heater heat ##er, 5 and 8; ##ly is
    # row 9; q cannot be written.
    expected = [[10.0, 1.0], [7.0, 1.0], [6.5, 1.0], [9.0, 1.0], [0.0, 0.0]]
    assert found.embeddings[5:].tolist() == expected


def test_neighbours_come_from_the_space(byte_bpe, uncased, build) -> None:
    source, target = build("modernbert", byte_bpe), build("bert", uncased)
    other = build("bert", uncased, hidden_size=64)
    with torch.no_grad():
        # In the space every new token lies where the last anchor does.
        plain = transfer(source, byte_bpe, uncased, target)
        shared = plain.overlap
        rows = other.get_input_embeddings().weight
        rows[shared.new_ids] = rows[shared.target_ids[-1]].clone()
    moved = transfer(source, byte_bpe, uncased, target, space=(other, uncased))
    assert moved.space is not None
    assert moved.space.own == len(uncased)
    before, taken = plain.initialised.neighbours, moved.initialised.neighbours
    assert before is not None
    assert taken is not None
    assert set(taken.source_ids[:, 0].tolist()) == {int(shared.source_ids[-1])}
    assert not torch.equal(before.source_ids, taken.source_ids)
    # Nothing but semantic initialisation looks for neighbours.
    for strategy in ("mean", "subtoken"):
        config = {"initialisation": strategy}
        with_space = transfer(source, byte_bpe, uncased, target, config, space=(other, uncased))
        without = transfer(source, byte_bpe, uncased, target, config)
        assert with_space.space is None
        assert torch.equal(with_space.initialised.embeddings, without.initialised.embeddings)


def test_spaces_that_cannot_serve(space, wordpiece_of) -> None:
    model, tokenizer = space
    target = Pieces(tokenizer)
    with pytest.raises(LexigraftError, match="a vocabulary without a model has no embedding space"):
        space_of(None, tokenizer, target)
    longer = wordpiece_of([*VOCABULARY, "more"])
    told = "its embeddings have 11 rows, its vocabulary has ids up to 11"
    with pytest.raises(LexigraftError, match=re.escape(told)):
        space_of(model, longer, target)
    model.get_input_embeddings().weight.data[7, 0] = float("nan")
    with pytest.raises(LexigraftError, match="hold a value not finite"):
        space_of(model, tokenizer, target)
