"""The vocabulary gap (figure 1 of Vocabulary Transfer): dense against sparse for each backbone.

One panel of what we measured and one of what is reported. Bars stand together that are to be
compared: all backbones under one kind of retrieval, with a line at the height of the first backbone
(BERT), so that the anomaly shows as bars that are above the line when dense and below when sparse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from lexigraft.report import text
from lexigraft.report.tables import Cell, Side, Table, TableRow
from lexigraft.specs.experiments import PlannedExperiment

COLOURS = ("#5b5b5b", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, told apart with any colour vision; the first backbone is grey."""
WARNING, INK, FAINT = "#C04A00", "#1a1a1a", "#6a6a6a"
BAR, GAP = 0.8, 1.1
"""Width of a bar where bars are one apart, and room between kinds."""
HEADROOM = 1.22
LEAST = 0.008
"""Height of a bar for a value near zero, as a share of the panel's, so that it is seen."""


@dataclass(frozen=True)
class Bar:
    """One model in one panel."""

    backbone: str
    colour: str
    cell: Cell
    row: TableRow
    side: Side

    @property
    def value(self) -> float:
        value = self.cell.value(self.side)
        assert value is not None
        return value

    @property
    def spread(self) -> float:
        cell = self.cell
        return (cell.deviation if self.side == "ours" else cell.reported_spread) or 0.0

    @property
    def collapse(self) -> str:
        """The verdict on our own model; nothing is known of a reported one."""
        ours = self.side == "ours" and self.row.collapse is not None
        return self.row.collapse.verdict if ours and self.row.collapse else ""

    @property
    def style(self) -> Mapping[str, Any]:
        if self.collapse:
            return {"facecolor": "white", "edgecolor": self.colour, "hatch": "//////"}
        return {"facecolor": self.colour, "edgecolor": self.colour}


KINDS: Mapping[str, tuple[str, bool]] = {
    "Dense\n": ("dense", False),
    "Sparse,\nuntouched": ("splade", False),
    "Sparse,\ncalibrated": ("splade", True),
}
"""What stands under a group of bars (two lines each, to stand level), and the head and calibration
of its rows."""
LEVEL: Mapping[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (3, 2))}
"""Line at the height of the first backbone."""


def dense_vs_sparse(experiment: PlannedExperiment, table: Table) -> Figure:
    """Draw the experiment's first column; `group` of a row names its backbone."""
    backbones = list(table.groups())
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(backbones)}
    panels: Sequence[tuple[Side, str]] = (
        ("ours", f"Here, scale {table.scale}"),
        ("reported", "As the paper reports"),
    )
    shown = {side: _groups(experiment, table, side, colours) for side, _ in panels}
    bars = [bar for groups in shown.values() for group in groups.values() for bar in group]
    figure = Figure(figsize=(7.4, 3.6))
    axes = figure.subplots(
        1, len(panels), sharey=True, width_ratios=[_extent(shown[side]) for side, _ in panels]
    )
    tallest = max((bar.value + bar.spread for bar in bars), default=1.0)
    collapsed = max((bar.value for bar in bars if bar.collapse), default=0.0)
    # A collapsed bar carries its verdict upright above it.
    axes[0].set_ylim(0, max(HEADROOM * tallest, collapsed + 0.6 * tallest))
    for panel, (side, title) in zip(axes, panels, strict=True):
        _draw(panel, shown[side])
        panel.set_title(title, loc="left", fontsize=9.5, fontweight="bold", pad=8)
        drawn = {bar.backbone for group in shown[side].values() for bar in group}
        if drawn and (absent := [name for name in backbones if name not in drawn]):
            told = f"{'not run' if side == 'ours' else 'no values'}: {', '.join(absent)}"
            panel.set_title(told, loc="right", fontsize=7.5, color=FAINT, pad=8)
    column = table.columns[0]
    axes[0].set_ylabel(f"{column.role_heading} {column.heading}")
    _legend(figure, bars, backbones)
    figure.subplots_adjust(left=0.075, right=0.99, top=0.9, bottom=0.235, wspace=0.06)
    return figure


def _groups(
    experiment: PlannedExperiment, table: Table, side: Side, colours: Mapping[str, str]
) -> dict[str, list[Bar]]:
    """Kind to the bars with a value on this side; kinds without any are left out."""
    groups: dict[str, list[Bar]] = {}
    for name, (head, calibrated) in KINDS.items():
        for row, planned in zip(table.rows, experiment.rows, strict=True):
            facts = planned.facts
            kind = (facts.get("head"), facts.get("calibrated"))
            if kind == (head, calibrated) and row.cells[0].value(side) is not None:
                bar = Bar(row.group, colours[row.group], row.cells[0], row, side)
                groups.setdefault(name, []).append(bar)
    return groups


def _extent(groups: Mapping[str, list[Bar]]) -> float:
    return max(2.0, sum(len(bars) + GAP for bars in groups.values()))


def _draw(panel: Axes, groups: Mapping[str, list[Bar]]) -> None:
    panel.yaxis.grid(True, color="#e8e8e8", linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(length=0)
    panel.set_xlim(0, _extent(groups))
    start, middles = GAP / 2, []
    for bars in groups.values():
        middles.append(start + len(bars) / 2)
        reference = bars[0].value if bars[0].colour == COLOURS[0] else None
        if reference is not None and len(bars) > 1:
            panel.plot((start + 1, start + len(bars)), (reference, reference), zorder=4, **LEVEL)
        for index, bar in enumerate(bars):
            _bar(panel, start + index + 0.5, bar, reference if index else None)
        start += len(bars) + GAP
    panel.set_xticks(middles, list(groups), fontsize=8.5, linespacing=1.15)
    if not groups:
        panel.text(1, panel.get_ylim()[1] / 2, "nothing run", ha="center", color=FAINT)


def _bar(panel: Axes, x: float, bar: Bar, reference: float | None) -> None:
    """One bar, its value, its difference from the reference, and its collapse if it has one."""
    height = max(bar.value, LEAST * panel.get_ylim()[1])
    panel.bar(x, height, BAR, linewidth=1, zorder=3, **bar.style)
    if bar.spread:
        panel.errorbar(x, bar.value, bar.spread, color=INK, linewidth=0.9, capsize=2, zorder=4)
    # The line of the reference runs above a bar that stays below it; labels go above both.
    crowded = reference is not None and 0 < reference - bar.value < 0.14 * panel.get_ylim()[1]
    base = reference if crowded and reference is not None else height + bar.spread
    lines = [(bar.cell.printed(bar.side)[0], 7.5, WARNING if bar.collapse else INK)]
    if reference is not None:
        difference = text.signed(bar.value - reference, bar.cell.column)
        lines.insert(0, (difference, 6.3, WARNING if bar.collapse else FAINT))
    above = 2.0
    for label, size, colour in lines:
        _label(panel, label, x, base, above, fontsize=size, color=colour)
        above += size * 1.2
    if bar.collapse:
        _label(panel, bar.collapse, x, base, above + 2, fontsize=7.5, rotation=90, color=WARNING)


def _label(panel: Axes, label: str, x: float, y: float, above: float, **style: Any) -> None:
    panel.annotate(
        label,
        (x, y),
        xytext=(0, above),
        textcoords="offset points",
        ha="center",
        va="bottom",
        zorder=5,
        path_effects=[withStroke(linewidth=1.8, foreground="white")],
        **style,
    )


def _legend(figure: Figure, bars: Sequence[Bar], backbones: Sequence[str]) -> None:
    colours = {bar.backbone: bar.colour for bar in bars}
    handles: list[Artist] = [
        Patch(label=name, color=colours[name]) for name in backbones if name in colours
    ]
    if bars:
        name = f"level of {backbones[0]}"
        handles.append(Line2D([], [], label=name, **LEVEL))
    if any(bar.collapse for bar in bars):
        handles.append(Patch(label="collapsed", facecolor="white", edgecolor=FAINT, hatch="//////"))
    figure.legend(
        handles=handles,
        loc="lower center",
        ncols=max(1, len(handles)),
        frameon=False,
        fontsize=8.5,
        handlelength=1.7,
        columnspacing=1.5,
    )
