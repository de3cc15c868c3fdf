"""Sparsemax against the simplex projection of Duchi et al. (2008), found there by bisection."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.optimize import brentq

from lexigraft.errors import LexigraftError
from lexigraft.transfer import sparsemax

FIRST, SECOND = 128, 1024
# One wrong score among many others, at the end and in the middle.
LONG = [
    torch.zeros(3, 1001).index_fill(1, torch.tensor([place]), wrong)
    for place in (500, 1000)
    for wrong in (torch.nan, torch.inf, -torch.inf)
]


def project_by_bisection(row: np.ndarray) -> np.ndarray:
    """The threshold is the root of a sum that falls from above 1 to 0; no sorting is involved."""
    excess = lambda tau: np.maximum(row - tau, 0).sum() - 1  # noqa: E731
    tau = brentq(excess, row.max() - 1 - 1e-9, row.max(), xtol=1e-15, rtol=1e-14)
    return np.maximum(row - tau, 0)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, 0.5, 1], [0, 0.25, 0.75]),
        ([3.0, 1.0], [1, 0]),
        ([0.2, 0.2, 0.2, 0.2], [0.25] * 4),
        ([[1.0, 0.0], [0.0, 0.4]], [[1, 0], [0.3, 0.7]]),
        ([-7.0], [1]),
    ],
)
def test_by_hand(scores: list, expected: list) -> None:
    torch.testing.assert_close(sparsemax(torch.tensor(scores)), torch.tensor(expected).float())


def test_a_list_will_do() -> None:
    assert sparsemax([0, 0.5, 1]).tolist() == [0, 0.25, 0.75]


finite = st.floats(-30, 30, allow_subnormal=False)


@settings(max_examples=150, deadline=None)
@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=finite))
def test_as_bisection_finds_it(scores: np.ndarray) -> None:
    expected = np.stack([project_by_bisection(row) for row in scores])
    np.testing.assert_allclose(sparsemax(torch.tensor(scores)).numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("support", [3, FIRST - 1, FIRST, FIRST + 1, SECOND, SECOND + 1, 3000])
def test_a_support_beyond_what_is_sorted_first(support: int) -> None:
    """Rows with a support of about so many among 5,000 scores, beside a row with a single one."""
    generator = np.random.default_rng(support)
    wide = np.where(np.arange(5000) < support, generator.uniform(0, 1 / support, 5000), -3.0)
    scores = np.stack([generator.permutation(wide), np.eye(1, 5000)[0] * 9])
    expected = np.stack([project_by_bisection(row) for row in scores])
    found = sparsemax(torch.tensor(scores))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-9)
    assert int((found[0] > 0).sum()) == (expected[0] > 0).sum()


def test_all_equal_scores_share_the_mass() -> None:
    torch.testing.assert_close(sparsemax(torch.zeros(2, 2000)), torch.full((2, 2000), 1 / 2000))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_and_returned_in_float32(dtype: torch.dtype) -> None:
    scores = torch.rand(4, 1000, generator=torch.Generator().manual_seed(0)).to(dtype)
    found = sparsemax(scores)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.sum(1), torch.ones(4))
    torch.testing.assert_close(found, sparsemax(scores.double()).float(), rtol=0, atol=1e-6)


def test_gradient() -> None:
    scores = torch.tensor([[0.4, -0.2, 0.9, 0.1]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(sparsemax, (scores,))


@pytest.mark.parametrize(
    "scores", [torch.zeros(2, 0), torch.tensor(1.0), torch.tensor([1, torch.nan]), *LONG]
)
def test_no_row_or_no_number_is_refused(scores: torch.Tensor) -> None:
    with pytest.raises(LexigraftError, match="sparsemax"):
        sparsemax(scores)
