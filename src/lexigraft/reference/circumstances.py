"""What a run and a reference were made with, where it differs: why numbers may, too.

Another processor, another number of threads or another version adds numbers in another order. The
last bits then differ, and after thousands of steps of training sometimes the last printed digit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.files import as_object, member, read_object, sha256_file
from lexigraft.reference.cells import TableCells
from lexigraft.reference.lock import LOCK, pins
from lexigraft.reference.outputs import (
    ENVIRONMENT,
    OUTPUTS,
    RECORD,
    Output,
    environments_of,
    output_on_disk,
    read_outputs,
)


@dataclass(frozen=True)
class Circumstance:
    """One thing that is not as it was when the reference was made."""

    what: str
    here: str
    reference: str


def circumstances(
    results: Path, reference: Path, record: Mapping[str, Any], tables: Iterable[TableCells]
) -> tuple[Circumstance, ...]:
    """What differs: scale, level of the claims' tests, environments, and the lock of this folder.

    Environments are those of the outputs that both have, where there are any: a run of two tables
    is not held against the machine that made the other eleven. A run without provenance has none.

    Args:
        results: the run's folder.
        reference: the reference's.
        record: its `reference.json`.
        tables: the run's, as far as the reference has them.

    Raises:
        LexigraftError: a record is not what was written.
    """
    tables = tuple(tables)
    where = str(reference / RECORD)
    stated = member(record, "environments", list, where)
    for environment in stated:
        as_object(environment, f"{where}: environments")
        for key, kind in ENVIRONMENT.items():
            member(environment, key, kind, f"{where}: environments")
    kept = read_outputs(reference / OUTPUTS, stated)
    here = _here(results, kept, tables)
    both = {output.id for output in here}
    there = [output for output in kept if output.id in both] or kept
    differing: list[Circumstance | None] = [
        Circumstance(
            "scale",
            ", ".join(dict.fromkeys(table.scale for table in tables)),
            member(record, "scale", str, where),
        ),
        _level(results / "claims.json", record),
        *_environments(environments_of(here), environments_of(there)),
        _lock(Path("envs") / LOCK, reference / LOCK),
    ]
    return tuple(c for c in differing if c is not None and c.here != c.reference)


def _here(results: Path, kept: Iterable[Output], tables: Iterable[TableCells]) -> list[Output]:
    """The run's outputs that the reference has as well, and those that its tables come from."""
    places = [f"{output.stage}/{output.id}" for output in kept]
    for table in tables:
        places += sorted(folder for folders in table.folders.values() for folder in folders)
    found = (output_on_disk(results, place) for place in dict.fromkeys(places))
    return [output for output in found if output is not None]


def _level(claims: Path, record: Mapping[str, Any]) -> Circumstance | None:
    if not claims.is_file():
        return None
    level = read_object(claims).get("level")
    return Circumstance("significance", str(level), str(record.get("significance")))


def _environments(
    here: Iterable[Mapping[str, Any]], there: Iterable[Mapping[str, Any]]
) -> list[Circumstance]:
    sides = [_values(environments) for environments in (here, there)]
    if not all(sides):
        return []
    return [
        Circumstance(name, *(", ".join(side.get(name, ["not recorded"])) for side in sides))
        for name in dict.fromkeys([*sides[1], *sides[0]])
    ]


def _values(environments: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Name of a fact to its values over all environments, in order."""
    values: dict[str, set[str]] = {}
    for environment in environments:
        facts = {"commit": environment["commit"], "threads": environment.get("threads")}
        for name, value in {**facts, **environment["hardware"], **environment["versions"]}.items():
            if value is not None:
                text = ", ".join(value) if isinstance(value, list) else str(value)
                values.setdefault(name, set()).add(text)
    return {name: sorted(found) for name, found in values.items()}


def _lock(here: Path, kept: Path) -> Circumstance | None:
    """The lock of the current folder, where it is a repository of ours."""
    if not here.is_file() or not kept.is_file() or sha256_file(here) == sha256_file(kept):
        return None
    ours, theirs = pins(here), pins(kept)
    names = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    sides = (
        ", ".join(f"{name} {side.get(name, 'absent')}" for name in names) for side in (ours, theirs)
    )
    return Circumstance(str(here), *sides)
