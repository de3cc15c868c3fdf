"""Figures of experiments, as PNG and SVG that are the same bytes for the same results."""

from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from lexigraft.errors import LexigraftError
from lexigraft.files import whole_file
from lexigraft.report.dense_vs_sparse import dense_vs_sparse
from lexigraft.report.tables import Table, build_table
from lexigraft.report.theory import theory
from lexigraft.report.trade_off import trade_off
from lexigraft.specs.experiments import PlannedExperiment

FIGURES: dict[str, Callable[[PlannedExperiment, Table], Figure]] = {
    "dense_vs_sparse": dense_vs_sparse,
    "theory": theory,
    "trade_off": trade_off,
}
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#4d4d4d",
    "axes.linewidth": 0.8,
    "xtick.color": "#4d4d4d",
    "ytick.color": "#4d4d4d",
    "xtick.labelcolor": "#1a1a1a",
    "hatch.linewidth": 0.8,
    "svg.hashsalt": "lexigraft",
    "svg.fonttype": "path",
    "savefig.facecolor": "white",
}
DOTS_PER_INCH = 200


def write_figure(experiment: PlannedExperiment, results: Path, out_prefix: Path) -> None:
    """Write `<out_prefix>.png` and `.svg`.

    Raises:
        LexigraftError: the experiment asks for no figure, or a planned result is missing.
    """
    if experiment.figure not in FIGURES:
        raise LexigraftError(
            f"experiment {experiment.name!r}: figure is {experiment.figure!r}; "
            f"allowed: {', '.join(FIGURES)}"
        )
    table = build_table(experiment, results)
    draw = FIGURES[experiment.figure]
    save_figure(lambda: draw(experiment, table), out_prefix)


def save_figure(draw: Callable[[], Figure], out_prefix: Path) -> None:
    """Draw in this project's style and write `<out_prefix>.png` and `.svg`."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        figure = draw()
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            with whole_file(out_prefix.with_name(f"{out_prefix.name}.{kind}")) as partial:
                figure.savefig(partial, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
