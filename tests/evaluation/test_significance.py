"""The paired test against enumeration by hand, and Holm's adjustment."""

import itertools

import numpy as np
import pytest

from lexigraft.evaluation import holm, minimum_detectable_difference, paired_test


def test_three_queries_by_hand() -> None:
    """All 8 sign patterns of (1, 1, 1): only +++ and --- reach the difference of 1."""
    assert paired_test([1, 1, 1], [0, 0, 0]) == (1.0, 0.25)


def test_a_macro_average_weighs_sets_equally() -> None:
    """Set x: mean difference 1 over 1 query; set y: mean 0 over 4: macro .5, micro .2."""
    a, b = [1, 0.5, 0.5, 0.5, 0.5], [0, 0, 1, 0, 1]
    difference, p = paired_test(a, b, ["x", "y", "y", "y", "y"])
    assert difference == pytest.approx(0.5)
    weights = np.array([1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8])
    values = weights * (np.array(a) - np.array(b))
    null = [abs(np.dot(signs, values)) for signs in itertools.product((1, -1), repeat=5)]
    assert p == pytest.approx(np.mean(np.array(null) >= 0.5 - 1e-12))


def test_equal_systems_do_not_differ() -> None:
    assert paired_test([0.3, 0.4], [0.3, 0.4]) == (0.0, 1.0)


def test_many_queries_are_sampled_the_same_way_each_time() -> None:
    rng = np.random.default_rng(0)
    a = rng.random(400)
    near, far = a + rng.normal(0, 0.2, 400), a + 0.1 + rng.normal(0, 0.2, 400)
    assert paired_test(a, near) == paired_test(a, near)
    assert paired_test(a, near)[1] > 0.05
    assert 0 < paired_test(a, far)[1] < 0.001


def test_holm_by_hand() -> None:
    """.01 x 4, then max(.04, .02 x 3), then max(.06, .03 x 2), then max(.06, .9)."""
    assert holm([0.9, 0.02, 0.01, 0.03]) == pytest.approx([0.9, 0.06, 0.04, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_minimum_detectable_difference() -> None:
    """Four differences 1, -1, 1, -1: deviation 1.1547, error .57735, times 1.96 + .8416."""
    found = minimum_detectable_difference([1, 0, 1, 0], [0, 1, 0, 1])
    assert found == pytest.approx((1.959964 + 0.841621) * 0.5773503, rel=1e-5)
    # The same queries as two sets of two: var 2 each, error sqrt(2/2 + 2/2) / 2.
    halves = minimum_detectable_difference([1, 0, 1, 0], [0, 1, 0, 1], ["x", "x", "y", "y"])
    assert halves == pytest.approx((1.959964 + 0.841621) * np.sqrt(2) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "sets"),
    [([1], [1, 2], None), ([1, 2], [1, 2], ["x"]), ([], [], None), ([np.nan], [0.0], None)],
)
def test_refusals(a: list[float], b: list[float], sets: list[str] | None) -> None:
    with pytest.raises(ValueError, match=r"pair up|no query|not finite"):
        paired_test(a, b, sets)
