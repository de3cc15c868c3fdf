"""The benchmark: comparisons one after another, and their report in one folder."""

import logging
from collections.abc import Sequence
from pathlib import Path

from lexigraft.bench.comparison import Sizes, find
from lexigraft.bench.facts import machine_facts
from lexigraft.bench.figure import write_figure
from lexigraft.bench.measure import Measured, measure
from lexigraft.bench.report import csv_text, markdown_text
from lexigraft.errors import LexigraftError
from lexigraft.files import refuse_taken, whole_folder
from lexigraft.machine import cores
from lexigraft.stages.locks import alone

log = logging.getLogger(__name__)


def bench(
    names: Sequence[str], *, out: Path, pairs: int = 5, threads: int = 2, sizes: Sizes = "full"
) -> list[Measured]:
    """Measure and write bench.csv, bench.md, bench.png and bench.svg to `out`, whole or not at all.

    Args:
        names: comparisons; none for all.
        pairs: timed calls of each side.
        threads: of each side.
        sizes: full (what the targets are about) or small (for tests).

    Raises:
        LexigraftError: an unknown name, a number out of range, a package that a peer needs is not
            installed, a side cannot run, or the results of two sides differ.
    """
    chosen = find(names)
    if pairs < 1:
        raise LexigraftError(f"--pairs: found {pairs}; allowed: 1 or more")
    if not 1 <= threads <= cores():
        raise LexigraftError(
            f"--threads: found {threads}; allowed: 1 to {cores()}, the cores of this machine"
        )
    for comparison in chosen:
        comparison.refuse_missing_packages()
    refuse_taken(out)
    with alone(out):
        measured = []
        for comparison in chosen:
            measured.append(measure(comparison, sizes, pairs, threads))
            log.info("%s", _line(measured[-1]))
        with whole_folder(out) as partial:
            (partial / "bench.csv").write_text(csv_text(measured), encoding="utf-8")
            text = markdown_text(measured, machine_facts(threads))
            (partial / "bench.md").write_text(text, encoding="utf-8")
            write_figure(measured, partial / "bench")
    log.info("report: %s", out / "bench.md")
    return measured


def _line(one: Measured) -> str:
    return (
        f"{one.comparison.name}: {one.ratio:.2f} times as fast as {one.comparison.peer} "
        f"({min(one.ratios):.2f} to {max(one.ratios):.2f}), {one.memory_ratio:.3f} of its memory, "
        f"agreement {one.agreement}"
    )
