"""The complexity of an encoder's features over sample sizes, before and after coarse-graining."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, ScalarFormatter

BEFORE, AFTER, MARGIN = "#6a6a6a", "#0072B2", "#d0d0d0"
NAMES = {
    "none": "as it is",
    "case": "case folded",
    "case+accents": "case and accents folded",
    "case+positions": "case and word starts folded",
}


def theory_figure(record: dict[str, Any]) -> Figure:
    """One panel a set, logarithmic axes; a line falls as 1 / sqrt(n) beside them."""
    sets = record["sets"]
    figure = Figure(figsize=(0.6 + 3.6 * len(sets), 3.1), layout="constrained")
    panels = figure.subplots(1, len(sets), sharey=True, squeeze=False)[0]
    after = NAMES[record["normaliser"]] + (", dealt at random" if record["dealt"] else "")
    for panel, (name, facts) in zip(panels, sets.items(), strict=True):
        sizes, before, merged = (
            [point[key] for point in facts["curve"]] for key in ("pairs", "before", "after")
        )
        slope = [before[0] * (sizes[0] / size) ** 0.5 for size in sizes]
        panel.plot(sizes, slope, color=MARGIN, linewidth=0.9, label="1/√n", zorder=1)
        panel.plot(sizes, before, color=BEFORE, marker="o", markersize=3.5, label="own vocabulary")
        panel.plot(sizes, merged, color=AFTER, marker="s", markersize=3.5, label=after)
        # An encoder whose features are all zero has no place on a logarithmic axis.
        if min(merged) > 0:
            panel.set_yscale("log")
            panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
            panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_xscale("log", base=2)
        panel.set_xticks(sizes)
        panel.xaxis.set_major_formatter(ScalarFormatter())
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.set_title(name, loc="left", fontsize=9)
        panel.set_xlabel("pairs n")
    panels[0].set_ylabel("Rademacher complexity")
    panels[0].legend(frameon=False, fontsize=7.5)
    return figure
