"""The loss of a training as a figure (PNG and SVG)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure


def plot_loss(
    history: Sequence[Mapping[str, float]], stem: Path, title: str, label: str = "loss"
) -> None:
    """Write `<stem>.png` and `<stem>.svg` from the records of `training.jsonl`."""
    with matplotlib.rc_context({"svg.hashsalt": "lexigraft"}):
        _plot(history, stem, title, label)


def _plot(history: Sequence[Mapping[str, float]], stem: Path, title: str, label: str) -> None:
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([r["step"] for r in history], [r["loss"] for r in history], linewidth=1)
    axes.set(title=title, xlabel="optimiser step", ylabel=label)
    axes.grid(alpha=0.3)
    FigureCanvasAgg(figure).print_png(stem.with_suffix(".png"))
    # No date and a fixed salt, or the same training would never give the same file.
    FigureCanvasSVG(figure).print_svg(stem.with_suffix(".svg"), metadata={"Date": None})
