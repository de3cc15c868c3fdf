import pytest

from lexigraft.training.schedules import quadratic_ramp


@pytest.mark.parametrize(
    ("step", "expected"), [(1, 0.0008), (5, 0.02), (10, 0.08), (11, 0.08), (1000, 0.08)]
)
def test_ramp_by_hand(step, expected) -> None:
    assert quadratic_ramp(step, 0.08, 10) == pytest.approx(expected)


def test_no_ramp_is_the_full_weight_at_once() -> None:
    assert quadratic_ramp(1, 0.3, 0) == 0.3
