"""Equation 10 worked by hand, and what stands in its place without it."""

import math

import pytest
import torch

from lexigraft.errors import LexigraftError
from lexigraft.transfer import align_bias
from lexigraft.transfer.bias import own_bias
from lexigraft.vocabulary import Overlap


def test_equation_10_by_hand() -> None:
    """Source: mean 3, deviation 2. Target: mean 10, deviation 4. b' = 3 + (b - 10) / 2."""
    source = torch.tensor([1.0, 5.0])
    target = torch.tensor([6.0, 14.0, 6.0, 14.0])
    assert align_bias(source, target).tolist() == [1, 5, 1, 5]
    source = torch.tensor([1.0, 5.0, 1.0, 5.0, 1.0, 5.0])
    target = torch.tensor([4.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 16.0])
    deviation = 2 / math.sqrt(72 / 8)
    expected = [3 - 6 * deviation, *[3.0] * 6, 3 + 6 * deviation]
    torch.testing.assert_close(align_bias(source, target), torch.tensor(expected))


def test_a_target_that_tells_nothing_gives_each_token_the_mean() -> None:
    assert align_bias(torch.tensor([1.0, 3.0]), torch.full((3,), 7.0)).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "bad", [torch.tensor([]), torch.tensor([1.0, torch.inf]), torch.ones(2, 2)]
)
def test_vectors_of_numbers_only(bad: torch.Tensor) -> None:
    with pytest.raises(LexigraftError, match="target bias"):
        align_bias(torch.ones(2), bad)
    with pytest.raises(LexigraftError, match="source bias"):
        align_bias(bad, torch.ones(2))


def test_own_bias_is_copied_and_its_mean_given_to_the_others() -> None:
    ids = {"source_ids": [3, 0], "target_ids": [0, 2], "new_ids": [1, 4]}
    overlap = Overlap(**{k: torch.tensor(v) for k, v in ids.items()}, coverage=0.5)
    bias = own_bias(torch.tensor([1.0, 100.0, 100.0, 4.0]), overlap)
    assert bias.tolist() == [4, 2.5, 1, 2.5, 2.5]
