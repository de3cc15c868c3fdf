"""What grows: one argument of a piece of work over several sizes, and the exponent of the growth.

To add a curve: an entry in `lexigraft.bench.growth.curves`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lexigraft.bench.comparison import Prepare, Sizes, Work


@dataclass(frozen=True)
class Curve:
    """Work of ours at several values of one argument."""

    name: str
    title: str
    """May name the arguments that stay, such as {width}."""
    axis: str
    """The argument that grows."""
    label: str
    """What it is, for people."""
    prepare: Prepare
    fixed: Mapping[Sizes, Mapping[str, int]]
    """The arguments that stay."""
    values: Mapping[Sizes, tuple[int, ...]]
    """Of the argument that grows, in rising order, three or more."""
    with_memory: bool = True
    """Whether peak memory means something: not where another process does the work, nor for small
    Python objects, whose memory their allocator keeps from an earlier call."""

    def describe(self, sizes: Sizes) -> str:
        """The title, with the arguments that stay."""
        return self.title.format(**self.fixed[sizes])

    def work(self, sizes: Sizes, value: int) -> Work:
        """The work at one value."""
        return self.prepare(**self.fixed[sizes], **{self.axis: value})


def exponent(values: Sequence[float], measured: Sequence[float]) -> float:
    """The least-squares slope of log(measured) over log(value): 1 is linear, 2 quadratic, 0 flat.

    Raises:
        ValueError: fewer than two values, or one that is not above 0.
    """
    if len(values) < 2 or min(*values, *measured) <= 0:
        raise ValueError("two or more values above 0 are needed")
    x, y = np.log(values), np.log(measured)
    x = x - x.mean()
    return float((x * (y - y.mean())).sum() / (x * x).sum())
