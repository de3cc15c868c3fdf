"""Measured values made by hand."""

from typing import Any

from lexigraft.bench.comparison import Comparison, Sizes, Target, Work
from lexigraft.bench.measure import Measured
from lexigraft.bench.memory import Peak


def nothing(**size: int) -> Work:
    return Work(lambda: None, lambda _: {})


def by_hand(sizes: Sizes = "full", name: str = "one", **target: Any) -> Measured:
    """Ratios 4, 2, 3 (each pair's own, not those of the medians); memory 10 MB against 40 MB."""
    comparison = Comparison(
        name=name,
        title="a thing of {items:,} items",
        peer="a|peer",
        ours=nothing,
        theirs=nothing,
        sizes={"full": {"items": 5_000}, "small": {"items": 5}},
        tolerance=1e-4,
        target=Target(**target),
    )
    return Measured(
        comparison,
        sizes,
        difference=2e-7,
        seconds={"ours": [1.0, 3.0, 2.0], "peer": [4.0, 6.0, 6.0]},
        memory={"ours": Peak(10**7, 10**9), "peer": Peak(4 * 10**7, 2 * 10**9)},
    )
