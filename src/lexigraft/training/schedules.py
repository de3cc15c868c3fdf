"""Schedules of regulariser weights."""


def quadratic_ramp(step: int, weight: float, ramp_steps: int) -> float:
    """Weight of a regulariser at an optimiser step: `weight * min(1, step / ramp_steps)^2`.

    It lets a model first learn to rank and then to be sparse.

    Source: Paria et al. 2020, as used by Formal et al. 2021, "SPLADE". naver/splade counts the
    first optimiser step as 1, as we do.

    Args:
        step: optimiser step, from 1.
        weight: value at the end of the ramp and after it.
        ramp_steps: length of the ramp; 0 for the full weight from the start.
    """
    if step >= ramp_steps:
        return weight
    return weight * (step / ramp_steps) ** 2
