"""Overlap-aware masking, on sequences that can be worked out by hand."""

import pytest
import torch

from lexigraft.errors import LexigraftError
from lexigraft.training.masking import (
    check_corruption,
    corrupt,
    masking_probabilities,
    token_weights,
)


def test_weights_of_new_tokens() -> None:
    assert token_weights(5, [3, 1], 2.0).tolist() == [1, 2, 1, 2, 1]


@pytest.mark.parametrize(("ids", "weight"), [([5], 2.0), ([-1], 2.0), ([1], 0.0), ([1], -1.0)])
def test_weights_that_are_refused(ids: list[int], weight: float) -> None:
    with pytest.raises(LexigraftError):
        token_weights(5, ids, weight)


def test_probabilities_are_proportional_and_keep_the_rate() -> None:
    weight = torch.tensor([[9.0, 1.0, 1.0, 2.0, 9.0]])
    maskable = torch.tensor([[False, True, True, True, False]])
    # 0.3 of three positions is 0.9 expected choices over weights 1 + 1 + 2: 0.225 a unit.
    expected = [0, 0.225, 0.225, 0.45, 0]
    assert masking_probabilities(weight, maskable, 0.3)[0].tolist() == pytest.approx(expected)


def test_certain_positions_leave_the_rest_to_the_others() -> None:
    # 0.5 of three is 1.5; 1.5 / 12 * 10 would be 1.25, so 1 for that one and 0.25 for the others.
    probability = masking_probabilities(
        torch.tensor([[1.0, 1.0, 10.0]]), torch.ones(1, 3, dtype=torch.bool), 0.5
    )
    assert probability[0].tolist() == pytest.approx([0.25, 0.25, 1.0])


def test_clipping_can_cascade() -> None:
    # 0.8 of four is 3.2. Weights 1, 2, 6, 91: 91 passes 1, then 2.2 / 9 * 6 = 1.47 does,
    # then 1.2 / 3 = 0.4 a unit.
    probability = masking_probabilities(
        torch.tensor([[1.0, 2.0, 6.0, 91.0]]), torch.ones(1, 4, dtype=torch.bool), 0.8
    )
    assert probability[0].tolist() == pytest.approx([0.4, 0.8, 1.0, 1.0])


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_none_and_all(rate: float) -> None:
    maskable = torch.tensor([[True, True, False]])
    found = masking_probabilities(torch.tensor([[1.0, 2.0, 1.0]]), maskable, rate)
    assert found[0].tolist() == pytest.approx([rate, rate, 0])


def test_sequences_do_not_see_each_other() -> None:
    weight = torch.tensor([[1.0, 1.0, 10.0], [1.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    maskable = torch.tensor([[True] * 3, [True, True, False], [False] * 3])
    together = masking_probabilities(weight, maskable, 0.5)
    alone = [masking_probabilities(weight[i, None], maskable[i, None], 0.5)[0] for i in range(3)]
    assert together.tolist() == torch.stack(alone).tolist()
    assert together[2].tolist() == [0, 0, 0]


def test_rate_out_of_range() -> None:
    with pytest.raises(LexigraftError, match=r"mask_probability: 1\.2"):
        masking_probabilities(torch.ones(1, 2), torch.ones(1, 2, dtype=torch.bool), 1.2)


def test_fates_and_replacements() -> None:
    ids = torch.tensor([[10, 11, 12, 13, 14]])
    chosen = torch.tensor([[True, True, True, False, True]])
    fate = torch.tensor([[0.79, 0.85, 0.95, 0.1, 0.81]])
    replacement = torch.tensor([[0.0, 0.5, 0.0, 0.0, 0.99999999]])
    found = corrupt(
        ids,
        chosen,
        fate,
        replacement,
        mask_id=4,
        replacement_ids_R=torch.tensor([20, 21, 22, 23]),
        corruption=(0.8, 0.1, 0.1),
    )
    assert found.tolist() == [[4, 22, 12, 13, 23]]


def test_shares_of_corruption() -> None:
    generator = torch.Generator().manual_seed(0)
    shape = (100, 1000)
    ids = torch.full(shape, 7)
    found = corrupt(
        ids,
        torch.ones(shape, dtype=torch.bool),
        torch.rand(shape, generator=generator),
        torch.rand(shape, generator=generator),
        mask_id=4,
        replacement_ids_R=torch.tensor([8, 9]),
        corruption=(0.8, 0.1, 0.1),
    )
    shares = [(found == value).float().mean().item() for value in (4, 8, 9, 7)]
    assert shares == pytest.approx([0.8, 0.05, 0.05, 0.1], abs=0.005)


@pytest.mark.parametrize("shares", [(0.8, 0.1), (0.8, 0.3, -0.1), (0.8, 0.1, 0.2)])
def test_corruption_that_is_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(LexigraftError, match="corruption"):
        check_corruption(shares)
