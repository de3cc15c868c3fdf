"""EMLM: many-to-one labels and loss worked by hand, and a training of the head alone."""

import math
from pathlib import Path

import pytest
import torch
from two_vocabularies import READER, SHAPE, TEXTS, WRITER, head_only

from lexigraft.encoders.architectures import new_masked_lm
from lexigraft.errors import LexigraftError
from lexigraft.training.alignment import Alignment, align
from lexigraft.training.emlm import Emlm, EmlmLoss, EmlmSequences, many_to_one_cross_entropy
from lexigraft.training.masked_lm import MaskedLmLoss, MaskedLmOptions, train_masked_lm
from lexigraft.training.packing import PackedSequences, token_stream

OPTIONS = MaskedLmOptions(
    steps=8, batch_size=4, length=4, learning_rate=1e-2, warmup_steps=1, mask_probability=0.5
)


def test_loss_by_hand() -> None:
    # Logits ln 1, ln 2, ln 5 are probabilities 1/8, 2/8, 5/8; equal ones are 1/3 each.
    logits = torch.tensor([[0.0, math.log(2), math.log(5)], [7.0, 7.0, 7.0]])
    labels = torch.tensor([[0, 2], [1, -100]])
    expected = math.log(8) + math.log(8 / 5) + math.log(3)
    assert many_to_one_cross_entropy(logits, labels).item() == pytest.approx(expected, rel=1e-6)


def test_labels_in_conflict_pull_to_equal_shares() -> None:
    logits = torch.zeros(1, 4, requires_grad=True)
    many_to_one_cross_entropy(logits, torch.tensor([[0, 1]])).backward()
    # Two labels on softmax 1/4 each: 2 p - 1 for those two, 2 p for the others.
    torch.testing.assert_close(logits.grad, torch.tensor([[-0.5, -0.5, 0.5, 0.5]]))


def test_one_label_a_position_is_the_loss_of_a_masked_language_model() -> None:
    model = new_masked_lm("bert", SHAPE, READER, seed=1)
    ids = torch.tensor([[2, 5, 6, 3], [2, 7, 8, 3]])
    labels = torch.tensor([[-100, 5, -100, -100], [-100, 7, 8, -100]])
    count = torch.tensor(3)
    expected = MaskedLmLoss(model)(ids, labels, count)
    found = EmlmLoss(model)(ids, labels[:, :, None], count)
    assert found.item() == pytest.approx(expected.item(), rel=1e-6)


def sequences(folder: Path, rate: float) -> EmlmSequences:
    stream, key = token_stream(TEXTS, READER, folder)
    packed = PackedSequences(stream, 4, cls_id=2, sep_id=3)
    alignment = Alignment.open(align(TEXTS, READER, WRITER, key, folder), packed)
    options = MaskedLmOptions(
        **{**OPTIONS.__dict__, "mask_probability": rate, "corruption": (1.0, 0.0, 0.0)}
    )
    return EmlmSequences(packed, READER, options, 3, alignment, WRITER.unk_token_id)


def test_labels_are_the_output_tokens_of_the_chosen_positions(tmp_path: Path) -> None:
    data = sequences(tmp_path, 1.0)
    batch = data.__getitems__([0, 1, 2])
    found = {}
    for row, index in enumerate(range(3)):
        labels = [[v for v in at if v != -100] for at in batch["labels"][row].tolist()]
        found[data._sequence(index)] = (batch["input_ids"][row].tolist(), labels)
    # All ordinary positions are chosen; the separator is not, and an unknown token is no label.
    assert found == {
        0: ([2, 4, 4, 3], [[], [5, 6, 7, 8], [], []]),
        1: ([2, 4, 3, 3], [[], [10], [], []]),
        2: ([2, 4, 4, 3], [[], [], [11], []]),
    }
    assert data.predictions(batch) == 6
    measured = data.measure(set())
    # Chosen: collabor (4 labels), ations (0), End (1), Heat (unknown: 0), of (1).
    assert measured["labels_per_chosen_position"] == pytest.approx(6 / 5)
    assert measured["share_with_several_labels"] == pytest.approx(1 / 5)
    assert measured["share_without_label"] == pytest.approx(2 / 5)


def test_the_head_moves_and_nothing_else(tmp_path: Path) -> None:
    model = head_only()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    options = MaskedLmOptions(**{**OPTIONS.__dict__, "trains": "head", "steps": 40})
    result = train_masked_lm(model, READER, TEXTS, options, tmp_path, task=Emlm(READER, WRITER))
    after = model.state_dict()
    assert {n for n, t in after.items() if not torch.equal(t, before[n])} == {
        "decoder.weight",
        "decoder.bias",
    }
    size = model.config.output_vocab_size
    for name in ("decoder.weight", "decoder.bias"):
        assert torch.equal(after[name][size:], before[name][size:])
    assert result.history[0]["loss"] == pytest.approx(math.log(size), abs=0.3)
    assert result.final_loss < result.history[0]["loss"]
    assert "share_with_several_labels" in result.summary


def test_one_matrix_for_both_sides_has_no_head_of_its_own(tmp_path: Path) -> None:
    model = new_masked_lm("bert", SHAPE, READER, seed=1)
    options = MaskedLmOptions(**{**OPTIONS.__dict__, "trains": "head"})
    with pytest.raises(LexigraftError, match="input and output embeddings are one matrix"):
        train_masked_lm(model, READER, TEXTS, options, tmp_path)
