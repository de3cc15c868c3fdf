"""Figures of a transfer and of a calibration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lexigraft.files import whole_file
from lexigraft.report.figures import DOTS_PER_INCH, STYLE

OVERLAPPING, NEW, BEFORE = "#2f5d8a", "#d98c3f", "#9a9a9a"
SHOWN_EXAMPLES = 4
LAST_LATIN = 0x24F
SHOWN_SUB_TOKENS = 40
"""Characters of a token's pieces before they are cut."""


def save_figure(draw: Callable[[], Figure], prefix: Path) -> None:
    """Write `<prefix>.png` and `.svg`, the same bytes for the same content."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        figure = draw()
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            with whole_file(prefix.with_name(f"{prefix.name}.{kind}")) as partial:
                figure.savefig(partial, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)


def transfer_figure(report: dict[str, Any]) -> Figure:
    """Kinds of target tokens, overlapping and new; beside them the anchors of some new tokens."""
    examples = [e for e in report["examples"] if e["anchors"] and _drawable(e)][:SHOWN_EXAMPLES]
    figure = Figure(figsize=(8.2 if examples else 4.2, 3.6), layout="constrained")
    if not examples:
        _draw_kinds(figure.add_subplot(), report)
        return figure
    columns = figure.add_gridspec(1, 2, width_ratios=[1, 1.25])
    _draw_kinds(figure.add_subplot(columns[0]), report)
    _draw_anchors(figure, columns[1], examples)
    return figure


def calibration_figure(record: dict[str, Any]) -> Figure:
    """Distribution of pooled logits before and after the shift, with the ReLU's threshold."""
    figure = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = figure.add_subplot()
    for when, colour in (("before", BEFORE), ("after", OVERLAPPING)):
        facts = record[when]
        edges, counts = (np.array(facts["histogram"][key]) for key in ("edges", "counts"))
        label = f"{when}: {100 * facts['activation_rate']:.1f} % active"
        axes.stairs(100 * counts / counts.sum(), edges, color=colour, fill=True, alpha=0.35)
        axes.stairs(100 * counts / counts.sum(), edges, color=colour, linewidth=1.2, label=label)
    axes.axvline(0, ymax=0.82, color="#1a1a1a", linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xlabel("pooled logit (active above 0)")
    axes.set_ylabel("share of entries (%)")
    way = "raised" if record["shift"] < 0 else "lowered"
    axes.set_title(f"Calibration: logits {way} by {abs(record['shift']):.3g}", loc="left")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.22)
    axes.legend(frameon=False, loc="upper left", ncols=2, handlelength=1.2, columnspacing=1.2)
    return figure


def _draw_kinds(axes: Axes, report: dict[str, Any]) -> None:
    kinds = list(report["kinds"].items())[::-1]
    names = [name for name, _ in kinds]
    total = report["target_tokens"]
    kept = np.array([counts["overlapping"] for _, counts in kinds]) / total * 100
    new = np.array([counts["new"] for _, counts in kinds]) / total * 100
    axes.barh(names, kept, color=OVERLAPPING, label="overlapping", height=0.62)
    axes.barh(names, new, left=kept, color=NEW, label="new", height=0.62)
    for row, (_, counts) in enumerate(kinds):
        text = f"{counts['overlapping']:,} + {counts['new']:,}"
        axes.text(kept[row] + new[row] + 1, row, text, va="center", fontsize=7.5)
    axes.set_xlim(0, max(kept + new) * 1.38)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= 100])
    axes.set_xlabel("share of the target vocabulary (%)")
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"{100 * report['coverage']:.1f} % of tokens overlap", loc="left")
    axes.legend(frameon=False, loc="lower right", handlelength=1, handleheight=1)


def _draw_anchors(figure: Figure, cell: Any, examples: list[dict[str, Any]]) -> None:
    """One small panel a new token: its heaviest anchors, in the form of table 4."""
    grid = cell.subgridspec((len(examples) + 1) // 2, 2)
    widest = max(anchor["weight"] for example in examples for anchor in example["anchors"])
    for position, example in enumerate(examples):
        axes = figure.add_subplot(grid[position // 2, position % 2])
        anchors = example["anchors"][::-1]
        rows = range(len(anchors))
        axes.barh(rows, [a["weight"] for a in anchors], color=NEW, height=0.62)
        for row, anchor in enumerate(anchors):
            axes.text(anchor["weight"] + 0.01, row, f"{anchor['weight']:.2f}", va="center", size=7)
        axes.set_yticks(rows, [_literal(a["token"]) for a in anchors], size=7)
        axes.set_xlim(0, widest * 1.3)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="y", length=0)
        pieces = " ".join(example["sub_tokens"])
        if len(pieces) > SHOWN_SUB_TOKENS:
            pieces = pieces[:SHOWN_SUB_TOKENS] + "…"
        axes.set_title(_literal(example["token"]), loc="left", size=8, weight="bold", pad=14)
        axes.text(0, 1.03, _literal(pieces), transform=axes.transAxes, size=7, color="#4d4d4d")


def _drawable(example: dict[str, Any]) -> bool:
    """Whether the font of the figures has all its letters: Latin ones."""
    texts = [example["token"], *example["sub_tokens"], *(a["token"] for a in example["anchors"])]
    return all(ord(character) <= LAST_LATIN for text in texts for character in text)


def _literal(text: str) -> str:
    """Text that matplotlib must not read as mathematics."""
    return text.replace("$", r"\$")
