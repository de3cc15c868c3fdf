"""Training data of masked language models, in which every item can be made again alone.

Item i of a training (its sequence, its masks, its corruption) depends on the seed and on i, not on
what was drawn before it: a training that is resumed goes on with the same batches by counting.

Shapes: B sequences, L positions, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.training.masking import (
    IGNORED,
    check_corruption,
    corrupt,
    masking_probabilities,
    token_weights,
)
from lexigraft.training.packing import PackedSequences

SEQUENCES_MEASURED = 10_000


class MaskingOptions(Protocol):
    """What decides which positions are predicted and from what."""

    @property
    def mask_probability(self) -> float: ...
    @property
    def corruption(self) -> tuple[float, ...]: ...
    @property
    def new_token_weight(self) -> float: ...
    @property
    def seed(self) -> int: ...


class MaskedSequences(Dataset[Any]):
    """Item i of a training: its sequence, its masks and its corruption depend on (seed, i) alone.

    Each pass over the text is a permutation of its sequences.
    """

    def __init__(
        self,
        packed: PackedSequences,
        tokenizer: PreTrainedTokenizerFast,
        options: MaskingOptions,
        new_ids: Sequence[int],
        items: int,
    ):
        check_corruption(options.corruption)
        self.packed, self.options, self.items = packed, options, items
        self.mask_id = special_id(tokenizer, "mask")
        ids = torch.tensor(sorted(tokenizer.get_vocab().values()))
        self.weight_V = token_weights(int(ids[-1]) + 1, new_ids, options.new_token_weight)
        # Ids without a token are never chosen and never replace one, as special tokens are not.
        self.special_V = torch.ones(len(self.weight_V), dtype=torch.bool)
        self.special_V[ids] = False
        self.special_V[torch.tensor(tokenizer.all_special_ids)] = True
        self.ordinary_ids = (~self.special_V).nonzero().squeeze(1)
        self._orders: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        return self.items

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {name: values[0] for name, values in self.__getitems__([index]).items()}

    def __getitems__(self, indices: Sequence[int]) -> dict[str, Tensor]:
        """input_ids and labels (IGNORED where nothing is predicted), both B x L."""
        ids_BL, chosen_BL, uniform_3BL = self._choose(indices)
        input_BL = corrupt(
            ids_BL,
            chosen_BL,
            uniform_3BL[1],
            uniform_3BL[2],
            mask_id=self.mask_id,
            replacement_ids_R=self.ordinary_ids,
            corruption=self.options.corruption,
        )
        return {"input_ids": input_BL, "labels": ids_BL.masked_fill(~chosen_BL, IGNORED)}

    @staticmethod
    def predictions(batch: dict[str, Tensor]) -> Tensor:
        """How many labels a batch has."""
        return (batch["labels"] != IGNORED).sum()

    def measure(self, new_ids: set[int]) -> dict[str, float]:
        """Shares over the first sequences: positions chosen, and new tokens in text and choice."""
        new_V = torch.zeros_like(self.special_V)
        new_V[torch.tensor(sorted(new_ids), dtype=torch.long)] = True
        first = range(min(self.items, SEQUENCES_MEASURED))
        ids_BL, chosen_BL, _ = self._choose(first)
        ordinary_BL = ~self.special_V[ids_BL]
        counts = {
            "masked_share": (chosen_BL.sum(), ordinary_BL.sum()),
            "new_share_of_text": ((new_V[ids_BL] & ordinary_BL).sum(), ordinary_BL.sum()),
            "new_share_of_masked": ((new_V[ids_BL] & chosen_BL).sum(), chosen_BL.sum()),
        }
        return {name: float(part / whole.clamp_min(1)) for name, (part, whole) in counts.items()}

    def _choose(self, indices: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        ids_BL = self.packed.rows([self._sequence(index) for index in indices])
        uniform_3BL = self._uniform(indices, ids_BL.shape[1])
        probability_BL = masking_probabilities(
            self.weight_V[ids_BL], ~self.special_V[ids_BL], self.options.mask_probability
        )
        return ids_BL, uniform_3BL[0] < probability_BL, uniform_3BL

    def _uniform(self, indices: Sequence[int], length: int) -> Tensor:
        seed = self.options.seed
        drawn = [_generator(seed, index).random((3, length), dtype=np.float32) for index in indices]
        return torch.from_numpy(np.stack(drawn, axis=1))

    def _sequence(self, index: int) -> int:
        number, place = divmod(index, len(self.packed))
        if number not in self._orders:
            # A batch spans two passes at most, unless it is larger than the text.
            self._orders = {n: o for n, o in self._orders.items() if n == number - 1}
            generator = _generator(self.options.seed, number, stream=1)
            self._orders[number] = generator.permutation(len(self.packed))
        return int(self._orders[number][place])


def _generator(seed: int, number: int, stream: int = 0) -> np.random.Generator:
    """A counter-based generator of its own for each number: no state to carry over a resume."""
    return np.random.Generator(np.random.Philox(key=[seed, number], counter=[0, 0, 0, stream]))


def special_id(tokenizer: PreTrainedTokenizerFast, role: str) -> int:
    """Id of the cls, sep, mask or pad token.

    Raises:
        LexigraftError: the tokenizer has none.
    """
    found = getattr(tokenizer, f"{role}_token_id")
    if found is None:
        raise LexigraftError(
            f"{tokenizer.name_or_path or 'tokenizer'}: no {role} token, which masked-language-"
            "model training needs"
        )
    return int(found)
