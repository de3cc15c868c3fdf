"""A comparison as text for a person and as a record for programs."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lexigraft.reference.compare import Comparison, Difference, TableComparison
from lexigraft.reference.verdicts import ClaimsComparison

WIDTH = 98
SHOWN = 10
"""Differences that are shown of each table."""
MISSING = "–"


def kept(reference: Mapping[str, Any], out: Path) -> str:
    """What a reference holds, in a line or two, for the person who made it.

    Args:
        reference: its `reference.json`.
        out: its folder.
    """
    stages = reference["stages"]
    outputs, seconds = (
        sum(stage[key] for stage in stages.values()) for key in ("outputs", "seconds")
    )
    lines = [
        f"{out}: {_count(len(reference['experiments']), 'table')} of scale {reference['scale']}, "
        f"{outputs} outputs in {seconds / 60:.0f} minutes of jobs"
    ]
    if untimed := [name for name, stage in stages.items() if stage["untimed"]]:
        lines.append(f"without a time on record: outputs of {', '.join(untimed)}")
    if any(made_in["commit"].endswith("+changes") for made_in in reference["environments"]):
        lines.append("made with changes that were not committed: nobody can get that code back")
    return "\n".join(lines)


def record(comparison: Comparison) -> dict[str, Any]:
    """Everything that was compared, for JSON: all differences, where the text shows some."""
    return {"agrees": comparison.agrees, **asdict(comparison)}


def text(comparison: Comparison) -> str:
    """Plain text: what was made differently, a line a table, the differences, the claims."""
    parts = [
        f"{comparison.results}, scale {comparison.scale}, beside {comparison.reference}, "
        f"scale {comparison.reference_scale}"
    ]
    parts += _circumstances(comparison)
    parts.append(_tables(comparison.tables))
    parts += [part for table in comparison.tables for part in _remarks(table, comparison.tolerance)]
    if absent := comparison.tables_not_made_here:
        parts.append(_wrapped(f"{_count(len(absent), 'table')} not made here: {', '.join(absent)}"))
    if new := comparison.tables_not_in_reference:
        parts.append(_wrapped(f"Not in the reference: {', '.join(new)}"))
    parts += _claims(comparison.claims)
    parts.append(_verdict(comparison))
    return "\n\n".join(parts)


def _circumstances(comparison: Comparison) -> list[str]:
    facts = [
        (each.what, f"{_short(each.here)}; reference: {_short(each.reference)}")
        for each in comparison.made_differently
    ]
    facts += [
        ("options", f"other ones, or other inputs, in {table.name}: {', '.join(rows)}")
        for table in comparison.tables
        if (rows := table.rows_of_other_options)
    ]
    if not facts:
        return []
    lines = ["Made differently, so numbers and close rankings may differ:"]
    width = max(len(what) for what, _ in facts)
    for what, told in facts:
        lines.append(_wrapped(told, f"  {what:{width}}  ", " " * (width + 4)))
    if comparison.scale != comparison.reference_scale:
        lines.append("  Another scale is another experiment: numbers are not expected to agree.")
    return ["\n".join(lines)]


def _short(fact: str) -> str:
    """With commits as people write them."""
    return re.sub(r"\b([0-9a-f]{10})[0-9a-f]{30}\b", r"\1", fact)


def _tables(tables: Sequence[TableComparison]) -> str:
    lines = [["Table", "Cells", "Equal", "Tolerated", "Differ", "Largest difference"]]
    for table in tables:
        counts = (table.cells, table.equal, table.tolerated, len(table.differing))
        where = f"{_place(table.largest)}  {_change(table.largest)}" if table.largest else MISSING
        lines.append([table.name, *(str(count) for count in counts), where])
    return "\n".join(_aligned(lines, right=range(1, 5)))


def _remarks(table: TableComparison, tolerance: float) -> list[str]:
    """What is to be said of one table beside its counts; nothing of one that agrees throughout."""
    lines = []
    for names, told in (
        (table.rows_only_in_reference, "rows only in the reference"),
        (table.columns_only_in_reference, "columns only in the reference"),
        (table.rows_only_here, "rows only here"),
        (table.columns_only_here, "columns only here"),
        (table.rows_not_run_here, "rows not run here"),
        (table.rows_not_run_in_reference, "rows not run for the reference"),
    ):
        if names:
            lines.append(_wrapped(f"{told}: {', '.join(names)}", "  ", "    "))
    if table.differing:
        lines.append(f"  beyond {tolerance:g} in the last printed digit (here, reference):")
        shown = [_line(difference) for difference in table.differing[:SHOWN]]
        lines += ["    " + line for line in _aligned(shown, right=range(2, 5))]
        if more := len(table.differing) - SHOWN:
            lines += [f"    and {more} more; --json has all"] if more > 0 else []
    return ["\n".join([table.name, *lines])] if lines else []


def _line(difference: Difference) -> list[str]:
    sides = [side or MISSING for side in (difference.here, difference.reference)]
    change = _signed(difference) if difference.difference is not None else ""
    return [difference.row, difference.column, *sides, change, _spread(difference)]


def _spread(difference: Difference) -> str:
    if difference.deviation is None:
        return ""
    place = "within" if difference.within_spread else "beyond"
    return f"{place} the spread of {difference.seeds} seeds, ±{difference.deviation:.2g}"


def _place(difference: Difference) -> str:
    return f"{difference.row}, {difference.column}"


def _change(difference: Difference) -> str:
    return f"{difference.here}, reference {difference.reference}"


def _signed(difference: Difference) -> str:
    """With one decimal more than is printed."""
    decimals = len(difference.reference.partition(".")[2]) + 1
    return f"{difference.difference:+.{decimals}f}".replace("-", "−")


def _claims(claims: ClaimsComparison | None) -> list[str]:
    if claims is None:
        return ["No claims were judged here."]
    same = claims.compared - len(claims.changed)
    told = f"{_count(claims.compared, 'claim')} judged on both sides, {same} alike"
    if claims.not_judged_here:
        told += f"; {claims.not_judged_here} of the reference not judged here"
    if claims.not_judged_in_reference:
        told += f"; {claims.not_judged_in_reference} judged here alone"
    lines = [_wrapped(told)]
    for changed in claims.changed:
        lines.append(f"  {changed.claim}: {changed.here}; reference: {changed.reference}")
        lines.append(_wrapped(changed.text, "    ", "    "))
        for relation in changed.relations:
            here = _tested(relation.difference_here, relation.p_here)
            reference = _tested(relation.difference_reference, relation.p_reference)
            told = f"{relation.relation}: {here}; reference: {reference}"
            lines.append(_wrapped(told, "    ", "      "))
    return ["\n".join(lines)]


def _tested(difference: float | None, p: float | None) -> str:
    if difference is None or p is None:
        return "not tested"
    return f"{difference:+.3g} (p {p:.2g})".replace("-", "−")


def _verdict(comparison: Comparison) -> str:
    if comparison.agrees:
        return "Nothing differs beyond the tolerance."
    values = sum(len(table.differing) for table in comparison.tables)
    lost = sum(
        len(table.rows_only_in_reference) + len(table.columns_only_in_reference)
        for table in comparison.tables
    )
    spread = sum(d.within_spread for table in comparison.tables for d in table.differing)
    changed = len(comparison.claims.changed) if comparison.claims else 0
    told = []
    if values:
        within = f", {spread} of them within the reference's own spread" if spread else ""
        told.append(f"{_count(values, 'value')} beyond the tolerance{within}")
    if lost:
        told.append(f"{_count(lost, 'row or column', 'rows or columns')} of the reference missing")
    if changed:
        told.append(f"{_count(changed, 'claim')} judged otherwise")
    return _wrapped(f"Differs: {'; '.join(told)}.")


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _aligned(lines: Sequence[Sequence[str]], right: range) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _wrapped(told: str, first: str = "", following: str = "") -> str:
    return textwrap.fill(
        told,
        WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_on_hyphens=False,
        break_long_words=False,
    )
