"""EMLM: masked-language-model training of a head that writes another vocabulary (section 6.3).

Input positions are chosen and corrupted as for any masked language model. What is predicted at a
chosen position are the output tokens that begin there, by first overlap
(`lexigraft.training.alignment`): none, one, or several, each a prediction of its own,

    loss = - 1/P sum_(m,t) log softmax(logits_m)_t          over the P pairs of the step,

so that N output tokens of one input token pull its one distribution N ways: the many-to-one
conflict to which the paper puts EMLM's loss. Unknown output tokens are not predicted.

ESPLADE's task (Dudek et al., 2023), there with a lexicon of whole words as output vocabulary.

Shapes: B sequences, L positions, K output tokens at one position at most, M chosen positions, V
output terms.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import linear, log_softmax
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.training.alignment import Alignment, align
from lexigraft.training.masked_lm import MaskedLmOptions
from lexigraft.training.masked_sequences import SEQUENCES_MEASURED, MaskedSequences
from lexigraft.training.masking import IGNORED
from lexigraft.training.packing import PackedSequences

MEASURED_AT_ONCE = 500


class Emlm:
    """The task of `train_masked_lm` that predicts output tokens."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerFast, output_tokenizer: PreTrainedTokenizerFast
    ) -> None:
        self.tokenizer, self.output_tokenizer = tokenizer, output_tokenizer
        self.folder = Path()

    @property
    def identity(self) -> dict[str, Any]:
        return {"task": "emlm", "alignment": self.folder.name}

    def prepare(self, texts: Iterable[str], key: str, folder: Path) -> None:
        self.folder = align(texts, self.tokenizer, self.output_tokenizer, key, folder)

    def sequences(
        self, packed: PackedSequences, options: MaskedLmOptions, items: int
    ) -> "EmlmSequences":
        unknown = self.output_tokenizer.unk_token_id
        alignment = Alignment.open(self.folder, packed)
        return EmlmSequences(packed, self.tokenizer, options, items, alignment, unknown)

    def loss(self, model: PreTrainedModel) -> nn.Module:
        return EmlmLoss(model)


class EmlmSequences(MaskedSequences):
    """Masked sequences whose labels are the output tokens of the chosen positions."""

    def __init__(
        self,
        packed: PackedSequences,
        tokenizer: PreTrainedTokenizerFast,
        options: MaskedLmOptions,
        items: int,
        alignment: Alignment,
        unknown_id: int | None,
    ) -> None:
        super().__init__(packed, tokenizer, options, (), items)
        self.alignment, self.unknown_id = alignment, unknown_id

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """input_ids (B, L) and labels (B, L, K), IGNORED where nothing (more) is predicted."""
        batch = super().__getitems__(indices)
        chosen_BL = batch["labels"] != IGNORED
        return {"input_ids": batch["input_ids"], "labels": self._labels(indices, chosen_BL)}

    def measure(self, new_ids: set[int]) -> dict[str, float]:
        """Beside the shares of any training: of the chosen positions, those with several labels (in
        conflict) and those with none."""
        parts = []
        # A line of dashes may be one input token and very many output tokens: a part at a time.
        for indices in torch.arange(min(self.items, SEQUENCES_MEASURED)).split(MEASURED_AT_ONCE):
            _, chosen_BL, _ = self._choose(indices.tolist())
            labels_BLK = self._labels(indices.tolist(), chosen_BL)
            parts.append((labels_BLK != IGNORED).sum(2)[chosen_BL])
        labels_M = torch.cat(parts)
        whole = max(1, len(labels_M))
        return {
            **super().measure(new_ids),
            "labels_per_chosen_position": float(labels_M.sum()) / whole,
            "share_with_several_labels": float((labels_M > 1).sum()) / whole,
            "share_without_label": float((labels_M == 0).sum()) / whole,
        }

    def _labels(self, indices: Sequence[int], chosen_BL: Tensor) -> Tensor:
        sequences = [self._sequence(index) for index in indices]
        most = max(1, *(int(self.alignment.counts[sequence].max()) for sequence in sequences))
        labels_BLK = torch.full((*chosen_BL.shape, most), IGNORED)
        for row, sequence in enumerate(sequences):
            ids, places = self.alignment.of(sequence)
            # Output tokens of a position stand together: their rank is how far each is from the
            # first. A sequence begins with [CLS], so places count from 1.
            rank = np.arange(len(places)) - np.searchsorted(places, places)
            labels_BLK[row, places + 1, rank] = torch.from_numpy(ids)
        if self.unknown_id is not None:
            labels_BLK.masked_fill_(labels_BLK == self.unknown_id, IGNORED)
        return labels_BLK.masked_fill(~chosen_BL[:, :, None], IGNORED)


class EmlmLoss(nn.Module):
    """Many-to-one cross-entropy at the chosen positions."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, labels: Tensor, chosen: Tensor) -> Tensor:
        """Summed cross-entropy of this forward pass over `chosen`, the pairs of the step."""
        hidden_BLH = project_states(self.model, input_ids, torch.ones_like(input_ids))
        labels_PK = labels.flatten(0, 1)
        positions_M = (labels_PK != IGNORED).any(1).nonzero().squeeze(1)
        hidden_MH = hidden_BLH.flatten(0, 1).index_select(0, positions_M)
        logits_MV = linear(hidden_MH, *output_projection(self.model))
        return many_to_one_cross_entropy(logits_MV.float(), labels_PK[positions_M]) / chosen


def many_to_one_cross_entropy(logits_MV: Tensor, labels_MK: Tensor) -> Tensor:
    """Sum over all labels t of all positions m of -log softmax(logits_m)_t; IGNORED ones add 0."""
    predicted_MK = labels_MK != IGNORED
    gathered_MK = log_softmax(logits_MV, dim=1).gather(1, labels_MK.clamp_min(0))
    return -gathered_MK.masked_fill(~predicted_MK, 0).sum()
