"""SAP: sparse alignment pre-training, the vectors of a sparse teacher distilled (section 6.3).

Student and teacher read the same stretch of text, each in its own tokens, and are compared before
the saturation: by the largest logit of each output term over the positions,

    s_v = max_l (h_l . W_v + b_v),    loss = mean_b mean_(v in U_b) (s_bv - t_bv)^2,
    U_b = {v : s_bv > 0 or t_bv > 0},

over terms that either of them activates: all others would drown them. This is the loss of MILCO
(Nguyen et al., 2025), which pools the terms of a batch; here each text has its own mean, so that
neither the size of a forward pass nor the number of processes changes the loss.

Shapes: B texts, L positions of the student, T of the teacher, H hidden, V output terms.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.encoders.encoder import Encoder
from lexigraft.encoders.saving import longest_input
from lexigraft.errors import LexigraftError
from lexigraft.training.alignment import Alignment, align
from lexigraft.training.masked_lm import MaskedLmOptions, weights_hash
from lexigraft.training.masked_sequences import MaskedSequences, special_id
from lexigraft.training.packing import PackedSequences

LOGITS_IN_A_TILE = 1 << 26
"""Logits held at once, forward and backward: 256 MiB in float32."""


class Sap:
    """The task of `train_masked_lm` that distils a sparse teacher; nothing is masked.

    Raises:
        LexigraftError: the teacher is no max-pooled sparse encoder of the student's output
            vocabulary.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        output_tokenizer: PreTrainedTokenizerFast,
        teacher: Encoder,
    ) -> None:
        if teacher.head != "splade":
            raise LexigraftError(f"{teacher.name}: a dense encoder; sap needs a sparse teacher")
        if teacher.sparse_pooling != "max":
            raise LexigraftError(
                f"{teacher.name}: pools by {teacher.sparse_pooling}; sap compares the largest "
                "logits, so it needs a max-pooled teacher"
            )
        if teacher.term_tokenizer.get_vocab() != output_tokenizer.get_vocab():
            raise LexigraftError(
                f"{teacher.name}: its {teacher.dimensions} terms are not those of the model's "
                "output vocabulary; sap needs a teacher with the same vocabulary"
            )
        self.tokenizer, self.teacher, self.folder = tokenizer, teacher, Path()

    @property
    def identity(self) -> dict[str, Any]:
        teacher = weights_hash(self.teacher.model)
        return {"task": "sap", "alignment": self.folder.name, "teacher": teacher}

    def prepare(self, texts: Iterable[str], key: str, folder: Path) -> None:
        self.folder = align(texts, self.tokenizer, self.teacher.tokenizer, key, folder)

    def sequences(
        self, packed: PackedSequences, options: MaskedLmOptions, items: int
    ) -> "SapSequences":
        alignment = Alignment.open(self.folder, packed)
        return SapSequences(packed, self.tokenizer, options, items, alignment, self.teacher)

    def loss(self, model: PreTrainedModel) -> nn.Module:
        return SapLoss(model, self.teacher.model)


class SapSequences(MaskedSequences):
    """Packed sequences, uncorrupted, and the teacher's tokens of the same stretch of text."""

    def __init__(
        self,
        packed: PackedSequences,
        tokenizer: PreTrainedTokenizerFast,
        options: MaskedLmOptions,
        items: int,
        alignment: Alignment,
        teacher: Encoder,
    ) -> None:
        super().__init__(packed, tokenizer, options, (), items)
        self.alignment = alignment
        self.cls_id, self.sep_id, self.pad_id = (
            special_id(teacher.tokenizer, role) for role in ("cls", "sep", "pad")
        )
        self.longest = longest_input(teacher.model)

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """input_ids (B, L); teacher_ids and teacher_mask (B, T), cut where the teacher ends."""
        sequences = [self._sequence(index) for index in indices]
        own = [self.alignment.of(sequence)[0][: self.longest - 2] for sequence in sequences]
        length = max(len(ids) for ids in own) + 2
        ids_BT = torch.full((len(own), length), self.pad_id)
        mask_BT = torch.zeros_like(ids_BT)
        for row, ids in enumerate(own):
            stretch = torch.tensor([self.cls_id, *ids.tolist(), self.sep_id])
            ids_BT[row, : len(stretch)], mask_BT[row, : len(stretch)] = stretch, 1
        return {
            "input_ids": self.packed.rows(sequences),
            "teacher_ids": ids_BT,
            "teacher_mask": mask_BT,
        }

    @staticmethod
    def predictions(batch: dict[str, Tensor]) -> Tensor:
        """How many texts a batch has."""
        return torch.tensor(len(batch["input_ids"]), device=batch["input_ids"].device)

    def measure(self, new_ids: set[int]) -> dict[str, float]:
        """Tokens that the teacher reads of one sequence, on average over the text."""
        starts = self.alignment.starts
        return {"teacher_tokens_per_sequence": float(starts[-1]) / (len(starts) - 1)}


class SapLoss(nn.Module):
    """Squared difference of pooled logits, student to teacher; the teacher is no part of the module
    and so neither trained nor saved."""

    def __init__(self, model: PreTrainedModel, teacher: PreTrainedModel) -> None:
        super().__init__()
        self.model = model
        self._teacher = [teacher.eval()]

    def forward(
        self, input_ids: Tensor, teacher_ids: Tensor, teacher_mask: Tensor, chosen: Tensor
    ) -> Tensor:
        """Sum over the texts of this forward pass, over `chosen`, the texts of the step."""
        (teacher,) = self._teacher
        with torch.no_grad():
            teacher_BV = _pooled(teacher.to(input_ids.device), teacher_ids, teacher_mask)
        student_BV = _pooled(self.model, input_ids, torch.ones_like(input_ids))
        return sparse_alignment(student_BV.float(), teacher_BV.float()).sum() / chosen


def sparse_alignment(student_BV: Tensor, teacher_BV: Tensor) -> Tensor:
    """(B,) mean squared difference of pooled logits over the terms that either has above zero; 0
    for a text without any."""
    active_BV = (student_BV > 0) | (teacher_BV > 0)
    squared_BV = (student_BV - teacher_BV).square().masked_fill(~active_BV, 0)
    return squared_BV.sum(1) / active_BV.sum(1).clamp_min(1)


def pooled_logits(
    hidden_BLH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, mask_BL: Tensor
) -> Tensor:
    """Largest logit of each term over the real positions, (B, V), before any ReLU, tile by tile."""
    padding_BL1 = (mask_BL == 0)[:, :, None]
    tile = max(64, LOGITS_IN_A_TILE // max(1, mask_BL.numel()))
    parts = []
    for start in range(0, len(weight_VH), tile):
        own = slice(start, start + tile)
        logits_BLT = linear(hidden_BLH, weight_VH[own], None if bias_V is None else bias_V[own])
        parts.append(logits_BLT.masked_fill(padding_BL1, -torch.inf).max(dim=1).values)
    return torch.cat(parts, dim=1)


def _pooled(model: PreTrainedModel, ids_BL: Tensor, mask_BL: Tensor) -> Tensor:
    hidden_BLH = project_states(model, ids_BL, mask_BL)
    return pooled_logits(hidden_BLH, *output_projection(model), mask_BL)
