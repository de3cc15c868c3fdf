"""SAP: the loss worked by hand, what the teacher reads, and that the student comes nearer."""

from pathlib import Path

import pytest
import torch
from two_vocabularies import READER, SHAPE, TEXTS, WRITER, head_only

from lexigraft.encoders.architectures import new_masked_lm
from lexigraft.encoders.encoder import Encoder
from lexigraft.errors import LexigraftError
from lexigraft.training import sap
from lexigraft.training.masked_lm import MaskedLmOptions, train_masked_lm
from lexigraft.training.packing import PackedSequences, token_stream
from lexigraft.training.sap import Sap, SapLoss, pooled_logits, sparse_alignment

OPTIONS = MaskedLmOptions(steps=8, batch_size=4, length=4, learning_rate=1e-2, warmup_steps=1)


def teacher(head: str = "splade", tokenizer=WRITER) -> Encoder:
    model = new_masked_lm("bert", SHAPE, tokenizer, seed=3)
    with torch.no_grad():
        model.get_output_embeddings().bias.normal_(generator=torch.Generator().manual_seed(0))
    return Encoder(model, tokenizer, head, "teacher")  # type: ignore[arg-type]


def test_loss_by_hand() -> None:
    student = torch.tensor([[2.0, -1.0, -3.0, 0.5], [-1.0, -1.0, -1.0, -1.0]], requires_grad=True)
    target = torch.tensor([[1.0, 3.0, -2.0, -0.5], [-2.0, 0.0, -1.0, -5.0]])
    loss = sparse_alignment(student, target)
    # Active in either: entries 0, 1 and 3 of the first text, (1 + 16 + 1) / 3; none of the second.
    torch.testing.assert_close(loss, torch.tensor([6.0, 0.0]))
    loss.sum().backward()
    # 2 (s - t) / 3: a term that only the teacher has pulls the student up through its silence.
    expected = torch.tensor([[2 / 3, -8 / 3, 0.0, 2 / 3], [0.0, 0.0, 0.0, 0.0]])
    torch.testing.assert_close(student.grad, expected)


@pytest.mark.parametrize("tile", [1 << 26, 1])
def test_pooled_logits_by_hand(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sap, "LOGITS_IN_A_TILE", tile)
    hidden = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[-1.0, -1.0], [9.0, 9.0]]])
    weight, bias = torch.tensor([[1.0, 1.0], [-1.0, 0.0]]), torch.tensor([0.5, -1.0])
    mask = torch.tensor([[1, 1], [1, 0]])
    found = pooled_logits(hidden, weight, bias, mask)
    # Text 0: 1.5 and 2.5, -2 and -1. Text 1, whose second position is padding: -1.5 and 0.
    assert found.tolist() == [[2.5, -1.0], [-1.5, 0.0]]


def test_tiles_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, weight = torch.randn(2, 5, 8), torch.randn(200, 8)
    bias, mask = torch.randn(200), torch.ones(2, 5)
    whole = pooled_logits(hidden, weight, bias, mask)
    monkeypatch.setattr(sap, "LOGITS_IN_A_TILE", 1)
    torch.testing.assert_close(pooled_logits(hidden, weight, bias, mask), whole)


def test_the_teacher_reads_the_same_stretch_in_its_own_tokens(tmp_path: Path) -> None:
    task = Sap(READER, WRITER, teacher())
    stream, key = token_stream(TEXTS, READER, tmp_path)
    packed = PackedSequences(stream, 4, cls_id=2, sep_id=3)
    task.prepare(TEXTS, key, tmp_path)
    data = task.sequences(packed, OPTIONS, 3)
    batch = data.__getitems__([0, 1, 2])
    found = {}
    for row, index in enumerate(range(3)):
        real = batch["teacher_ids"][row][batch["teacher_mask"][row] == 1]
        found[data._sequence(index)] = (batch["input_ids"][row].tolist(), real.tolist())
    assert found == {
        0: ([2, 5, 6, 3], [2, 5, 6, 7, 8, 3]),  # collabor ations: co ##lla ##bo ##rations
        1: ([2, 7, 3, 3], [2, 10, 3, 3]),  # End, the end of the text
        2: ([2, 9, 8, 3], [2, 1, 11, 3]),  # Heat of: unknown, of
    }
    assert data.predictions(batch) == 3
    assert data.measure(set()) == {"teacher_tokens_per_sequence": pytest.approx(8 / 3)}


def test_the_student_comes_nearer_and_the_teacher_stays(tmp_path: Path) -> None:
    student, master = head_only(), teacher()
    before = {name: tensor.clone() for name, tensor in student.state_dict().items()}
    kept = {name: tensor.clone() for name, tensor in master.model.state_dict().items()}
    options = MaskedLmOptions(**{**OPTIONS.__dict__, "trains": "head", "steps": 60})
    result = train_masked_lm(
        student, READER, TEXTS, options, tmp_path, task=Sap(READER, WRITER, master)
    )
    assert result.final_loss < 0.5 * result.history[0]["loss"]
    after = student.state_dict()
    moved = {name for name in after if not torch.equal(after[name], before[name])}
    assert moved == {"decoder.weight", "decoder.bias"}
    assert all(torch.equal(kept[name], t) for name, t in master.model.state_dict().items())
    assert not any("teacher" in name for name in SapLoss(student, master.model).state_dict())


def test_small_forward_passes_have_the_same_loss(tmp_path: Path) -> None:
    losses = []
    for micro in (0, 1):
        options = MaskedLmOptions(
            **{**OPTIONS.__dict__, "trains": "head", "micro_batch_size": micro}
        )
        result = train_masked_lm(
            head_only(),
            READER,
            TEXTS,
            options,
            tmp_path / str(micro),
            task=Sap(READER, WRITER, teacher()),
        )
        losses.append([record["loss"] for record in result.history])
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_teachers_that_are_refused() -> None:
    with pytest.raises(LexigraftError, match="teacher: a dense encoder"):
        Sap(READER, WRITER, teacher("dense"))
    with pytest.raises(LexigraftError, match="its 10 terms are not those of the model's output"):
        Sap(READER, WRITER, teacher(tokenizer=READER))
    summed = teacher()
    summed.sparse_pooling = "sum"
    with pytest.raises(LexigraftError, match="teacher: pools by sum"):
        Sap(READER, WRITER, summed)
