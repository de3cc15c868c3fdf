"""Section 3 of Vocabulary Transfer as a picture: complexities, and the bound term by term.

Above, the Rademacher complexity of features and of their differences for each row, with its
standard error. Below, the terms of theorem 3.2 on top of each other, with the line at 1 above which
the bound says nothing.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from lexigraft.report.dense_vs_sparse import COLOURS, FAINT, WARNING
from lexigraft.report.tables import Table, TableRow
from lexigraft.specs.experiments import PlannedExperiment

COMPLEXITY, PAIRWISE = COLOURS[1], COLOURS[5]
ESTIMATION, CONFIDENCE, COMPATIBILITY = COLOURS[1], "#c8c8c8", COLOURS[4]
GAP = 0.7
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
            name,
            (middle, 1.02),
            xycoords=("data", "axes fraction"),
            ha="center",
            fontsize=8.5,
            fontweight="bold",
        )
    if not rows:
        below.text(0.5, 0.5, "nothing run", transform=below.transAxes, ha="center", color=FAINT)
    return figure


def _complexities(panel: Axes, rows: Sequence[TableRow], places: dict[str, float]) -> None:
    kinds = (
        ("complexity", "features", "o", COMPLEXITY),
        ("complexity_pairwise", "differences", "s", PAIRWISE),
    )
    drawn: list[tuple[float, float]] = []
    for metric, label, marker, colour in kinds:
        # A row without any shared key has nothing to show on a logarithmic axis.
        shown = [row for row in rows if _value(row, metric) > 0]
        xs, values = [places[row.id] for row in shown], [_value(row, metric) for row in shown]
        errors = [_value(row, f"{metric}_error") for row in shown]
        panel.errorbar(
            xs, values, errors, fmt=marker, markersize=5, capsize=2.5, color=colour, label=label
        )
        drawn += zip(xs, values, strict=True)
    for x, value in drawn:
        panel.annotate(
            f"{value:.3g}",
            (x, value),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=7,
        )
    if drawn:
        panel.set_yscale("log")
        low, high = min(value for _, value in drawn), max(value for _, value in drawn)
        panel.set_ylim(low / 1.6, high * 2.4)
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.yaxis.grid(True, color="#e8e8e8", linewidth=0.7)
    panel.set_ylabel("Rademacher complexity")
    panel.tick_params(axis="x", length=0)
    panel.legend(frameon=False, fontsize=7.5, ncols=2, loc="upper right", borderaxespad=0.2)


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
        panel.annotate(
            f"{total:.2f}",
            (places[row.id], total),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=7,
        )
    panel.axhline(1, color=WARNING, linewidth=0.9, linestyle=(0, (3, 2)), label="vacuous above")
    panel.set_ylim(0, 1.28 * max([1.0, *bottom]))
    panel.set_ylabel("bound of theorem 3.2")
    panel.legend(frameon=False, fontsize=7.5, ncols=2, loc="upper right", borderaxespad=0.2)


def _value(row: TableRow, metric: str) -> float:
    cells = {cell.column.metric: cell for cell in row.cells}
    return (cells[metric].ours or 0.0) if metric in cells else 0.0
