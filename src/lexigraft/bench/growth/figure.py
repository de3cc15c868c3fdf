"""All curves in one picture: a row each, time to the left and memory to the right."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from lexigraft.bench.figure import FAINT, INK, OURS
from lexigraft.bench.growth.measure import Grown
from lexigraft.report.figures import save_figure

ROW = 1.62
"""Height of a row in inches."""
LEAST_DECADES = 1.2
"""Of the upright axis: what is nearly flat must not look steep."""


def write_figure(grown: Sequence[Grown], out_prefix: Path) -> None:
    """Write `<out_prefix>.png` and `.svg`."""
    save_figure(lambda: _draw(grown), out_prefix)


def _draw(grown: Sequence[Grown]) -> Figure:
    height = ROW * len(grown) + 0.75
    figure = Figure(figsize=(7.4, height))
    panels = figure.subplots(len(grown), 2, squeeze=False)
    for (time, memory), one in zip(panels, grown, strict=True):
        _panel(time, one, one.seconds)
        time.set_ylabel(one.curve.name.removeprefix("growth-"), fontweight="bold", labelpad=8)
        if one.mebibytes:
            _panel(memory, one, one.mebibytes)
        else:
            memory.set_axis_off()
    for panel, title in zip(panels[0], ("time, seconds", "peak extra memory, MiB"), strict=True):
        panel.set_title(title, loc="left", fontsize=9.5, fontweight="bold", pad=8)
    figure.align_ylabels(panels[:, 0])
    figure.subplots_adjust(
        left=0.12, right=0.97, top=1 - 0.35 / height, bottom=0.72 / height, hspace=0.52, wspace=0.24
    )
    figure.text(
        0.01,
        0.08 / height,
        "line and exponent: least squares over all sizes; in brackets: from the last size but one "
        "to the last",
        color=FAINT,
        fontsize=7.5,
    )
    return figure


def _panel(panel: Axes, one: Grown, measured: Sequence[float]) -> None:
    whole, end = one.exponents(measured)
    values = np.array(one.values, dtype=float)
    middle = np.exp(np.log(measured).mean()), np.exp(np.log(values).mean())
    panel.plot(values, middle[0] * (values / middle[1]) ** whole, color=FAINT, linewidth=1)
    panel.plot(values, measured, "o", color=OURS, markersize=5, zorder=3)
    panel.set_xscale("log")
    panel.set_yscale("log")
    low, high = np.log10(min(measured)), np.log10(max(measured))
    room = max(LEAST_DECADES - (high - low), 0.5) / 2
    panel.set_ylim(10 ** (low - room), 10 ** (high + room))
    panel.set_xticks(values, [f"{value:,.0f}" for value in values])
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_locator(LogLocator(subs=_ticks(high - low)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.grid(True, color="#e8e8e8", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(length=0, labelsize=7.5)
    panel.set_xlabel(one.curve.label, fontsize=7.5, color=FAINT, labelpad=2)
    panel.annotate(
        f"{whole:.2f} ({end:.2f})",
        (0.03, 0.86),
        xycoords="axes fraction",
        fontsize=8,
        color=INK,
    )


def _ticks(decades: float) -> tuple[float, ...]:
    """Multiples of powers of ten, so that there are a few of them."""
    if decades < 1:
        return (1.0, 2.0, 5.0)
    return (1.0, 3.0) if decades < 2 else (1.0,)
