"""What a person reads at the end of a run: the main table, the verdicts, where everything is."""

import csv
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object
from lexigraft.report import text
from lexigraft.specs.columns import parse_column

MAIN = "table2"
"""The table that is shown; the first one where it was not made."""
WIDTH = 98
SIGNS = {"holds": "✓", "fails": "✗", "within noise": "~"}


def summary(results: Path) -> str:
    """Plain text of fewer than 100 columns.

    Raises:
        LexigraftError: there is nothing to sum up yet, or a file is not what was written.
    """
    tables = sorted((results / "tables").glob("*.csv"))
    figures = sorted((results / "figures").glob("*.png"))
    claims = results / "claims.json"
    if not tables and not figures and not claims.is_file():
        raise LexigraftError(f"{results}: no tables, figures or claims; run `make reproduce` first")
    parts = []
    if tables:
        # The table that is shown is one of models; a table of words has other columns.
        main = next((path for path in tables if path.stem == MAIN), None)
        main = main or next(filter(_of_models, tables), None)
        parts += [_part(_table, main)] if main else []
    if claims.is_file():
        parts.append(_part(_claims, claims))
    parts.append(_places(tables, figures, claims))
    return "\n\n".join(parts)


def _part(tell: Callable[[Path], str], path: Path) -> str:
    """What a file says; LexigraftError if its columns or keys are not those that were written."""
    try:
        return tell(path)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise LexigraftError(
            f"{path}: not what was written ({type(error).__name__}: {error}); remove it and make "
            "it again"
        ) from None


def _table(path: Path) -> str:
    """Rows that were run, ours with the reported value in brackets, as many columns as fit."""
    with path.open(encoding="utf-8", newline="") as stream:
        cells = list(csv.DictReader(stream))
    cells = [cell for cell in cells if cell["status"] == "run"]
    if not cells:
        return f"{path.stem}: no row was run"
    keys = [c for c in dict.fromkeys(cell["column"] for cell in cells) if _any(cells, c)]
    rows: dict[str, list[str]] = {}
    collapsed: dict[str, str] = {}
    for cell in cells:
        indent = "  " if cell["label"].startswith("+") else ""
        mark = " ✗" if cell["collapse"] else ""
        row = rows.setdefault(cell["row"], [indent + cell["label"] + mark])
        if cell["column"] in keys:
            row.append(_cell(cell))
        if cell["collapse"]:
            collapsed[cell["row"]] = cell["collapse"]
    heads = [[""], [""]]
    for key in keys:
        column = parse_column(key)
        heads[0].append(column.role_heading)
        heads[1].append(column.heading.replace("Document length", "Doc. len."))
    lines = [*heads, *rows.values()]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads[0]))]
    while sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        widths.pop()
    drawn = [
        "  ".join(
            part.rjust(width) if i else part.ljust(width)
            for i, (part, width) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    ]
    drawn.insert(2, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    notes = [f"✗ {row}: collapsed ({verdict})" for row, verdict in collapsed.items()]
    title = f"{path.stem}, scale {cells[0]['scale']}: ours (the paper's)"
    return "\n".join([title, "", *drawn, *notes])


def _of_models(path: Path) -> bool:
    return "column" in path.read_text(encoding="utf-8").partition("\n")[0].split(",")


def _any(cells: Iterable[dict[str, str]], column: str) -> bool:
    return any(cell["ours"] for cell in cells if cell["column"] == column)


def _cell(cell: dict[str, str]) -> str:
    """Ours, and the reported value in brackets; efficiency is ours only, to stay narrow."""
    column = parse_column(cell["column"])
    shown = text.number(float(cell["ours"]) if cell["ours"] else None, column)
    if cell["deviation"]:
        shown += f"±{text.spread(float(cell['deviation']), column)}"
    if not column.ranked:
        return shown
    reported = f"({text.reported(float(cell['reported']))})" if cell["reported"] else ""
    return f"{shown} {reported:<6}"


def _claims(path: Path) -> str:
    document = read_object(path)
    counts = document["counts"]
    lines = ["Claims: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()), ""]
    for verdict, sign in SIGNS.items():
        for claim in document["claims"]:
            if claim["verdict"] == verdict:
                lines += _claim(claim, sign)
    return "\n".join(lines).rstrip()


def _claim(claim: dict[str, Any], sign: str) -> list[str]:
    column = parse_column(claim["metric"])
    tested = [r for r in claim["relations"] if r["verdict"] != "not run here"]
    measure = f"{column.role_heading.lower()} {column.heading}"
    lines = textwrap.wrap(
        claim["text"], WIDTH, initial_indent=f"  {sign} ", subsequent_indent="    "
    )
    for relation in tested:
        difference = text.signed(relation["difference"], column)
        if relation["reported_difference"] is not None:
            difference += f" (paper {text.signed(relation['reported_difference'], column)})"
        which = f", {SIGNS[relation['verdict']]} {relation['relation']}" if len(tested) > 1 else ""
        detail = f"{measure}{which}: {difference}"
        if relation["collapsed"]:
            detail += f"; {', '.join(relation['collapsed'])} collapsed"
        lines += textwrap.wrap(
            detail, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 8, break_on_hyphens=False
        )
    return lines


def _places(tables: list[Path], figures: list[Path], claims: Path) -> str:
    lines = []
    for path in tables:
        lines.append(f"Table   {path.with_suffix('.md')} (.csv, .tex)")
    for path in figures:
        lines.append(f"Figure  {path} (.svg)")
    if claims.is_file():
        lines.append(f"Claims  {claims.with_suffix('.md')} (.json)")
    if (page := claims.with_name("index.html")).is_file():
        lines.append(f"All on one page  {page}")
    return "\n".join(lines)
