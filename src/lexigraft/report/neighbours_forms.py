"""A table of words as CSV, Markdown and LaTeX (`\\usepackage{booktabs}`, UTF-8 input)."""

import csv
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from lexigraft.analysis.neighbours import Neighbourhood
from lexigraft.report import latex, text
from lexigraft.report.markdown import aligned, code, escape
from lexigraft.report.neighbours import NeighboursTable, WordRow
from lexigraft.specs.neighbours import Word

FIELDS = (
    "experiment",
    "scale",
    "word",
    "sampled",
    "fate",
    "token",
    "partner",
    "sub_tokens",
    "reported_sub_tokens",
    "with_weight",
    "in_common",
    "reported_overlapping",
    "rank",
    "anchor",
    "weight",
    "reported_anchor",
    "reported_weight",
    "transfer",
)
HEAD = ("Word", "", "Sub-tokens", "Anchors (weight)", "With weight", "In common")


def csv_text(table: NeighboursTable) -> str:
    """One line for each word and rank of an anchor; sub-tokens are split by spaces.

    `transfer` is the folder that they were looked up in, relative to the results folder.
    """
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in (*table.words, *table.sample):
        pairs = zip_longest(row.ours.anchors, row.reported.anchors, fillvalue=("", None))
        for rank, (ours, reported) in enumerate(list(pairs) or [(("", None), ("", None))], 1):
            writer.writerow(
                {
                    "experiment": table.name,
                    "scale": table.scale,
                    "word": row.ours.word,
                    "sampled": row in table.sample,
                    "fate": row.ours.fate,
                    "token": row.ours.token,
                    "partner": row.ours.partner,
                    "sub_tokens": " ".join(row.ours.sub_tokens),
                    "reported_sub_tokens": " ".join(row.reported.sub_tokens),
                    "with_weight": row.ours.support,
                    "in_common": row.in_common,
                    "reported_overlapping": row.overlapping,
                    "rank": rank,
                    "anchor": ours[0],
                    "weight": None if ours[1] is None else f"{ours[1]:.6g}",
                    "reported_anchor": reported[0],
                    "reported_weight": reported[1],
                    "transfer": f"transfer/{table.transfer}",
                }
            )
    return stream.getvalue()


def markdown_text(table: NeighboursTable, results: Path, folder: Path) -> str:
    """A line of ours and one of the paper's for each word, and a link to the transfer.

    Args:
        results: the results folder.
        folder: where the text will lie; the link is relative to it.
    """
    lines = [list(HEAD)]
    for group, rows in table.groups().items():
        if group:
            lines.append([f"*{group}*"] + [""] * (len(HEAD) - 1))
        for row in rows:
            lines += _row_lines(row, MARKDOWN)
    where = Path(os.path.relpath(results / "transfer" / table.transfer, folder)).as_posix()
    parts = [f"# {table.title}", table.caption]
    parts += [table.note] if table.note else []
    parts.append(aligned(lines, right=range(4, 6)))
    parts += ["## Where it comes from", f"- [{table.transfer}]({where})"]
    return "\n\n".join(parts) + "\n"


def latex_text(table: NeighboursTable) -> str:
    """A `table` environment: booktabs rules, tokens in a typewriter face."""
    body = []
    for group, rows in table.groups().items():
        body.append(r"\midrule")
        if group:
            body.append(rf"\multicolumn{{{len(HEAD)}}}{{l}}{{\textit{{{latex.escape(group)}}}}} \\")
        for row in rows:
            body += [" & ".join(line) + r" \\" for line in _row_lines(row, LATEX)]
    caption = latex.escape(f"{table.title}. {table.caption} {table.note}".strip())
    columns = r"ll>{\raggedright\arraybackslash}p{.14\linewidth}"
    columns += r">{\raggedright\arraybackslash}p{.29\linewidth}rr"
    lines = [
        r"% Needs \usepackage{array,booktabs}.",
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(HEAD) + r" \\",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


@dataclass(frozen=True)
class _Markup:
    """How one form writes what stands in a cell."""

    plain: Callable[[str], str]
    token: Callable[[str], str]
    emphasis: str
    """Around `{}`."""


MARKDOWN = _Markup(escape, code, "*{}*")


def _row_lines(row: WordRow, markup: _Markup) -> list[list[str]]:
    """A line of ours and, where something is reported, one of the paper's."""

    def cells(side: Neighbourhood | Word) -> list[str]:
        weighted = (f"{markup.token(token)} {weight:.3f}" for token, weight in side.anchors)
        return [" ".join(map(markup.token, side.sub_tokens)), ", ".join(weighted)]

    sub_tokens, anchors = cells(row.ours)
    remark = markup.emphasis.format(markup.plain(row.remark))
    counts = [markup.plain(text.count(row.ours.support)), markup.plain(row.compared)]
    lines = [[markup.plain(row.ours.word), "ours", sub_tokens, anchors or remark, *counts]]
    if row.reported.sub_tokens or row.reported.anchors:
        lines.append(["", "paper", *cells(row.reported), "", ""])
    return lines


def _typed(token: str) -> str:
    """A token in a typewriter face; what `escape` drops as Markdown's mark is a character here."""
    shown = r"\textasciigrave{}".join(latex.escape(part) for part in token.split("`"))
    return rf"\texttt{{{shown}}}"


LATEX = _Markup(latex.escape, _typed, r"\textit{{{}}}")
