"""Overlap-aware masking (Vocabulary Transfer, section 4.2.3) as pure functions of tensors.

A position that holds token t is chosen with probability proportional to omega_t: 1 for a token
that both vocabularies share, lambda for a new one. Within each sequence the probabilities are
scaled so that the expected share of chosen positions stays the given rate, which makes them a
function of that sequence alone: batch size and order change nothing. The paper does not say how
its 0.3 and its weights combine; this reading keeps the number of predictions equal for every
lambda, so that a sweep over lambda compares like with like.

Shapes: B sequences, L positions, V tokens, R tokens that may replace one at random.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from lexigraft.errors import LexigraftError

IGNORED = -100
"""Label of a position that is not predicted (the convention of `cross_entropy`)."""


def token_weights(vocabulary_size: int, new_ids: Sequence[int], new_token_weight: float) -> Tensor:
    """omega_V: 1 for each token, `new_token_weight` (lambda) for the new ones.

    Raises:
        LexigraftError: lambda is not above 0, or an id lies outside the vocabulary.
    """
    if not new_token_weight > 0:
        raise LexigraftError(f"new_token_weight: {new_token_weight} found, above 0 is needed")
    weight_V = torch.ones(vocabulary_size)
    ids = torch.tensor(list(new_ids), dtype=torch.long)
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < vocabulary_size:
        raise LexigraftError(
            f"new tokens: ids {int(ids.min())} to {int(ids.max())} found, the vocabulary has "
            f"{vocabulary_size} entries"
        )
    weight_V[ids] = new_token_weight
    return weight_V


def masking_probabilities(weight_BL: Tensor, maskable_BL: Tensor, rate: float) -> Tensor:
    """probability_BL: min(1, c * weight) where maskable, else 0, with c chosen for each sequence.

    c is such that a sequence's probabilities sum to `rate` times its maskable positions. Where
    c * weight would pass 1, that position is chosen for certain and the others share the rest.

    Raises:
        LexigraftError: the rate is not in [0, 1].
    """
    if not 0 <= rate <= 1:
        raise LexigraftError(f"mask_probability: {rate} found, 0 to 1 is allowed")
    free_BL = maskable_BL
    certain_BL = torch.zeros_like(maskable_BL)
    wanted_B = rate * maskable_BL.sum(1)
    while True:
        total_B = (weight_BL * free_BL).sum(1).clamp_min(torch.finfo(weight_BL.dtype).tiny)
        scale_B = (wanted_B - certain_BL.sum(1)) / total_B
        probability_BL = torch.where(free_BL, scale_B[:, None] * weight_BL, certain_BL.float())
        over_BL = free_BL & (probability_BL > 1)
        if not over_BL.any():
            return probability_BL
        certain_BL = certain_BL | over_BL
        free_BL = free_BL & ~over_BL


def corrupt(
    ids_BL: Tensor,
    chosen_BL: Tensor,
    fate_BL: Tensor,
    replacement_BL: Tensor,
    *,
    mask_id: int,
    replacement_ids_R: Tensor,
    corruption: Sequence[float],
) -> Tensor:
    """The input: chosen positions become [MASK], a random token, or stay as they are.

    Args:
        fate_BL: uniform numbers in [0, 1) that decide which of the three, by the shares in
            `corruption` (BERT's are 0.8, 0.1, 0.1).
        replacement_BL: uniform numbers in [0, 1) that pick the random token among
            `replacement_ids_R`.
    """
    to_mask, to_random, _ = corruption
    picked_BL = (replacement_BL * len(replacement_ids_R)).long()
    # A float32 just below 1 times a large count can round up to the count.
    random_BL = replacement_ids_R[picked_BL.clamp_max(len(replacement_ids_R) - 1)]
    masked_BL = chosen_BL & (fate_BL < to_mask)
    replaced_BL = chosen_BL & ~masked_BL & (fate_BL < to_mask + to_random)
    return torch.where(replaced_BL, random_BL, ids_BL).masked_fill(masked_BL, mask_id)


def check_corruption(corruption: Sequence[float]) -> None:
    """Raise a LexigraftError unless these are three shares that sum to 1."""
    if len(corruption) != 3 or min(corruption) < 0 or abs(sum(corruption) - 1) > 1e-6:
        raise LexigraftError(
            f"corruption: {list(corruption)} found, three shares that sum to 1 are needed "
            "([MASK], random token, unchanged)"
        )
