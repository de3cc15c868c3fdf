"""Experiments: a table or figure of a paper as a base and rows, or a base and a sweep."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.specs.documents import check, read_document, schema
from lexigraft.specs.neighbours import (
    Neighbours,
    PlannedNeighbours,
    deltas_at,
    neighbours_of,
)


@dataclass(frozen=True)
class Row:
    """One row of an experiment as its file states it."""

    id: str
    label: str
    group: str = ""
    deltas: Mapping[str, Any] | None = None
    """Deltas on the scale's run, the base included; None for a row that is always cited. A row with
    both is run where the scale has its backbone and cited elsewhere."""
    at: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further deltas at one scale and those that extend it, by its name."""
    cited: str = ""
    seeds: str = "one"
    main: bool = False
    note: str = ""
    teachers: int | None = None
    reported: tuple[float | None, ...] = ()
    reported_spread: tuple[float | None, ...] = ()
    reported_sets: Mapping[str, float] = field(default_factory=dict)
    """What is reported of single sets, by name, for the columns of `each`."""

    def deltas_at(self, scales: Sequence[str]) -> Mapping[str, Any]:
        """All deltas that hold at a scale: its name, after that of the scale that it extends."""
        return deltas_at(self.deltas or {}, self.at, scales)


@dataclass(frozen=True)
class Experiment:
    """One file of `workflow/experiments`."""

    name: str
    path: Path
    title: str
    source: Mapping[str, Any]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    figure: str = ""
    note: str = ""
    neighbours: Neighbours | None = None
    """Words in the place of rows; there are no rows and no columns then."""


@dataclass(frozen=True)
class PlannedRow:
    """A row and where its results lie."""

    id: str
    label: str
    group: str = ""
    cited: str = ""
    reported: tuple[float | None, ...] = ()
    reported_spread: tuple[float | None, ...] = ()
    main: bool = False
    note: str = ""
    teachers: int | None = None
    evaluations: Mapping[int, Mapping[str, tuple[tuple[str, str], ...]]] = field(
        default_factory=dict
    )
    """Seed to role to (id of the evaluate stage, name of the set); empty for a row that is cited or
    not planned."""
    random: bool = True
    """Whether the seed plays a part in it; not in BM25."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the run is made of, for figures: backbone, head, target, calibrated, adapted. Of a row
    that is cited for want of its backbone: `missing`, the backbone."""


@dataclass(frozen=True)
class PlannedExperiment:
    """An experiment and where its rows' results lie."""

    name: str
    title: str
    source: Mapping[str, Any]
    columns: tuple[str, ...]
    rows: tuple[PlannedRow, ...]
    scale: str
    figure: str = ""
    note: str = ""
    neighbours: PlannedNeighbours | None = None
    """Words in the place of rows; there are no rows and no columns then."""


def experiment_names(root: Path) -> list[str]:
    """All experiments that there are, configured or not; table2 before table10."""
    names = [path.stem for path in (root / "workflow" / "experiments").glob("*.yaml")]
    return sorted(names, key=lambda name: (re.sub(r"\d+", "", name), len(name), name))


def load_experiment(root: Path, name: str) -> Experiment:
    """Read `workflow/experiments/<name>.yaml`.

    Raises:
        LexigraftError: the file is missing or breaks its schema, two rows share an id, a list of
            reported values is not as long as the columns, or what `neighbours_of` refuses.
    """
    path = root / "workflow" / "experiments" / f"{name}.yaml"
    document = read_document(path, schema("experiment", root))
    neighbours = neighbours_of(document, path) if "neighbours" in document else None
    if neighbours is not None:
        _refuse_unknown_scales(root, neighbours.at, f"{path}: neighbours")
    rows = tuple(_swept(document, name, path) if "sweep" in document else _stated(document))
    ids = Counter(row.id for row in rows)
    for row in rows:
        _refuse_unknown_scales(root, row.at, f"{path}: row {row.id!r}")
        if ids[row.id] > 1:
            raise LexigraftError(f"{path}: rows: id {row.id!r} stands twice")
        for key in ("reported", "reported_spread"):
            found, wanted = len(getattr(row, key)), len(document["columns"])
            if found not in (0, wanted):
                raise LexigraftError(
                    f"{path}: row {row.id!r}: {key} has {found} values; "
                    f"allowed: {wanted}, one a column"
                )
    return Experiment(
        name=name,
        path=path,
        title=document["title"],
        source=document["source"],
        columns=tuple(document.get("columns", ())),
        rows=rows,
        figure=document.get("figure", ""),
        note=document.get("note", ""),
        neighbours=neighbours,
    )


def _refuse_unknown_scales(root: Path, at: Mapping[str, Any], where: str) -> None:
    scales = {path.stem for path in (root / "workflow" / "scales").glob("*.yaml")}
    for scale in at:
        if scale not in scales:
            raise LexigraftError(
                f"{where}: at: {scale!r} is no scale; allowed: {', '.join(sorted(scales))}"
            )


def _stated(document: Mapping[str, Any]) -> list[Row]:
    return [
        Row(
            id=row["id"],
            label=row["label"],
            group=row.get("group", ""),
            deltas={**document.get("base", {}), **row["run"]} if "run" in row else None,
            at=row.get("at", {}),
            cited=row.get("cited", ""),
            seeds=row.get("seeds", document.get("seeds", "one")),
            main=row.get("main", False),
            note=row.get("note", ""),
            teachers=row.get("teachers"),
            reported=tuple(row.get("reported", ())),
            reported_spread=tuple(row.get("reported_spread", ())),
            reported_sets=row.get("reported_sets", {}),
        )
        for row in document.get("rows", ())
    ]


def _swept(document: Mapping[str, Any], name: str, path: Path) -> list[Row]:
    """The product of the axes, the last one fastest; a row is named by its values."""
    axes = document["sweep"]
    allowed = schema("experiment", path.parents[2])["$defs"]["run"]
    for axis, values in axes.items():
        for value in values:
            check({axis: value}, allowed, f"{path}: sweep")
    reported = {str(key): values for key, values in document.get("reported", {}).items()}
    rows = []
    for values in itertools.product(*axes.values()):
        key = ", ".join(str(value) for value in values)
        rows.append(
            Row(
                id=f"{name}-" + "-".join(str(value).lower() for value in values),
                label=", ".join(f"{a} = {v}" for a, v in zip(axes, values, strict=True)),
                deltas={**document.get("base", {}), **dict(zip(axes, values, strict=True))},
                seeds=document.get("seeds", "one"),
                main=True,
                reported=tuple(reported.pop(key, ())),
            )
        )
    if reported:
        raise LexigraftError(f"{path}: reported: {next(iter(reported))!r} is no value of the sweep")
    return rows
