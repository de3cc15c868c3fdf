"""What was measured, as CSV (every call) and Markdown (medians, spread and targets)."""

import csv
import io
from collections.abc import Mapping, Sequence

from lexigraft.bench.comparison import SIDES
from lexigraft.bench.measure import Measured
from lexigraft.report.markdown import aligned, escape

MIB = 2**20
FIELDS = (
    "comparison",
    "peer",
    "sizes",
    "pairs",
    "time_ratio",
    "time_ratio_least",
    "time_ratio_most",
    "time_ratio_target",
    "seconds_ours",
    "seconds_peer",
    "memory_ratio",
    "memory_ratio_target",
    "extra_bytes_ours",
    "extra_bytes_peer",
    "total_bytes_ours",
    "total_bytes_peer",
    "total_bytes_target",
    "difference",
    "tolerance",
    "all_seconds_ours",
    "all_seconds_peer",
)


def csv_text(measured: Sequence[Measured]) -> str:
    """One line a comparison; seconds are medians, and every call's in the order of the pairs."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for one in measured:
        target = one.target
        line = {
            "comparison": one.comparison.name,
            "peer": one.comparison.peer,
            "sizes": one.sizes,
            "pairs": len(one.ratios),
            "time_ratio": _full(one.ratio),
            "time_ratio_least": _full(min(one.ratios)),
            "time_ratio_most": _full(max(one.ratios)),
            "time_ratio_target": _full(target.time),
            "memory_ratio": _full(one.memory_ratio),
            "memory_ratio_target": _full(target.memory),
            "total_bytes_target": "" if target.total_bytes is None else target.total_bytes,
            "difference": _full(one.difference),
            "tolerance": _full(one.comparison.tolerance),
        }
        for side in SIDES:
            line |= {
                f"seconds_{side}": _full(one.median_seconds(side)),
                f"extra_bytes_{side}": one.memory[side].extra,
                f"total_bytes_{side}": one.memory[side].total,
                f"all_seconds_{side}": " ".join(map(_full, one.seconds[side])),
            }
        writer.writerow(line)
    return stream.getvalue()


def markdown_text(measured: Sequence[Measured], facts: Mapping[str, str]) -> str:
    """The table of ratios, that of absolute values, and the machine."""
    pairs = len(measured[0].ratios)
    small = (
        ""
        if measured[0].sizes == "full"
        else (
            "\n**Small sizes: for tests of the benchmark itself. They say nothing about speed.**\n"
        )
    )
    machine = [["Machine", ""], *([name, escape(value)] for name, value in facts.items())]
    return f"""# Ours against its peers

Time is the peer's over ours, the median of {pairs} pairs of calls in turns, with the least and the
most of them: above 1, ours is faster. Memory is ours over the peer's, of the most that one call
holds beyond what its process held before: below 1, ours needs less. ✓ and ✗ say whether the target
is reached. Before anything is timed, both sides must give the same result, or as much of it as is
said.
{small}
{aligned(_ratios(measured), right=range(2, 8))}

Absolute: the median of a call in seconds; memory of a call (and of the whole process) in MiB;
agreement is the largest difference of the results, as a share of the largest value, or what an
approximate peer finds of ours.

{aligned(_absolute(measured), right=range(1, 6))}

{aligned(machine, right=range(0))}
"""


def _ratios(measured: Sequence[Measured]) -> list[list[str]]:
    lines = [["Comparison", "Peer", "Time", "least", "most", "target", "Memory", "target"]]
    for one in measured:
        lines.append(
            [
                f"`{one.comparison.name}` {escape(one.comparison.describe(one.sizes))}",
                escape(one.comparison.peer),
                f"**{one.ratio:.2f}**",
                f"{min(one.ratios):.2f}",
                f"{max(one.ratios):.2f}",
                _time_target(one),
                f"**{one.memory_ratio:.3f}**",
                _memory_target(one),
            ]
        )
    return lines


def _time_target(one: Measured) -> str:
    least = one.target.time
    return "–" if least is None else f"≥ {least:g} {_mark(one.ratio >= least)}"


def _memory_target(one: Measured) -> str:
    most, total = one.target.memory, one.target.total_bytes
    if total is not None:
        return f"≤ {total / 1e9:g} GB in all {_mark(one.memory['ours'].total <= total)}"
    return "–" if most is None else f"≤ {most:g} {_mark(one.memory_ratio <= most)}"


def _mark(reached: bool) -> str:
    return "✓" if reached else "✗"


def _absolute(measured: Sequence[Measured]) -> list[list[str]]:
    lines = [["Comparison", "Ours, s", "Peer, s", "Ours, MiB", "Peer, MiB", "Agreement"]]
    for one in measured:
        seconds = [f"{one.median_seconds(side):.3f}" for side in SIDES]
        memory = [
            f"{one.memory[side].extra / MIB:,.0f} ({one.memory[side].total / MIB:,.0f})"
            for side in SIDES
        ]
        lines.append([f"`{one.comparison.name}`", *seconds, *memory, one.agreement])
    return lines


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
