"""A table of an experiment: ours beside the reported values, marks for the best, footnotes.

Ours is the mean over seeds; the marks follow the paper's table 2: the best of each group is bold,
the best of all groups underlined, among our values and among the reported ones separately.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from lexigraft.files import whole_file
from lexigraft.report import text
from lexigraft.report.measured import (
    Collapse,
    EngineRecall,
    collapse_of,
    engine_recall_of,
    evaluations_of,
    measure,
    roles_of,
)
from lexigraft.report.results import Results
from lexigraft.specs.columns import Column, parse_column
from lexigraft.specs.experiments import PlannedExperiment, PlannedRow

Status = Literal["run", "cited", "not run"]
Side = Literal["ours", "reported"]


@dataclass(frozen=True)
class Cell:
    """One row under one column, in the unit that is printed; None where there is no value."""

    column: Column
    ours: float | None = None
    deviation: float | None = None
    """Sample standard deviation over seeds."""
    by_seed: Mapping[int, float] | None = None
    reported: float | None = None
    reported_spread: float | None = None
    evaluations: tuple[str, ...] = ()
    """Ids of the evaluate stage behind our value."""
    bold: frozenset[Side] = frozenset()
    """The best of its group."""
    underlined: frozenset[Side] = frozenset()
    """The best of the table."""

    @property
    def difference(self) -> float | None:
        """Ours minus reported."""
        if self.ours is None or self.reported is None:
            return None
        return self.ours - self.reported

    def value(self, side: Side) -> float | None:
        return self.ours if side == "ours" else self.reported

    def printed(self, side: Side) -> tuple[str, str]:
        """Value and spread as they are printed; the spread is empty where there is none."""
        if side == "ours":
            return text.number(self.ours, self.column), text.spread(self.deviation, self.column)
        return text.reported(self.reported), text.spread(self.reported_spread, self.column)


@dataclass(frozen=True)
class TableRow:
    """One model."""

    id: str
    label: str
    group: str
    teachers: int | None
    """Teachers that ours distilled; None without one."""
    reported_teachers: int | None
    status: Status
    cited: str
    cells: tuple[Cell, ...]
    evaluations: Mapping[int, tuple[str, ...]]
    """Seed to the ids of the evaluate stage."""
    collapse: Collapse | None
    engine_recall: EngineRecall | None = None
    notes: tuple[int, ...] = ()
    """Numbers of its footnotes."""

    @property
    def seeds(self) -> int:
        return len(self.evaluations)


@dataclass(frozen=True)
class Table:
    """A whole table, ready to be printed in any form."""

    name: str
    title: str
    source: Mapping[str, object]
    scale: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    footnotes: tuple[str, ...]
    """Numbered from 1."""
    column_notes: Mapping[str, int]
    """Column key to the number of its footnote."""
    note: str = ""

    def groups(self) -> dict[str, list[TableRow]]:
        """Rows by group, in the order of the experiment."""
        groups: dict[str, list[TableRow]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        return groups


def build_table(experiment: PlannedExperiment, results: Path) -> Table:
    """Read the results of an experiment's rows.

    Raises:
        LexigraftError: a planned result is missing, incomplete, NaN or not comparable.
    """
    columns = tuple(parse_column(key) for key in experiment.columns)
    roles = roles_of(experiment)
    read = Results(results)
    rows = [_row(row, columns, read) for row in experiment.rows]
    marked = _marked(rows, columns)
    notes = _Notes()
    column_notes = _column_notes(columns, roles, experiment.scale, notes)
    noted = tuple(
        replace(row, notes=_row_notes(row, planned, rows, notes))
        for row, planned in zip(marked, experiment.rows, strict=True)
    )
    return Table(
        name=experiment.name,
        title=experiment.title,
        source=experiment.source,
        scale=experiment.scale,
        columns=columns,
        rows=noted,
        footnotes=tuple(notes.texts),
        column_notes=column_notes,
        note=experiment.note,
    )


def write_table(experiment: PlannedExperiment, results: Path, out_prefix: Path) -> None:
    """Write `<out_prefix>.csv`, `.md` and `.tex`.

    Raises:
        LexigraftError: a planned result is missing, incomplete, NaN or not comparable.
    """
    for ending, content in _texts(experiment, results, out_prefix.parent).items():
        with whole_file(out_prefix.with_name(out_prefix.name + ending)) as partial:
            partial.write_text(content, encoding="utf-8")


def _texts(experiment: PlannedExperiment, results: Path, folder: Path) -> dict[str, str]:
    """Ending of a file to its content."""
    from lexigraft.report import csv_table, latex, markdown, neighbours_forms
    from lexigraft.report.neighbours import build_neighbours

    if experiment.neighbours is not None:
        words = build_neighbours(experiment, results)
        return {
            ".csv": neighbours_forms.csv_text(words),
            ".md": neighbours_forms.markdown_text(words, results, folder),
            ".tex": neighbours_forms.latex_text(words),
        }
    table = build_table(experiment, results)
    return {
        ".csv": csv_table.csv_text(table, results),
        ".md": markdown.markdown_text(table, results, folder),
        ".tex": latex.latex_text(table),
    }


def _row(row: PlannedRow, columns: tuple[Column, ...], results: Results) -> TableRow:
    status: Status = "run" if row.evaluations else "cited" if row.cited else "not run"
    reported = row.reported or (None,) * len(columns)
    spread = row.reported_spread or (None,) * len(columns)
    cells = []
    for column, value, deviation in zip(columns, reported, spread, strict=True):
        cell = Cell(column, reported=value, reported_spread=deviation)
        measured = measure(row, column, results)
        if measured is not None:
            cell = replace(
                cell,
                ours=measured.mean,
                # Tokenizers do not depend on seeds: a spread of zero would only look like one.
                deviation=None if column.certain else measured.deviation,
                by_seed=measured.by_seed,
                evaluations=measured.evaluations,
            )
        cells.append(cell)
    return TableRow(
        id=row.id,
        label=row.label,
        group=row.group,
        teachers=1 if row.evaluations and row.facts.get("distilled") else None,
        reported_teachers=row.teachers,
        status=status,
        cited=row.cited,
        cells=tuple(cells),
        evaluations=evaluations_of(row),
        collapse=collapse_of(row, results),
        engine_recall=engine_recall_of(row, results),
    )


def _marked(rows: list[TableRow], columns: tuple[Column, ...]) -> list[TableRow]:
    """The rows with the best of each group and of the table marked; ties in print are all best."""
    sides: tuple[Side, ...] = ("ours", "reported")
    marked = []
    for row in rows:
        cells = []
        for index, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
            bold, underlined = set(), set()
            for side in sides if column.ranked else ():
                value = _printed(cell, side)
                peers = [_printed(r.cells[index], side) for r in rows]
                group = [_printed(r.cells[index], side) for r in rows if r.group == row.group]
                if value is not None and value == _highest(group):
                    bold.add(side)
                if value is not None and value == _highest(peers):
                    underlined.add(side)
            cells.append(replace(cell, bold=frozenset(bold), underlined=frozenset(underlined)))
        marked.append(replace(row, cells=tuple(cells)))
    return marked


def _printed(cell: Cell, side: Side) -> float | None:
    value = cell.value(side)
    # Reported values are printed as their source does, ours with the decimals of the column.
    return value if value is None or side == "reported" else round(value, cell.column.decimals)


def _highest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


class _Notes:
    """Footnotes in the order of their first use; the same text has one number."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, note: str) -> int:
        if note not in self.texts:
            self.texts.append(note)
        return self.texts.index(note) + 1


def _column_notes(
    columns: tuple[Column, ...], roles: Mapping[str, tuple[str, ...]], scale: str, notes: _Notes
) -> dict[str, int]:
    """A footnote for each role: which sets it is the mean of, or that it has none here."""
    numbers = {}
    for column in columns:
        name = column.role_heading
        if column.only:
            continue
        if column.role in roles:
            sets = roles[column.role]
            plural = "sets" if len(sets) > 1 else "set"
            mean = "mean over the" if len(sets) > 1 else "the"
            note = f"{name} at scale {scale}: {mean} {plural} {', '.join(sets)}."
        elif roles:
            note = f"{name}: no sets at scale {scale}, so there is only what the paper reports."
        else:
            continue
        numbers[column.key] = notes.number(note)
    return numbers


def _row_notes(
    row: TableRow, planned: PlannedRow, rows: list[TableRow], notes: _Notes
) -> tuple[int, ...]:
    numbers = []
    if row.status == "cited":
        cited = "; ".join(f"{r.label} ({r.cited})" for r in rows if r.status == "cited")
        numbers.append(notes.number(f"Cited as the paper reports it, not run: {cited}."))
    if row.status == "not run":
        numbers.append(
            notes.number("Not run here: no main row, so part of `all` (`rows: all` runs it).")
        )
    if row.collapse is not None:
        numbers.append(notes.number(f"{_name(row)}: {row.collapse.sentence()}."))
    if row.engine_recall is not None:
        engine = planned.facts.get("engine", "an approximate engine")
        told = row.engine_recall.sentence()
        numbers.append(notes.number(f"{_name(row)}: searched by {engine}, {told}."))
    if planned.note:
        numbers.append(notes.number(planned.note.rstrip(".") + "."))
    return tuple(numbers)


def _name(row: TableRow) -> str:
    """The label; a row that continues another (`+ calibration`) by its id, which says of which."""
    return f"{row.id} ({row.label})" if row.label.startswith("+") else row.label
