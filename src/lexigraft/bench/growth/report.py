"""What was measured of growth, as CSV (every call) and Markdown (exponents and medians)."""

import csv
import io
from collections.abc import Mapping, Sequence

from lexigraft.bench.growth.measure import MIB, Grown
from lexigraft.report.markdown import aligned, escape

FIELDS = (
    "curve",
    "sizes",
    "axis",
    "value",
    "seconds",
    "extra_bytes",
    "total_bytes",
    "all_seconds",
)


def csv_text(grown: Sequence[Grown]) -> str:
    """One line a value; seconds are the median, and every call's in their order."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for one in grown:
        for point in one.points:
            writer.writerow(
                {
                    "curve": one.curve.name,
                    "sizes": one.sizes,
                    "axis": one.curve.axis,
                    "value": point.value,
                    "seconds": f"{point.median_seconds:.6g}",
                    "extra_bytes": "" if point.memory is None else point.memory.extra,
                    "total_bytes": "" if point.memory is None else point.memory.total,
                    "all_seconds": " ".join(f"{seconds:.6g}" for seconds in point.seconds),
                }
            )
    return stream.getvalue()


def markdown_text(grown: Sequence[Grown], facts: Mapping[str, str]) -> str:
    """The table of exponents, that of absolute values, and the machine."""
    calls = len(grown[0].points[0].seconds)
    small = (
        ""
        if grown[0].sizes == "full"
        else "\n**Small sizes: for tests of the benchmark itself; they say nothing.**\n"
    )
    machine = [["Machine", ""], *([name, escape(value)] for name, value in facts.items())]
    return f"""# Growth

The exponent of time and of memory: the least-squares slope, in logarithms, over all sizes, and the
slope from the last size but one to the last, where what does not grow weighs least. 1 is linear, 2
quadratic, 0 flat. Time is the median of {calls} calls. Memory is the most that one call holds
beyond what its process held before; less than 1 MiB counts as 1.
{small}
{aligned(_exponents(grown), right=range(2, 6))}

{aligned(_absolute(grown), right=range(1, 4))}

{aligned(machine, right=range(0))}
"""


def _exponents(grown: Sequence[Grown]) -> list[list[str]]:
    lines = [["What", "grows with", "Time", "at the end", "Memory", "at the end"]]
    for one in grown:
        slopes = [*one.exponents(one.seconds)]
        slopes += one.exponents(one.mebibytes) if one.mebibytes else []
        shown = [f"{slope:.2f}" for slope in slopes] + ["–"] * (4 - len(slopes))
        shown[0], shown[2] = f"**{shown[0]}**", f"**{shown[2]}**" if one.mebibytes else "–"
        described = f"`{one.curve.name}` {escape(one.curve.describe(one.sizes))}"
        lines.append([described, one.curve.label, *shown])
    return lines


def _absolute(grown: Sequence[Grown]) -> list[list[str]]:
    lines = [["Curve", "size", "s", "MiB"]]
    for one in grown:
        for point in one.points:
            memory = "–" if point.memory is None else f"{point.memory.extra / MIB:,.0f}"
            lines.append(
                [f"`{one.curve.name}`", f"{point.value:,}", f"{point.median_seconds:.3f}", memory]
            )
    return lines
