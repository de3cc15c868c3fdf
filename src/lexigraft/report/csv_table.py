"""A table as CSV: one line a cell, every number in full, for other programs."""

import csv
import io
from pathlib import Path

from lexigraft.report.results import measures_place
from lexigraft.report.tables import Table

FIELDS = (
    "experiment",
    "scale",
    "row",
    "group",
    "label",
    "status",
    "collapse",
    "teachers",
    "reported_teachers",
    "column",
    "ours",
    "deviation",
    "seeds",
    "reported",
    "reported_spread",
    "difference",
    "best_of_group",
    "best_of_table",
    "evaluations",
    "footnotes",
)


def csv_text(table: Table, results: Path) -> str:
    """The table in long form; `evaluations` holds the folders behind a cell, relative to the
    results folder and split by spaces."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        for cell in row.cells:
            numbers = [*row.notes]
            if cell.column.key in table.column_notes:
                numbers.append(table.column_notes[cell.column.key])
            writer.writerow(
                {
                    "experiment": table.name,
                    "scale": table.scale,
                    "row": row.id,
                    "group": row.group,
                    "label": row.label,
                    "status": row.status,
                    "collapse": row.collapse.verdict if row.collapse else "",
                    "teachers": _whole(row.teachers),
                    "reported_teachers": _whole(row.reported_teachers),
                    "column": cell.column.key,
                    "ours": _full(cell.ours),
                    "deviation": _full(cell.deviation),
                    "seeds": " ".join(str(seed) for seed in cell.by_seed or ()),
                    "reported": _full(cell.reported),
                    "reported_spread": _full(cell.reported_spread),
                    "difference": _full(cell.difference),
                    "best_of_group": " ".join(sorted(cell.bold)),
                    "best_of_table": " ".join(sorted(cell.underlined)),
                    "evaluations": " ".join(
                        measures_place(results, identity) for identity in cell.evaluations
                    ),
                    "footnotes": " ".join(table.footnotes[number - 1] for number in numbers),
                }
            )
    return stream.getvalue()


def _whole(value: int | None) -> str:
    return "" if value is None else str(value)


def _full(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
