"""Section 3 of Vocabulary Transfer as a picture: complexities, and the bound term by term.

Above, the Rademacher complexity of features and of their differences for each row, with its
standard error. Below, the terms of theorem 3.2 on top of each other, with the line at 1 above which
the bound says nothing.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from lexigraft.report.dense_vs_sparse import COLOURS, FAINT, INK, WARNING
from lexigraft.report.tables import Table, TableRow
from lexigraft.specs.experiments import PlannedExperiment

COMPLEXITY, PAIRWISE = COLOURS[1], COLOURS[5]
ESTIMATION, CONFIDENCE, COMPATIBILITY = COLOURS[1], "#c8c8c8", COLOURS[4]
GAP = 0.9
"""Room between groups of rows, which are one apart."""


def theory(experiment: PlannedExperiment, table: Table) -> Figure:
    """Draw the rows that were run; the experiment names the columns that are needed."""
    groups = {
        name: [row for row in rows if row.status == "run"] for name, rows in table.groups().items()
    }
    places: dict[str, float] = {}
    spans: dict[str, float] = {}
    start = 0.0
    for name, rows in groups.items():
        if rows:
            places |= {row.id: start + number for number, row in enumerate(rows)}
            spans[name] = start + (len(rows) - 1) / 2
            start += len(rows) + GAP
    rows = [row for each in groups.values() for row in each]
    figure = Figure(figsize=(max(4.6, 1.5 + 0.62 * start), 5.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    _complexities(above, rows, places)
    _bounds(below, rows, places)
    labels = [row.label.removeprefix("+ ") for row in rows]
    below.set_xticks(list(places.values()), labels, rotation=35, ha="right", rotation_mode="anchor")
    for name, middle in spans.items():
        above.annotate(
            name.replace(", ", ",\n"),
            (middle, 1.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=7.5,
            fontweight="bold",
        )
    if not rows:
        below.text(0.5, 0.5, "nothing run", transform=below.transAxes, ha="center", color=FAINT)
    return figure


def _complexities(panel: Axes, rows: Sequence[TableRow], places: dict[str, float]) -> None:
    kinds = (
        (-0.2, "complexity", "features", COMPLEXITY),
        (0.2, "complexity_pairwise", "differences", PAIRWISE),
    )
    tallest = 0.0
    for shift, metric, label, colour in kinds:
        xs = [places[row.id] + shift for row in rows]
        values = [_value(row, metric) for row in rows]
        errors = [_value(row, f"{metric}_error") for row in rows]
        panel.bar(xs, values, 0.38, color=colour, label=label)
        for x, value, error in zip(xs, values, errors, strict=True):
            if error:
                panel.errorbar(x, value, error, color=INK, linewidth=0.9, capsize=2)
            if value:
                _label(panel, f"{value:.4f}", x, value + error, fontsize=6.3, rotation=90)
            tallest = max(tallest, value + error)
    panel.set_ylim(0, 1.45 * tallest or 1.0)
    panel.set_ylabel("Rademacher complexity")
    panel.tick_params(axis="x", length=0)
    panel.legend(frameon=False, fontsize=7.5, ncols=2, loc="upper right", borderaxespad=0.2)


def _label(panel: Axes, label: str, x: float, y: float, **style: Any) -> None:
    shown = panel.annotate(label, (x, y), (0, 3), textcoords="offset points", ha="center", **style)
    shown.set_path_effects([withStroke(linewidth=2, foreground="white")])


def _bounds(panel: Axes, rows: Sequence[TableRow], places: dict[str, float]) -> None:
    terms: dict[str, tuple[str, list[float]]] = {
        "confidence": (CONFIDENCE, []),
        "estimation, 4BLR": (ESTIMATION, []),
        "compatibility, Lε": (COMPATIBILITY, []),
    }
    for row in rows:
        bound, estimation = _value(row, "bound"), _value(row, "estimation")
        compatibility = _value(row, "compatibility_error")
        parts = (bound - estimation - compatibility, estimation, compatibility)
        for (_, values), part in zip(terms.values(), parts, strict=True):
            values.append(part)
    bottom = [0.0] * len(rows)
    for label, (colour, values) in terms.items():
        panel.bar([places[row.id] for row in rows], values, 0.76, bottom, color=colour, label=label)
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    for row, total in zip(rows, bottom, strict=True):
        _label(panel, f"{total:.2f}", places[row.id], total, fontsize=7)
    panel.axhline(1, color=WARNING, linewidth=0.9, linestyle=(0, (3, 2)), label="vacuous above")
    panel.set_ylim(0, 1.28 * max([1.0, *bottom]))
    panel.set_ylabel("bound of theorem 3.2")
    panel.legend(frameon=False, fontsize=7.5, ncols=2, loc="upper right", borderaxespad=0.2)


def _value(row: TableRow, metric: str) -> float:
    cells = {cell.column.metric: cell for cell in row.cells}
    return (cells[metric].ours or 0.0) if metric in cells else 0.0
