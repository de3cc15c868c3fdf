"""Which rows of the paper's tables ours have, and what becomes of each at a scale."""

from collections import Counter
from collections.abc import Iterable

from lexigraft.report import text
from lexigraft.report.markdown import width
from lexigraft.specs.experiments import PlannedExperiment, PlannedRow
from lexigraft.specs.neighbours import PlannedNeighbours

PAPER = (
    ("section", "3", "The theory"),
    ("figure", 1, "Dense against sparse for each backbone"),
    ("table", 1, "Each set of BEIR, with efficiency"),
    ("table", 2, "Main results"),
    ("table", 3, "Initialisation and components"),
    ("table", 4, "Sub-tokens and nearest anchors of new tokens"),
    ("table", 5, "Activation rate of the calibration"),
    ("table", 6, "Head-only adaptation"),
    ("table", 7, "Other backbones"),
    ("table", 8, "Inference-free retrieval"),
    ("table", 9, "Domain vocabularies"),
    ("table", 10, "Seed by seed"),
)
"""What the Vocabulary Transfer paper has."""
DOCUMENT = "vocabulary-transfer"


def coverage(experiments: Iterable[PlannedExperiment]) -> str:
    """Plain text: every table of the paper, every row of ours, and run, cited or why not.

    Args:
        experiments: all that there are, planned at the scale that is asked about.
    """
    experiments = tuple(experiments)
    own = [e for e in experiments if e.source.get("document") == DOCUMENT]
    scale = experiments[0].scale if experiments else ""
    lines = [f"Vocabulary Transfer at scale {scale}"]
    for kind, number, title in PAPER:
        found = [experiment for experiment in own if experiment.source.get(kind) == number]
        lines += ["", f"{kind.capitalize()} {number}: {title}"]
        if not found:
            lines.append("  no experiment is about it")
        for experiment in found:
            names = Counter(_name(row) for row in experiment.rows)
            rows = [
                (
                    _name(row) + (f" ({row.id})" if names[_name(row)] > 1 else ""),
                    _status(row, experiment.scale),
                )
                for row in experiment.rows
            ]
            if experiment.neighbours is not None:
                rows += _words(experiment.neighbours)
            widest = max(width(name) for name, _ in rows)
            lines += [f"  {name}{' ' * (widest - width(name))}  {status}" for name, status in rows]
    others = [experiment.name for experiment in experiments if experiment not in own]
    if others:
        lines += ["", f"Beyond the paper: {', '.join(others)}"]
    return "\n".join(lines)


def _words(planned: PlannedNeighbours) -> list[tuple[str, str]]:
    status = f"run: {planned.source} to {planned.target}"
    rows = [(word.text, status) for word in planned.words]
    if planned.sample:
        rows.append((f"{text.count(planned.sample)} sampled new tokens", status))
    return rows


def _name(row: PlannedRow) -> str:
    return f"{row.group}: {row.label}" if row.group else row.label


def _status(row: PlannedRow, scale: str) -> str:
    if row.evaluations:
        seeds = len(row.evaluations)
        return "run" if seeds == 1 else f"run, {text.count(seeds)} seeds"
    if missing := row.facts.get("missing"):
        return f"cited from {row.cited}: scale {scale} has no backbone {missing}"
    if row.cited:
        return f"cited from {row.cited}: another system, which is not built here"
    return "not run: no main row (--rows all)"
