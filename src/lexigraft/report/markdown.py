"""A table as Markdown that also reads well in a terminal.

Each model has a line of ours, a line of what the paper reports and a line of the difference.
"""

import os
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from lexigraft.report import text
from lexigraft.report.results import measures_folder
from lexigraft.report.tables import Cell, Side, Table, TableRow

SUPERSCRIPTS = str.maketrans("0123456789,", "⁰¹²³⁴⁵⁶⁷⁸⁹˒")
OURS = "ours"
"""Source of an experiment that no paper has."""
INDENT = "\u2003"
"""An em space: Markdown drops plain ones at the start of a cell."""


def markdown_text(table: Table, results: Path, folder: Path) -> str:
    """The table with its footnotes and, for each row, links to the evaluations behind it.

    Args:
        results: the results folder.
        folder: where the text will lie; links are relative to it.
    """
    intro = f"Ours at scale `{table.scale}`"
    if table.source.get("document") != OURS:
        intro += f", beside {text.source_name(table.source)} of the paper"
    intro += "."
    if any(column.ranked for column in table.columns):
        intro += (
            " Effectiveness in hundredths, mean over seeds ± standard deviation where several. "
            "**Bold**: best of its group; <u>underlined</u>: best of all; among ours and among the "
            "reported values separately."
        )
    parts = [f"# {table.title}", intro]
    if table.note:
        parts.append(table.note)
    parts.append(aligned(_lines(table), right=range(2, 3 + len(table.columns))))
    if table.footnotes:
        parts.append(
            "\n".join(f"{_mark((n,))} {note}  " for n, note in enumerate(table.footnotes, 1))
        )
    traced = [line for row in table.rows for line in _trace(row, results, folder)]
    if traced:
        parts.append("## Where each row comes from")
        parts.append("\n".join(traced))
    return "\n\n".join(parts) + "\n"


def _lines(table: Table) -> list[list[str]]:
    head = ["Model", "", "Teachers"]
    for column in table.columns:
        note = table.column_notes.get(column.key)
        head.append(f"{column.role_heading} {column.heading}" + (_mark((note,)) if note else ""))
    lines = [[*head, "Seeds"]]
    for group, rows in table.groups().items():
        if group:
            lines.append([f"*{escape(group)}*"] + [""] * (len(head)))
        for row in rows:
            lines += _row_lines(row)
    return lines


def _row_lines(row: TableRow) -> list[list[str]]:
    sides: list[tuple[str, list[str]]] = []
    if row.status == "run":
        sides.append(("ours", [_value(cell, "ours") for cell in row.cells]))
    if any(cell.reported is not None for cell in row.cells):
        sides.append(("paper", [_value(cell, "reported") for cell in row.cells]))
    if any(cell.difference is not None for cell in row.cells):
        differences = [text.signed(cell.difference, cell.column) for cell in row.cells]
        sides.append(("difference", differences))
    if not sides:
        sides.append(("not run", [text.MISSING] * len(row.cells)))
    label = escape(row.label)
    label = f"{INDENT}{label}" if label.startswith("+") else label
    if row.collapse:
        label += " ✗ collapsed"
    lines = []
    teachers = {"ours": row.teachers, "paper": row.reported_teachers}
    for index, (name, values) in enumerate(sides):
        first = index == 0
        lines.append(
            [
                label + _mark(row.notes) if first else "",
                name,
                text.count(teachers[name]) if name in teachers else "",
                *values,
                str(row.seeds) if first and row.status == "run" else "",
            ]
        )
    return lines


def _value(cell: Cell, side: Side) -> str:
    shown = " ± ".join(part for part in cell.printed(side) if part)
    if side in cell.bold:
        shown = f"**{shown}**"
    if side in cell.underlined:
        shown = f"<u>{shown}</u>"
    return shown


def _trace(row: TableRow, results: Path, folder: Path) -> list[str]:
    lines = []
    for seed, identities in row.evaluations.items():
        links = []
        for identity in identities:
            target = os.path.relpath(measures_folder(results, identity), folder)
            links.append(f"[{identity}]({Path(target).as_posix()})")
        lines.append(f"- `{row.id}`, seed {seed}: {', '.join(links)}")
    return lines


def _mark(numbers: Sequence[int]) -> str:
    return ",".join(str(number) for number in numbers).translate(SUPERSCRIPTS)


def escape(label: str) -> str:
    """Text in a cell: a bar would end it, a star would start emphasis."""
    return label.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("\n", " ")


def code(token: str) -> str:
    """A token in a cell: its bar escaped, its back-ticks fenced."""
    fence = "``" if "`" in token else "`"
    return f"{fence}{token}{fence}".replace("|", "\\|")


def aligned(lines: list[list[str]], right: range) -> str:
    """A Markdown table whose columns line up in a monospaced font; the first line is its head."""
    widths = [max(3, *(width(line[i]) for line in lines)) for i in range(len(lines[0]))]
    drawn = []
    for line in lines:
        cells = []
        for i, cell in enumerate(line):
            padding = " " * (widths[i] - width(cell))
            cells.append(padding + cell if i in right else cell + padding)
        drawn.append("| " + " | ".join(cells) + " |")
    rule = ["-" * (w - 1) + ":" if i in right else "-" * w for i, w in enumerate(widths)]
    drawn.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(drawn)


def width(cell: str) -> int:
    """Columns that a text takes in a terminal."""
    wide = {"W", "F"}
    marks = {"Mn", "Me"}
    return sum(
        0
        if unicodedata.category(c) in marks
        else 2
        if unicodedata.east_asian_width(c) in wide
        else 1
        for c in cell
    )
