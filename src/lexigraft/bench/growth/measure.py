"""A curve measured: a process for each value, its memory, and the time of several calls."""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from lexigraft.bench.comparison import Sizes
from lexigraft.bench.growth.curve import Curve, exponent
from lexigraft.bench.memory import Peak
from lexigraft.bench.sides import worker
from lexigraft.progress import track

MIB = 2**20
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Point:
    """What was measured at one value."""

    value: int
    seconds: Sequence[float]
    """Wall time of each call."""
    memory: Peak | None
    """None where it would mean nothing."""

    @property
    def median_seconds(self) -> float:
        """Wall time of a call."""
        return median(self.seconds)


@dataclass(frozen=True)
class Grown:
    """What was measured of a curve."""

    curve: Curve
    sizes: Sizes
    points: Sequence[Point]

    @property
    def values(self) -> list[int]:
        """Of the argument that grows."""
        return [point.value for point in self.points]

    @property
    def seconds(self) -> list[float]:
        """Median wall time at each value."""
        return [point.median_seconds for point in self.points]

    @property
    def mebibytes(self) -> list[float]:
        """Peak extra memory at each value; less than one counts as one. Empty if not measured."""
        peaks = [point.memory for point in self.points if point.memory is not None]
        return [max(1.0, peak.extra / MIB) for peak in peaks]

    def exponents(self, measured: Sequence[float]) -> tuple[float, float]:
        """Of the growth over all values, and from the last value but one to the last."""
        return exponent(self.values, measured), exponent(self.values[-2:], measured[-2:])


def measure_growth(curve: Curve, sizes: Sizes, calls: int, threads: int) -> Grown:
    """Two calls at each value for warm-up and memory, then `calls` timed ones.

    Raises:
        LexigraftError: a process cannot run.
    """
    log.info("%s: %s", curve.name, curve.describe(sizes))
    points = []
    for value in track(curve.values[sizes], curve.name, unit="sizes"):
        with tempfile.TemporaryDirectory(prefix="lexigraft-bench-") as folder:
            words = [curve.name, sizes, str(value)]
            label = f"{curve.name}, {curve.label} {value:,}"
            module = "lexigraft.bench.growth.worker"
            with worker(module, words, label, threads, Path(folder)) as process:
                process.ask("time")
                memory = Peak(**process.ask("memory")) if curve.with_memory else None
                seconds = [process.ask("time")["seconds"] for _ in range(calls)]
        points.append(Point(value, seconds, memory))
    return Grown(curve, sizes, points)
