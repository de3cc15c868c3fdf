"""What becomes of a logit above zero: its weight in the representation.

    log1p        log(1 + x)                  Formal et al. 2021, "SPLADE", eq. 2
    double_log   log(1 + log(1 + x))         Shen et al. 2025, arXiv 2504.14839

Both leave zero at zero and rise with x, so pooling by maximum may come before them.
"""

from typing import get_args

import torch
from torch import Tensor

from lexigraft.specs.options import Activation


def activate(excess: Tensor, activation: Activation) -> Tensor:
    """Weight of each value, which must be at least 0.

    Raises:
        ValueError: no activation has this name.
    """
    if activation not in get_args(Activation):
        names = " or ".join(get_args(Activation))
        raise ValueError(f"activation is {activation!r}; it must be {names}")
    weight = torch.log1p(excess)
    return torch.log1p(weight) if activation == "double_log" else weight


def activation_gradient(gradient: Tensor, excess: Tensor, activation: Activation) -> Tensor:
    """Gradient of the values that `activate` was given, from the gradient of their weights."""
    once = gradient / (1 + excess)
    return once / (1 + torch.log1p(excess)) if activation == "double_log" else once
