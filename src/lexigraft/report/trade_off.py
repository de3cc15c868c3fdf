"""Effectiveness against cost along a sweep, as of table 5 of Vocabulary Transfer.

One panel of what we measured and one of what is reported, each with its own axes: scales differ in
what they cost. Up and to the left is better.
"""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lexigraft.errors import LexigraftError
from lexigraft.report.tables import Side, Table, TableRow
from lexigraft.specs.experiments import PlannedExperiment

TITLES: dict[Side, str] = {"ours": "Measured here", "reported": "Reported"}
COLOURS: dict[Side, str] = {"ours": "#0072B2", "reported": "#5b5b5b"}
CROWDED = 0.07
"""Closer to the one before, in widths and heights of a panel, a point has its label on the other
side."""
INK, FAINT, WARNING = "#1a1a1a", "#6a6a6a", "#C04A00"


def trade_off(experiment: PlannedExperiment, table: Table) -> Figure:
    """Draw the first column (upwards) against the second (to the right), a point for each row.

    Raises:
        LexigraftError: the experiment has fewer than two columns.
    """
    if len(table.columns) < 2:
        raise LexigraftError(
            f"experiment {experiment.name!r}: figure trade_off needs two columns, found 1"
        )
    sides = [side for side in TITLES if _points(table.rows, side)]
    figure = Figure(figsize=(3.6 * max(1, len(sides)) + 0.2, 3.3))
    panels = figure.subplots(1, max(1, len(sides)), squeeze=False)[0]
    for panel, side in zip(panels, sides, strict=False):
        _draw(panel, table, side)
    if not sides:
        panels[0].set_axis_off()
        panels[0].text(0.5, 0.5, "no row has been run", ha="center", color=FAINT)
    figure.tight_layout()
    return figure


def _draw(panel: Axes, table: Table, side: Side) -> None:
    points = _points(table.rows, side)
    effect, cost = table.columns[:2]
    panel.plot(
        [x for x, _, _ in points],
        [y for _, y, _ in points],
        color=COLOURS[side],
        linewidth=1,
        alpha=0.5,
        zorder=2,
    )
    for x, y, row in points:
        collapsed = side == "ours" and row.collapse is not None
        panel.plot(
            x,
            y,
            "o",
            markersize=5,
            markerfacecolor="white" if collapsed else COLOURS[side],
            markeredgecolor=WARNING if collapsed else COLOURS[side],
            zorder=3,
        )
    panel.margins(0.12)
    panel.autoscale_view()
    if side == "ours" and any(row.collapse is not None for _, _, row in points):
        mark = Line2D([], [], linestyle="", marker="o", markersize=5, mec=WARNING, mfc="white")
        panel.legend([mark], ["collapsed"], frameon=False, fontsize=8)
    before = None
    for x, y, row in points:
        place = panel.transLimits.transform((x, y)).tolist()
        crowded = before is not None and math.dist(place, before) < CROWDED
        before = place
        panel.annotate(
            row.label.rpartition("= ")[2],
            (x, y),
            xytext=(-5, -4) if crowded else (5, 4),
            ha="right" if crowded else "left",
            va="top" if crowded else "bottom",
            textcoords="offset points",
            fontsize=7,
            color=WARNING if side == "ours" and row.collapse is not None else INK,
        )
    panel.grid(color="#e8e8e8", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.set_title(TITLES[side], loc="left", fontsize=9.5, fontweight="bold")
    panel.set_xlabel(f"{cost.role_heading} {cost.heading}")
    panel.set_ylabel(f"{effect.role_heading} {effect.heading}")


def _points(rows: Sequence[TableRow], side: Side) -> list[tuple[float, float, TableRow]]:
    """Cost and effect of each row that has both, in the order of the sweep."""
    found = []
    for row in rows:
        effect, cost = (cell.value(side) for cell in row.cells[:2])
        if effect is not None and cost is not None:
            found.append((cost, effect, row))
    return found
