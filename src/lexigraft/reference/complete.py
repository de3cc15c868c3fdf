"""Whether a run is finished and is the one that is planned, so that it may become a reference."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object
from lexigraft.reference.cells import RUN, TableCells, read_cells
from lexigraft.reference.lock import pins
from lexigraft.specs.experiments import PlannedExperiment
from lexigraft.specs.plan import Plan

LAST = "index.html"
"""What a run makes last."""
AGAIN = (
    "state --scale, --rows and --seed as the run had them, or remove the table and make it again"
)


def refuse_incomplete(plan: Plan, parts: Iterable[str]) -> None:
    """Refuse a run that is not finished, or whose tables are not those of the plan.

    Args:
        plan: what the run was to make; its outputs are there.
        parts: files of the run that are to be kept.

    Raises:
        LexigraftError: a file is missing or older than what it is made of, or a table is of another
            scale, other rows, other seeds or other outputs than the plan's.
    """
    results, scale = plan.config.results, plan.config.scale.name
    made = [results / part for part in parts]
    for path in (*made, results / LAST):
        if not path.is_file():
            raise LexigraftError(
                f"{path}: no such file; the run is not complete: snakemake makes what is missing"
            )
    for name, experiment in plan.experiments.items():
        path = results / "tables" / f"{name}.csv"
        _refuse_another_plan(path, read_cells(path), experiment, plan)
        _refuse_older(path, (Path(folder) / "spec.json" for folder in plan.evaluations([name])))
    _refuse_other_claims(results / "claims.json", scale)
    _refuse_older(results / LAST, made)


def _refuse_another_plan(
    path: Path, table: TableCells, experiment: PlannedExperiment, plan: Plan
) -> None:
    """A table that other values of --scale, --rows or --seed, or another version, made."""
    if table.scale != experiment.scale:
        raise LexigraftError(f"{path}: is of scale {table.scale!r}; allowed: {experiment.scale!r}")
    if experiment.neighbours is not None:
        transfer = {f"transfer/{experiment.neighbours.transfer}"}
        planned = dict.fromkeys(table.status, (RUN, "", transfer))
    else:
        planned = {
            row.id: (
                RUN if row.evaluations else "cited" if row.cited else "not run",
                " ".join(str(seed) for seed in row.evaluations),
                {
                    f"{plan.stages[identity].stage}/{identity}"
                    for roles in row.evaluations.values()
                    for pairs in roles.values()
                    for identity, _ in pairs
                },
            )
            for row in experiment.rows
        }
    if missing := set(planned) ^ set(table.status):
        raise LexigraftError(
            f"{path}: row {min(missing)!r} is in the table or in the plan and not in both; {AGAIN}"
        )
    for row, (status, seeds, folders) in planned.items():
        found = table.status[row]
        if found != status:
            raise LexigraftError(
                f"{path}: row {row!r}: found {found!r}, planned {status!r}; {AGAIN}"
            )
        if table.seeds[row] and table.seeds[row] != seeds:
            raise LexigraftError(
                f"{path}: row {row!r}: found seeds {table.seeds[row]}, planned {seeds}; {AGAIN}"
            )
        if other := table.folders[row] - folders:
            raise LexigraftError(
                f"{path}: row {row!r} comes from {min(other)}, planned is "
                f"{', '.join(sorted(folders)) or 'nothing'}; {AGAIN}"
            )


def _refuse_older(path: Path, parts: Iterable[Path]) -> None:
    made = path.stat().st_mtime
    for part in parts:
        if part.stat().st_mtime > made:
            raise LexigraftError(
                f"{path}: is older than {part}; the run is not complete: let snakemake finish it"
            )


def _refuse_other_claims(path: Path, scale: str) -> None:
    found = member(read_object(path), "scale", str, str(path))
    if found != scale:
        raise LexigraftError(f"{path}: is of scale {found!r}; allowed: {scale!r}")


def refuse_other_versions(lock: Path, environments: Iterable[Mapping[str, Any]]) -> None:
    """Refuse environments with another version of a package than the lock pins.

    Raises:
        LexigraftError: there is one.
    """
    pinned = pins(lock)
    for environment in environments:
        for package, version in environment["versions"].items():
            if pinned.get(package, version) != version:
                raise LexigraftError(
                    f"{lock}: pins {package} {pinned[package]}, the run was made with {version}; "
                    "a reference is made with the pinned versions"
                )
