"""What was found on a GPU, as CSV (every figure) and Markdown (ratios and verdicts)."""

import csv
import io
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lexigraft.bench.accelerator.timing import Cost, Phase, Timing
from lexigraft.bench.accelerator.training import ALLOWED, Trained, difference
from lexigraft.bench.accelerator.ways import WAYS, Precision, WayName
from lexigraft.report.markdown import aligned, escape

if TYPE_CHECKING:
    from lexigraft.bench.accelerator.check import Checked

MIB = 2**20
FIELDS = (
    "part",
    "case",
    "precision",
    "numbers",
    "phase",
    "way",
    "milliseconds",
    "all_milliseconds",
    "peak_bytes",
    "value_error",
    "value_allowed",
    "gradient_error",
    "gradient_allowed",
    "same_twice",
    "losses",
    "note",
)


def csv_text(checked: "Checked") -> str:
    """One line a case; milliseconds are medians, and every call's."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_records(checked))
    return stream.getvalue()


def _records(checked: "Checked") -> Iterable[dict[str, Any]]:
    for parity in checked.parity:
        yield {
            "part": "parity",
            "case": parity.case,
            "precision": parity.precision,
            "numbers": parity.numbers,
            "value_error": f"{parity.value_error:.3g}",
            "value_allowed": f"{parity.value_allowed:.3g}",
            "gradient_error": f"{parity.gradient_error:.3g}",
            "gradient_allowed": f"{parity.gradient_allowed:.3g}",
            "same_twice": parity.same_twice,
        }
    for trained in checked.training:
        losses = " ".join(f"{loss:.6g}" for loss in trained.losses)
        head = {"part": "training", "precision": trained.precision, "way": trained.way}
        yield head | _cost(trained.cost) | {"losses": losses, "note": trained.note}
    for timing in checked.timings:
        head = {"part": "speed", "case": timing.case, "precision": timing.precision}
        head |= {"phase": timing.phase, "way": timing.way}
        yield head | _cost(timing.cost) | {"note": timing.note}
    for tiled in checked.tiles:
        head = {"part": "tile", "case": tiled.case, "precision": tiled.precision}
        head |= {"phase": "forward", "way": str(tiled.tile)}
        yield head | _cost(tiled.cost) | {"note": tiled.note}


def _cost(cost: Cost | None) -> dict[str, Any]:
    if cost is None:
        return {}
    return {
        "milliseconds": f"{cost.median:.6g}",
        "all_milliseconds": " ".join(f"{one:.6g}" for one in cost.milliseconds),
        "peak_bytes": cost.peak_bytes,
    }


def markdown_text(checked: "Checked") -> str:
    """Parity, training, speed, tiles and the machine."""
    machine = [["Machine", ""], *([name, escape(value)] for name, value in checked.facts.items())]
    parts = [
        "# The sparse head on a GPU",
        "## Equal to the plain formula",
        "Largest error over all cases: of values as a share of the largest, of gradients as a "
        "share of their norm. Whole numbers add up exactly, so their values must be the same.",
        aligned(_parity(checked), right=range(2, 7)),
        *_wrong(checked),
        "## Training in little",
        "The same batches and first weights; the largest difference of two losses, as a share.",
        aligned(_training(checked.training), right=range(1, 6)),
        "## Time and memory",
        "Milliseconds are medians of calls. Ratios are the other's over ours: above 1, ours is "
        "faster. Memory is the most that a call holds beyond what was held before, in MiB, and in "
        "brackets ours over the other's. "
        + "; ".join(f"*{name}*: {what}" for name, what in WAYS.items() if name != "ours")
        + ".",
        aligned(_speed(checked.timings), right=range(2, 10)),
    ]
    if checked.tiles:
        parts += [
            "## Tiles of the kernel",
            "The forward pass alone, milliseconds; ◆ is what is chosen.",
            aligned(_tiles(checked), right=range(3, 4)),
        ]
    return "\n\n".join([*parts, aligned(machine, right=range(0))]) + "\n"


def _parity(checked: "Checked") -> list[list[str]]:
    lines = [
        ["Precision", "Numbers", "Cases", "Values", "allowed", "Gradients", "allowed", "Same twice"]
    ]

    def kind(one: Any) -> tuple[str, str]:
        return str(one.precision), one.numbers

    for (precision, numbers), group in groupby(sorted(checked.parity, key=kind), key=kind):
        cases = list(group)
        lines.append(
            [
                precision,
                numbers,
                str(len(cases)),
                f"{max(one.value_error for one in cases):.1e}",
                f"{cases[0].value_allowed:.1e}",
                f"{max(one.gradient_error for one in cases):.1e}",
                f"{cases[0].gradient_allowed:.1e}",
                ("✓" if all(one.same_twice for one in cases) else "✗")
                + ("" if all(one.holds for one in cases) else " **✗ differs**"),
            ]
        )
    return lines


def _wrong(checked: "Checked") -> list[str]:
    wrong = [one for one in checked.parity if not one.holds]
    if not wrong:
        return [f"All {len(checked.parity)} cases hold."]
    lines = [
        f"- {one.case}, {one.precision}, {one.numbers} numbers: values {one.value_error:.1e}, "
        f"gradients {one.gradient_error:.1e}{'' if one.same_twice else ', not the same twice'}"
        for one in wrong
    ]
    return [f"**{len(wrong)} of {len(checked.parity)} cases differ:**", "\n".join(lines)]


def _training(trained: list[Trained]) -> list[list[str]]:
    lines = [["Precision", "First loss", "Last loss", "Difference", "Step, ms", "Plain / ours"]]
    for precision, group in groupby(trained, key=lambda one: one.precision):
        ours, peer = group
        apart = difference(ours, peer)
        mark = "✓" if apart <= ALLOWED[precision] else "✗"
        lines.append(
            [
                str(precision),
                f"{ours.losses[0]:.4g}",
                f"{ours.losses[-1]:.4g}",
                f"{apart:.1e} (≤ {ALLOWED[precision]:.0e} {mark})",
                _shown(ours.cost, ours.note),
                _ratio(ours.cost, peer.cost, peer.note),
            ]
        )
    return lines


def _speed(timed: list[Timing]) -> list[list[str]]:
    ways = list(dict.fromkeys(one.way for one in timed))
    others = [name for name in ways if name != "ours"]
    lines = [["Case", "Pass", "Ours, ms", *(f"{name} / ours" for name in others)]]
    lines[0] += ["Ours, MiB", *(f"{name}, MiB" for name in others)]
    groups: dict[tuple[str, Precision, Phase], dict[WayName, Timing]] = {}
    for one in timed:
        groups.setdefault((one.case, one.precision, one.phase), {})[one.way] = one
    for (case, precision, phase), found in groups.items():
        ours = found["ours"]
        line = [f"{case}, {precision}", phase, _shown(ours.cost, ours.note)]
        line += [_ratio(ours.cost, found[name].cost, found[name].note) for name in others]
        line.append("–" if ours.cost is None else _mib(ours.cost))
        for name in others:
            cost = found[name].cost
            line.append(
                "–"
                if cost is None or ours.cost is None
                else f"{_mib(cost)} ({ours.cost.peak_bytes / max(1, cost.peak_bytes):.3f})"
            )
        lines.append(line)
    return lines


def _tiles(checked: "Checked") -> list[list[str]]:
    lines = [["Case", "Entries x columns, warps, stages", "", "ms"]]
    for one in checked.tiles:
        tile = one.tile
        size = f"{tile.entries} x {tile.columns}, {tile.warps}, {tile.stages}"
        mark = "◆" if one.chosen else ""
        lines.append([f"{one.case}, {one.precision}", size, mark, _shown(one.cost, one.note)])
    return lines


def _shown(cost: Cost | None, note: str) -> str:
    return escape(note) if cost is None else f"{cost.median:.2f}"


def _ratio(ours: Cost | None, other: Cost | None, note: str) -> str:
    if other is None:
        return escape(note)
    return "–" if ours is None else f"**{other.median / ours.median:.2f}** ({other.median:.2f} ms)"


def _mib(cost: Cost) -> str:
    return f"{cost.peak_bytes / MIB:,.0f}"
