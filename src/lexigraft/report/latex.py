"""A table as LaTeX for the booktabs package (`\\usepackage{booktabs}`, UTF-8 input)."""

from collections.abc import Sequence
from itertools import groupby

from lexigraft.report import text
from lexigraft.report.markdown import OURS
from lexigraft.report.tables import Cell, Side, Table, TableRow

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "–": "--",
    "✗": r"$\times$",
    "`": "",
    "[": "{[}",
}


def latex_text(table: Table) -> str:
    """A `table` environment: booktabs rules, roles above measures, footnotes below."""
    columns = len(table.columns) + 3
    body = []
    for group, rows in table.groups().items():
        body.append(r"\midrule")
        if group:
            body.append(rf"\multicolumn{{{columns}}}{{l}}{{\textit{{{escape(group)}}}}} \\")
        for row in rows:
            body += _row_lines(row)
    caption = f"{table.title}. Ours at scale {table.scale}"
    if table.source.get("document") != OURS:
        caption += f", beside {text.source_name(table.source)} of the paper"
    caption += "."
    if any(column.ranked for column in table.columns):
        caption += (
            " Bold: best of its group; underlined: best of all; among ours and among the reported "
            "values separately."
        )
    notes = [
        rf"\textsuperscript{{{number}}} {escape(note)}\par"
        for number, note in enumerate(table.footnotes, 1)
    ]
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{llr{'r' * len(table.columns)}}}",
        r"\toprule",
        *_head(table),
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if notes:
        lines += [r"\par\smallskip", r"\begin{minipage}{\linewidth}\scriptsize", *notes]
        lines.append(r"\end{minipage}")
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def escape(plain: str) -> str:
    """Text with the characters that LaTeX takes for commands made harmless."""
    return "".join(SPECIAL.get(character, character) for character in plain)


def _head(table: Table) -> list[str]:
    roles, rules, first = [], [], 4
    for (name, note), group in groupby(
        table.columns, key=lambda c: (c.role_heading, table.column_notes.get(c.key))
    ):
        span = len(list(group))
        mark = rf"\textsuperscript{{{note}}}" if note else ""
        roles.append(rf"\multicolumn{{{span}}}{{c}}{{{escape(name)}{mark}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + span - 1}}}")
        first += span
    measures = [escape(column.heading) for column in table.columns]
    return [
        " & ".join(["", "", "", *roles]) + r" \\",
        "".join(rules),
        " & ".join(["Model", "", "Teach.", *measures]) + r" \\",
    ]


def _row_lines(row: TableRow) -> list[str]:
    sides: list[tuple[str, list[str]]] = []
    if row.status == "run":
        seeds = f" ({row.seeds} seeds)" if row.seeds > 1 else ""
        sides.append(("ours" + seeds, [_value(cell, "ours") for cell in row.cells]))
    if any(cell.reported is not None for cell in row.cells):
        sides.append(("paper", [_value(cell, "reported") for cell in row.cells]))
    if any(cell.difference is not None for cell in row.cells):
        signs = [escape(text.signed(cell.difference, cell.column)) for cell in row.cells]
        sides.append(("difference", signs))
    if not sides:
        sides.append(("not run", ["--"] * len(row.cells)))
    label = escape(row.label)
    label = rf"\quad {label}" if row.label.startswith("+") else label
    if row.collapse:
        label += r" \textit{(collapsed)}"
    label += _mark(row.notes)
    teachers = {"ours": row.teachers, "paper": row.reported_teachers}
    lines = []
    for index, (name, values) in enumerate(sides):
        side = name.split(" ")[0]
        shown = escape(text.count(teachers[side])) if side in teachers else ""
        start = [label if index == 0 else "", name, shown]
        lines.append(" & ".join([*start, *values]) + r" \\")
    return lines


def _value(cell: Cell, side: Side) -> str:
    value, spread = cell.printed(side)
    shown = escape(value)
    if side in cell.bold:
        shown = rf"\textbf{{{shown}}}"
    if side in cell.underlined:
        shown = rf"\underline{{{shown}}}"
    if spread:
        shown += rf"\textsubscript{{{spread}}}"
    return shown


def _mark(numbers: Sequence[int]) -> str:
    marks = ",".join(str(number) for number in numbers)
    return rf"\textsuperscript{{{marks}}}" if marks else ""
