"""The benchmark: comparisons and curves one after another, and their report in one folder."""

import logging
from collections.abc import Sequence
from pathlib import Path

from lexigraft.bench import figure, report
from lexigraft.bench.comparison import Comparison, Sizes, comparisons
from lexigraft.bench.facts import machine_facts
from lexigraft.bench.growth import figure as growth_figure
from lexigraft.bench.growth import planning
from lexigraft.bench.growth import report as growth_report
from lexigraft.bench.growth.curve import Curve
from lexigraft.bench.growth.curves import curves
from lexigraft.bench.growth.measure import Grown, measure_growth
from lexigraft.bench.measure import Measured, measure
from lexigraft.errors import LexigraftError
from lexigraft.files import refuse_taken, whole_folder
from lexigraft.locks import alone
from lexigraft.machine import cores

log = logging.getLogger(__name__)


def bench(
    names: Sequence[str], *, out: Path, pairs: int = 5, threads: int = 2, sizes: Sizes = "full"
) -> None:
    """Measure and write to `out`, whole or not at all: bench.csv, .md, .png and .svg of comparisons
    and growth.csv, .md, .png and .svg of curves, where there are any.

    Args:
        names: comparisons and curves; none for all.
        pairs: timed calls of each side, and of each size of a curve.
        threads: of each side.
        sizes: full (what the targets are about) or small (for tests).

    Raises:
        LexigraftError: an unknown name, a number out of range, a package that a peer needs is not
            installed, planning is to be measured outside the repository, a side cannot run, or the
            results of two sides differ.
    """
    compared, grow = find(names)
    if pairs < 1:
        raise LexigraftError(f"--pairs: found {pairs}; allowed: 1 or more")
    if not 1 <= threads <= cores():
        raise LexigraftError(
            f"--threads: found {threads}; allowed: 1 to {cores()}, the cores of this machine"
        )
    for comparison in compared:
        comparison.refuse_missing_packages()
    if any(curve.prepare in (planning.ours, planning.snakemake) for curve in grow):
        planning.refuse_elsewhere()
    refuse_taken(out)
    with alone(out):
        measured = [_compare(comparison, sizes, pairs, threads) for comparison in compared]
        grown = [_grow(curve, sizes, pairs, threads) for curve in grow]
        facts = machine_facts(threads)
        with whole_folder(out) as partial:
            if measured:
                _write(partial / "bench.csv", report.csv_text(measured))
                _write(partial / "bench.md", report.markdown_text(measured, facts))
                figure.write_figure(measured, partial / "bench")
            if grown:
                _write(partial / "growth.csv", growth_report.csv_text(grown))
                _write(partial / "growth.md", growth_report.markdown_text(grown, facts))
                growth_figure.write_figure(grown, partial / "growth")
    log.info("report: %s", out)


def find(names: Sequence[str]) -> tuple[list[Comparison], list[Curve]]:
    """The comparisons and curves of these names, each once; all for no name.

    Raises:
        LexigraftError: there is none of a name; the message lists those there are.
    """
    compared, grow = comparisons(), curves()
    known = [*compared, *grow]
    for name in names:
        if name not in known:
            raise LexigraftError(f"bench: found {name!r}; allowed: {', '.join(known)}")
    chosen = list(dict.fromkeys(names)) if names else known
    return (
        [compared[name] for name in chosen if name in compared],
        [grow[name] for name in chosen if name in grow],
    )


def _compare(comparison: Comparison, sizes: Sizes, pairs: int, threads: int) -> Measured:
    one = measure(comparison, sizes, pairs, threads)
    log.info(
        "%s: %.2f times as fast as %s (%.2f to %.2f), %.3f of its memory, agreement %s",
        comparison.name,
        one.ratio,
        comparison.peer,
        min(one.ratios),
        max(one.ratios),
        one.memory_ratio,
        one.agreement,
    )
    return one


def _grow(curve: Curve, sizes: Sizes, calls: int, threads: int) -> Grown:
    one = measure_growth(curve, sizes, calls, threads)
    log.info(
        "%s: time grows with the power %.2f (at the end %.2f)",
        curve.name,
        *one.exponents(one.seconds),
    )
    return one


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
