"""A comparison measured: results checked, then calls in turns, and the ratios of each pair."""

import logging
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lexigraft.bench.agreement import largest_difference, missed_share
from lexigraft.bench.comparison import SIDES, Comparison, SideName, Sizes, Target
from lexigraft.bench.memory import Peak
from lexigraft.bench.sides import Side, both_sides
from lexigraft.progress import track

log = logging.getLogger(__name__)
LEAST_EXTRA = 1 << 20
"""Bytes that any call is taken to need beyond what its process held."""


@dataclass(frozen=True)
class Measured:
    """What was measured of a comparison."""

    comparison: Comparison
    sizes: Sizes
    difference: float
    """Largest difference of the results, as a share of the largest value; or 1 - recall."""
    seconds: dict[SideName, list[float]]
    """Wall time of each call; call i of one side and of the other are a pair."""
    memory: dict[SideName, Peak]

    @property
    def target(self) -> Target:
        """What was to be reached; nothing at other sizes than full."""
        return self.comparison.target if self.sizes == "full" else Target()

    @property
    def ratios(self) -> list[float]:
        """Peer's time over ours, for each pair."""
        return [
            peer / ours
            for ours, peer in zip(self.seconds["ours"], self.seconds["peer"], strict=True)
        ]

    @property
    def ratio(self) -> float:
        """The median of `ratios`: above 1 where ours is faster."""
        return median(self.ratios)

    @property
    def memory_ratio(self) -> float:
        """Our peak extra memory over the peer's: below 1 where ours needs less.

        Less than LEAST_EXTRA counts as so much: a call may be served from what is there already.
        """
        ours, peer = (max(LEAST_EXTRA, self.memory[side].extra) for side in SIDES)
        return ours / peer

    @property
    def agreement(self) -> str:
        """How far the results agree, as it is printed."""
        if self.comparison.agreement == "recall":
            return f"recall {1 - self.difference:.1%}".replace("%", " %")
        return f"{self.difference:.1e}"

    def median_seconds(self, side: SideName) -> float:
        """Wall time of a call of a side."""
        return median(self.seconds[side])


def measure(comparison: Comparison, sizes: Sizes, pairs: int, threads: int) -> Measured:
    """Run a comparison: two calls of each side to warm up, then `pairs` timed ones in turns.

    The first call's results are compared, the second one's memory is measured. Which side goes
    first changes from pair to pair, so that a drift of the machine favours neither.

    Raises:
        LexigraftError: the results differ, or a side cannot run.
    """
    log.info(
        "%s: %s; both sides start and are checked", comparison.name, comparison.describe(sizes)
    )
    with tempfile.TemporaryDirectory(prefix="lexigraft-bench-") as folder:
        scratch = Path(folder)
        with both_sides(comparison, sizes, threads, scratch) as sides:
            difference = _checked(comparison, sides, scratch)
            memory = {side: Peak(**sides[side].ask("memory")) for side in SIDES}
            seconds: dict[SideName, list[float]] = {side: [] for side in SIDES}
            for pair in track(range(pairs), comparison.name, unit="pairs"):
                for side in SIDES if pair % 2 == 0 else reversed(SIDES):
                    seconds[side].append(sides[side].ask("time")["seconds"])
    return Measured(comparison, sizes, difference, seconds, memory)


def _checked(comparison: Comparison, sides: Mapping[SideName, Side], scratch: Path) -> float:
    """Call each side once; the largest difference of their results."""
    ours, peer = (scratch / side for side in SIDES)
    for side in SIDES:
        sides[side].ask("check", str(scratch / side))
    compare = {"difference": largest_difference, "recall": missed_share}[comparison.agreement]
    difference = compare(comparison.name, ours, peer, comparison.tolerance)
    for folder in (ours, peer):
        shutil.rmtree(folder)
    return difference
