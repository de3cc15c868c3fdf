"""A run held against a reference: every cell of every table, and the verdict of every claim.

A number differs where it prints otherwise *and* is further away than the tolerance, which counts in
units of the last printed digit: 0.1 for effectiveness, 0.01 for FLOPS, 1 for a number of bytes. So
54.04 and 54.06 agree though one prints as 54.0 and the other as 54.1. A text differs where it is
another one, a value where there is none on the other side.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object
from lexigraft.reference.cells import RUN, Cell, TableCells, read_cells, tables_in
from lexigraft.reference.circumstances import Circumstance, circumstances
from lexigraft.reference.outputs import RECORD
from lexigraft.reference.verdicts import ClaimsComparison, compare_claims


@dataclass(frozen=True)
class Difference:
    """A cell that prints otherwise than the reference's."""

    row: str
    column: str
    here: str
    """As it is printed; empty where there is no value."""
    reference: str
    difference: float | None = None
    """Here minus reference, in the unit that is printed; None unless both are numbers."""
    digits: float | None = None
    """Its size in units of the last printed digit."""
    deviation: float | None = None
    """The reference's standard deviation over its seeds; None for one seed."""
    seeds: int = 0
    within_spread: bool = False
    """Whether it is at most that standard deviation."""


@dataclass(frozen=True)
class TableComparison:
    """One table against the reference's."""

    name: str
    cells: int
    """In rows that were run on both sides, in shared columns, with a value on one side at least."""
    equal: int
    """Of those, cells that print alike."""
    tolerated: int
    """Cells that print otherwise and are within the tolerance."""
    differing: tuple[Difference, ...]
    """The others, the largest difference first, texts and missing values before all numbers."""
    largest: Difference | None
    """The largest difference of two numbers, tolerated or not; None where all print alike."""
    rows_only_here: tuple[str, ...]
    rows_only_in_reference: tuple[str, ...]
    columns_only_here: tuple[str, ...]
    columns_only_in_reference: tuple[str, ...]
    rows_not_run_here: tuple[str, ...]
    """Rows of both that were run for the reference and not here."""
    rows_not_run_in_reference: tuple[str, ...]
    rows_of_other_options: tuple[str, ...]
    """Rows that come from outputs of other ids, so from other options or other inputs."""

    @property
    def agrees(self) -> bool:
        """Nothing differs and nothing of the reference is lost; what is new is no difference."""
        return not (self.differing or self.rows_only_in_reference or self.columns_only_in_reference)


@dataclass(frozen=True)
class Comparison:
    """A run against a reference."""

    results: str
    reference: str
    tolerance: float
    scale: str
    """Of the tables here; several are split by commas."""
    reference_scale: str
    made_differently: tuple[Circumstance, ...]
    tables: tuple[TableComparison, ...]
    tables_not_made_here: tuple[str, ...]
    tables_not_in_reference: tuple[str, ...]
    claims: ClaimsComparison | None
    """None where no claims were judged here."""

    @property
    def agrees(self) -> bool:
        """Nothing differs beyond the tolerance and no verdict changed."""
        changed = self.claims is not None and self.claims.changed
        return not changed and all(table.agrees for table in self.tables)


def compare(results: Path, reference: Path, tolerance: float) -> Comparison:
    """Hold the tables and claims that were made in `results` against a reference.

    Args:
        tolerance: in units of the last printed digit.

    Raises:
        LexigraftError: the tolerance is negative or no finite number, a folder holds no table, the
            two have no table in common, or a file is not what was written.
    """
    if not math.isfinite(tolerance) or tolerance < 0:
        raise LexigraftError(f"--tolerance: found {tolerance}; allowed: a finite number, 0 or more")
    record = read_object(reference / RECORD, "a reference is made by `lexigraft reference`")
    made, kept = ([path.stem for path in tables_in(folder)] for folder in (results, reference))
    shared = [name for name in kept if name in made]
    if not shared:
        raise LexigraftError(
            f"{results}: nothing to compare; made are {', '.join(made)}, the reference has "
            f"{', '.join(kept)}"
        )
    here, there = (
        [read_cells(folder / "tables" / f"{name}.csv") for name in shared]
        for folder in (results, reference)
    )
    return Comparison(
        results=str(results),
        reference=str(reference),
        tolerance=tolerance,
        scale=", ".join(dict.fromkeys(table.scale for table in here)),
        reference_scale=member(record, "scale", str, str(reference / RECORD)),
        made_differently=circumstances(results, reference, record, here),
        tables=tuple(
            compare_tables(ours, theirs, tolerance)
            for ours, theirs in zip(here, there, strict=True)
        ),
        tables_not_made_here=_without(kept, made),
        tables_not_in_reference=_without(made, kept),
        claims=compare_claims(results / "claims.json", reference / "claims.json"),
    )


def compare_tables(here: TableCells, there: TableCells, tolerance: float) -> TableComparison:
    """One table against the reference's, `there`."""
    both = [row for row in there.status if row in here.status]
    run = [row for row in both if here.status[row] == there.status[row] == RUN]
    columns = [column for column in there.columns if column in here.columns]
    keys = [(row, column) for row in run for column in columns]
    keys = [key for key in keys if key in here.cells or key in there.cells]
    found = [
        difference
        for key in keys
        if (difference := _difference(key, here.cells.get(key), there.cells.get(key)))
    ]
    found.sort(key=lambda d: -math.inf if d.digits is None else -d.digits)
    differing = tuple(d for d in found if d.digits is None or d.digits > tolerance)
    return TableComparison(
        name=there.name,
        cells=len(keys),
        equal=len(keys) - len(found),
        tolerated=len(found) - len(differing),
        differing=differing,
        largest=next((d for d in found if d.digits is not None), None),
        rows_only_here=_without(here.status, there.status),
        rows_only_in_reference=_without(there.status, here.status),
        columns_only_here=_without(here.columns, there.columns),
        columns_only_in_reference=_without(there.columns, here.columns),
        rows_not_run_here=tuple(
            row for row in both if there.status[row] == RUN != here.status[row]
        ),
        rows_not_run_in_reference=tuple(
            row for row in both if here.status[row] == RUN != there.status[row]
        ),
        rows_of_other_options=tuple(row for row in run if here.ids(row) != there.ids(row)),
    )


def _without(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    known = set(others)
    return tuple(name for name in names if name not in known)


def _difference(key: tuple[str, str], here: Cell | None, there: Cell | None) -> Difference | None:
    """None where both print alike."""
    ours, theirs = (cell.printed if cell else "" for cell in (here, there))
    if ours == theirs:
        return None
    if here is None or there is None or here.number is None or there.number is None:
        return Difference(*key, ours, theirs)
    difference = here.number - there.number
    deviation = there.deviation
    return Difference(
        *key,
        ours,
        theirs,
        difference=float(difference),
        digits=float(abs(difference).scaleb(there.decimals)),
        deviation=None if deviation is None else float(deviation),
        seeds=there.seeds,
        within_spread=deviation is not None and abs(difference) <= deviation,
    )
