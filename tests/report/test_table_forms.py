"""The three forms of one small table, literally."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraft.report.csv_table import csv_text
from lexigraft.report.latex import escape, latex_text
from lexigraft.report.markdown import markdown_text, width
from lexigraft.report.tables import build_table
from lexigraft.report.text import signed, spread
from lexigraft.specs.columns import parse_column
from lexigraft.specs.experiments import PlannedExperiment

MARKDOWN = """\
| *Baselines* | | | | | | | |
| BM25 | ours | – | **50.0** | 30.0 | – | 20.0 | 1 |
| | paper | – | **43.7** | 18.4 | 50.6 | – | |
| | difference | | +6.3 | +11.6 | – | – | |
| DPR⁴ | paper | – | 37.5 | 31.9 | 61.1 | – | |
| BERT (dense) | ours | – | 25.0 | **35.0** | – | – | 1 |
| | paper | – | 42.1 | **32.9** | **65.7** | – | |
| | difference | | −17.1 | +2.1 | – | – | |
| *Ours* | | | | | | | |
| Model_1 & 50% ✗ collapsed⁵ | ours | – | 3.0 | 1.0 | – | 3800.0 | 1 |
| | paper | 1 | 47.7 | 35.7 | 66.3 | – | |
| | difference | | −44.7 | −34.7 | – | – | |
| \u2003+ lowercase⁶ | paper | 1 | 46.8 | – | – | – | |
| VT⁷ | ours | 1 | <u>**51.0 ± 1.0**</u> | <u>**42.0 ± 2.0**</u> | – | 110.0 ± 10.0 | 3 |
"""


def test_markdown_lines_up_and_says_all(experiment: PlannedExperiment, results: Path):
    text = markdown_text(build_table(experiment, results), results, results / "tables")
    assert MARKDOWN in re.sub(" +", " ", text)
    assert "<u>**52.4 ± 0.04**</u>" in text
    assert "¹ Zero-shot at scale mini: mean over the sets a, b." in text
    assert "- `moved`, seed 2: [moved-2](../evaluate/moved-2)" in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({width(line) for line in table}) == 1


LATEX = r"""
\cmidrule(lr){4-4}\cmidrule(lr){5-5}\cmidrule(lr){6-6}\cmidrule(lr){7-7}
Model &  & Teach. & nDCG@10 & MRR@10 & nDCG@10 & Document length \\
\midrule
\multicolumn{7}{l}{\textit{Baselines}} \\
BM25 & ours & -- & \textbf{50.0} & 30.0 & -- & 20.0 \\
 & paper & -- & \textbf{43.7} & 18.4 & 50.6 & -- \\
 & difference &  & +6.3 & +11.6 & -- & -- \\
DPR\textsuperscript{4} & paper & -- & 37.5 & 31.9 & 61.1 & -- \\
"""


def test_latex_is_booktabs_with_every_special_character_escaped(
    experiment: PlannedExperiment, results: Path
):
    text = latex_text(build_table(experiment, results))
    assert LATEX in text
    assert r" &  &  & \multicolumn{1}{c}{Zero-shot\textsuperscript{1}} & \multicolumn" in text
    assert r"Model\_1 \& 50\% \textit{(collapsed)}\textsuperscript{5} & ours & -- & 3.0" in text
    assert r"\quad + lowercase\textsuperscript{6} & paper & 1 & 46.8" in text
    assert r"VT\textsuperscript{7} & ours (3 seeds) & 1 & \underline{\textbf{51.0}}" in text
    assert r"\underline{\textbf{52.4}}\textsubscript{0.04}" in text
    for command in ("table", "tabular", "minipage"):
        assert text.count(rf"\begin{{{command}}}") == text.count(rf"\end{{{command}}}") == 1
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    ends = {line.replace(r"\&", "").count("&") for line in lines if "multicolumn" not in line}
    assert ends == {6}


def test_latex_escapes():
    assert escape(r"50% of a_b & c#1 {x} ~^\ $") == (
        r"50\% of a\_b \& c\#1 \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{} \$"
    )


def test_csv_has_a_line_for_each_cell_with_where_it_is_from(
    experiment: PlannedExperiment, results: Path
):
    text = csv_text(build_table(experiment, results), Path("results"))
    lines = list(csv.DictReader(io.StringIO(text)))
    assert len(lines) == 6 * 4
    moved = next(
        line for line in lines if line["row"] == "moved" and line["column"] == "in_domain.mrr@10"
    )
    assert {
        key: moved[key] for key in ("ours", "deviation", "seeds", "reported", "difference")
    } == {
        "ours": "42",
        "deviation": "2",
        "seeds": "1 2 3",
        "reported": "38.3",
        "difference": "3.7",
    }
    assert moved["evaluations"] == "evaluate/moved-1 evaluate/moved-2 evaluate/moved-3"
    naive = next(line for line in lines if line["row"] == "naive")
    assert (naive["status"], naive["collapse"]) == ("run", "dense collapse")
    lower = next(line for line in lines if line["row"] == "lower")
    assert (lower["status"], lower["ours"], lower["reported"]) == ("not run", "", "46.8")


@pytest.mark.parametrize(
    ("difference", "printed"), [(0.04, "0.0"), (-0.04, "0.0"), (0.05001, "+0.1"), (-12.0, "−12.0")]
)
def test_a_difference_has_a_sign_unless_it_is_nothing(difference: float, printed: str):
    assert signed(difference, parse_column("zero_shot.ndcg@10")) == printed


@pytest.mark.parametrize(("deviation", "printed"), [(0.039, "0.04"), (0.66, "0.7"), (None, "")])
def test_a_spread_is_printed_as_in_table_2(deviation: float | None, printed: str):
    assert spread(deviation, parse_column("zero_shot.ndcg@10")) == printed


def test_a_spread_has_the_decimals_of_its_column_where_these_are_more():
    assert spread(0.00379, parse_column("theory.complexity")) == "0.0038"


def test_a_table_of_ours_stands_beside_no_paper(experiment: PlannedExperiment, results: Path):
    assert "beside Vocabulary transfer, table 2 of" in latex_text(build_table(experiment, results))
    ours = build_table(replace(experiment, source={"document": "ours"}), results)
    assert "beside" not in latex_text(ours)
