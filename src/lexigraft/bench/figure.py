"""Ratios of all comparisons in one picture: time to the left, memory to the right, a line at 1."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lexigraft.bench.measure import Measured
from lexigraft.report.figures import save_figure

OURS, PEER, INK, FAINT = "#0072B2", "#C04A00", "#1a1a1a", "#6a6a6a"
"""Where ours is better, where the peer is (Okabe and Ito's palette)."""
DECADES = (0.001, 0.01, 0.1, 1, 10, 100, 1000)
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
LEAST = 1e-3
"""Smallest share that is drawn."""
ROW = 0.42
"""Height of a row in inches."""


def write_figure(measured: Sequence[Measured], out_prefix: Path) -> None:
    """Write `<out_prefix>.png` and `.svg`."""
    save_figure(lambda: _draw(measured), out_prefix)


def _draw(measured: Sequence[Measured]) -> Figure:
    height = ROW * len(measured) + 1.35
    figure = Figure(figsize=(7.4, height))
    time, memory = figure.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
    places = range(len(measured))
    time.set_yticks(places, [one.comparison.name for one in measured])
    time.set_ylim(len(measured) - 0.4, -0.6)
    for place, one in zip(places, measured, strict=True):
        _row(time, place, one.ratio, one.ratios, better=one.ratio >= 1, target=one.target.time)
        # A share of nothing would have no place on a logarithmic axis.
        share = max(one.memory_ratio, LEAST)
        _row(memory, place, share, [share], better=share <= 1, target=one.target.memory)
    _axis(time, "time, peer / ours", "faster →", [one.ratio for one in measured])
    _axis(memory, "peak extra memory, ours / peer", "← less", [o.memory_ratio for o in measured])
    figure.subplots_adjust(
        left=0.15, right=0.97, top=1 - 0.42 / height, bottom=0.72 / height, wspace=0.08
    )
    figure.text(
        0.01,
        0.06 / height,
        "bar: median of pairs; black line: least to most; ◆ target; dashed: equal",
        color=FAINT,
        fontsize=7.5,
    )
    return figure


def _row(
    panel: Axes,
    place: int,
    ratio: float,
    spread: Sequence[float],
    *,
    better: bool,
    target: float | None,
) -> None:
    panel.barh(place, ratio - 1, 0.56, left=1, color=OURS if better else PEER, zorder=3)
    panel.plot((min(spread), max(spread)), (place, place), color=INK, linewidth=1.1, zorder=4)
    right = ratio >= 1
    # The label stands clear of the spread, and of a target beyond it.
    ends = [*spread, *([target] if target is not None and (target >= 1) == right else [])]
    panel.annotate(
        f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}",
        (max(ends) if right else min(ends), place),
        xytext=(7 if right else -7, 0),
        textcoords="offset points",
        ha="left" if right else "right",
        va="center",
        fontsize=7.5,
        color=INK,
        zorder=5,
    )
    if target is not None:
        panel.plot(target, place, "D", color="white", markeredgecolor=INK, markersize=4.5, zorder=6)


def _axis(panel: Axes, title: str, better: str, ratios: Sequence[float]) -> None:
    panel.set_xscale("log")
    panel.axvline(1, color=INK, linewidth=0.9, linestyle=(0, (3, 2)), zorder=4)
    low, high = min(*ratios, 1.0), max(*ratios, 1.0)
    room = 1.6 * (high / low) ** 0.2
    panel.set_xlim(low / room, high * room)
    ticks = DECADES if high / low > 50 else TICKS
    shown = [t for t in ticks if low / room <= t <= high * room]
    panel.set_xticks(shown, [f"{t:g}" for t in shown])
    panel.minorticks_off()
    panel.tick_params(length=0)
    panel.xaxis.grid(True, color="#e8e8e8", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.set_title(title, loc="left", fontsize=9.5, fontweight="bold", pad=8)
    panel.set_xlabel(better, color=FAINT, loc="right" if "→" in better else "left")
