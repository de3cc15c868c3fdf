"""What was measured in a table, read from its CSV: of models, or of words.

Reported values, labels and footnotes are left out: they are the experiment's, not the run's.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from lexigraft.errors import LexigraftError
from lexigraft.specs.columns import parse_column

RUN = "run"
"""Status of a row that was run."""
COLLAPSE = "collapse"
"""Stands for a column: the verdict of a row's health, empty where it is healthy."""
OF_MODELS = ("scale", "row", "status", "collapse", "column", "ours", "deviation", "seeds")
OF_WORDS = (
    "scale",
    "word",
    "rank",
    "anchor",
    "weight",
    "fate",
    "partner",
    "sub_tokens",
    "with_weight",
)
WEIGHT_DECIMALS = 3
"""Decimals of an anchor's weight in print."""


@dataclass(frozen=True)
class Cell:
    """One value that was measured."""

    printed: str
    number: Decimal | None = None
    """In the unit that is printed; None for a text."""
    decimals: int = 0
    deviation: Decimal | None = None
    """Standard deviation over the seeds, where there are several."""
    seeds: int = 0


@dataclass
class TableCells:
    """A table's cells that have a value; rows and columns in the order of the file."""

    name: str
    scale: str
    status: dict[str, str] = field(default_factory=dict)
    """Row to `run`, `cited` or `not run`. A word is a row that was run."""
    columns: list[str] = field(default_factory=list)
    cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    """Row and column to the value."""
    seeds: dict[str, str] = field(default_factory=dict)
    """Row to its seeds, split by spaces."""
    folders: dict[str, set[str]] = field(default_factory=dict)
    """Row to the folders that its values come from, as `<stage>/<id>`."""

    def ids(self, row: str) -> set[str]:
        """Ids of the outputs that a row's values come from."""
        return {Path(folder).name for folder in self.folders[row]}


def tables_in(folder: Path) -> list[Path]:
    """The CSV files of the tables of a run or a reference, table2 before table10.

    Raises:
        LexigraftError: there is none.
    """
    paths = sorted((folder / "tables").glob("*.csv"), key=_in_order)
    if not paths:
        raise LexigraftError(f"{folder / 'tables'}: no table; run snakemake first")
    return paths


def _in_order(path: Path) -> tuple[str, int]:
    name = path.stem.rstrip("0123456789")
    return name, int(path.stem[len(name) :] or 0)


def read_cells(path: Path) -> TableCells:
    """Read `<table>.csv`.

    Raises:
        LexigraftError: the file is missing, no CSV, lacks a column, has no cell or one twice, is
            about several scales, or holds a value that is no finite number.
    """
    lines = _lines(path)
    words = "anchor" in lines[0]
    place = "transfer" if words else "evaluations"
    for name in (*(OF_WORDS if words else OF_MODELS), place):
        if name not in lines[0]:
            raise LexigraftError(f"{path}: no column {name!r}")
    scales = dict.fromkeys(line["scale"] for line in lines)
    if len(scales) > 1:
        raise LexigraftError(f"{path}: cells of the scales {', '.join(scales)}; allowed: one scale")
    table = TableCells(name=path.stem, scale=next(iter(scales)))
    seen: set[tuple[str, str]] = set()
    for line in lines:
        row, key = (line["word"], line["rank"]) if words else (line["row"], line["column"])
        if (row, key) in seen:
            raise LexigraftError(f"{path}: the cell {row!r}, {key!r} stands twice")
        seen.add((row, key))
        table.folders.setdefault(row, set()).update([line[place]] if words else line[place].split())
        for column, cell in (_of_word if words else _of_model)(line, str(path)):
            if column not in table.columns:
                table.columns.append(column)
            if cell is not None:
                table.cells[row, column] = cell
        table.status[row] = RUN if words else line["status"]
        table.seeds[row] = "" if words else line["seeds"] or table.seeds.get(row, "")
    return table


def _lines(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            lines = []
            for line in reader:
                if None in line or None in line.values():
                    raise LexigraftError(
                        f"{path}: line {reader.line_num} has not as many fields as the first"
                    )
                lines.append(line)
    except OSError as error:
        raise LexigraftError(f"{path}: {error.strerror or error}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise LexigraftError(f"{path}: not valid CSV ({error})") from None
    if not lines:
        raise LexigraftError(f"{path}: no cell; names and one line of values or more are needed")
    return lines


def _of_model(line: Mapping[str, str], path: str) -> Iterable[tuple[str, Cell | None]]:
    where = f"{path}: row {line['row']!r}, column {line['column']!r}"
    try:
        decimals = parse_column(line["column"]).decimals
    except LexigraftError as error:
        raise LexigraftError(f"{path}: {error}") from None
    measured = _value(line["ours"], decimals, where)
    if measured is not None and line["deviation"]:
        deviation, seeds = _number(line["deviation"], where), len(line["seeds"].split())
        measured = replace(measured, deviation=deviation, seeds=seeds)
    return (line["column"], measured), (COLLAPSE, _text(line["collapse"]))


def _of_word(line: Mapping[str, str], path: str) -> Iterable[tuple[str, Cell | None]]:
    where = f"{path}: word {line['word']!r}, rank {line['rank']!r}"
    return (
        ("fate", _text(line["fate"])),
        ("partner", _text(line["partner"])),
        ("sub_tokens", _text(line["sub_tokens"])),
        ("with_weight", _value(line["with_weight"], 0, where)),
        (f"anchor {line['rank']}", _text(line["anchor"])),
        (f"weight {line['rank']}", _value(line["weight"], WEIGHT_DECIMALS, where)),
    )


def _text(value: str) -> Cell | None:
    return Cell(value) if value else None


def _value(value: str, decimals: int, where: str) -> Cell | None:
    if not value:
        return None
    number = _number(value, where)
    return Cell(f"{float(number):.{decimals}f}", number, decimals)


def _number(value: str, where: str) -> Decimal:
    try:
        number = Decimal(value)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise LexigraftError(f"{where}: found {value!r}; allowed: a finite number or nothing")
    return number
