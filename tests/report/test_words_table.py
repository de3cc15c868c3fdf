"""A table of words in each form, on a transfer that was written by hand."""

import csv
import json
import re
from pathlib import Path

import pytest
from browser import laid_out

from lexigraft.errors import LexigraftError
from lexigraft.report.coverage import coverage
from lexigraft.report.page import write_page
from lexigraft.report.summary import summary
from lexigraft.report.tables import write_table
from lexigraft.specs.experiments import PlannedExperiment
from lexigraft.specs.neighbours import PlannedNeighbours, Word
from tiny_tokens import write_tokens

CLAIMS = {"counts": {"holds": 0}, "left_out": 2, "decided_by": "A test.", "claims": []}


@pytest.fixture
def words() -> PlannedExperiment:
    reported = (("cleared", 0.165), ("clear", 0.1), ("heat", 0.05), ("removes", 0.043))
    return PlannedExperiment(
        name="words",
        title="Words & anchors",
        source={"document": "vocabulary-transfer", "table": 4},
        columns=(),
        rows=(),
        scale="mini",
        note="A note.",
        neighbours=PlannedNeighbours(
            transfer="moved",
            source="modernbert",
            target="minilm",
            words=(
                Word("clears", ("Ġcle", "ars"), reported),
                Word("heat"),
                Word("nationalists", ("Ġnational", "ists"), (("nationalist", 0.192),)),
                Word("lost"),
            ),
            sample=5,
            seed=1,
        ),
    )


@pytest.fixture
def made(words: PlannedExperiment, tmp_path: Path) -> Path:
    write_tokens(tmp_path, "moved")
    write_table(words, tmp_path, tmp_path / "tables" / "words")
    return tmp_path


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_markdown_has_ours_above_the_papers(made: Path) -> None:
    text = (made / "tables" / "words.md").read_text(encoding="utf-8")
    lines = [cells(line) for line in text.splitlines() if line.startswith("|")]
    # Of the four reported anchors all but `removes` overlap, and two are among ours.
    assert lines[2] == [
        "clears",
        "ours",
        "`Ġcle` `ars`",
        r"`Ġcleared` 0.500, `clear` 0.300, `a\|b` 0.200",
        "3",
        "2 of 3",
    ]
    assert lines[3][1:4] == [
        "paper",
        "`Ġcle` `ars`",
        "`cleared` 0.165, `clear` 0.100, `heat` 0.050, `removes` 0.043",
    ]
    assert lines[4][:4] == ["heat", "ours", "", "*overlapping token, copied from Ġheat*"]
    assert lines[5][3] == "*no single token of the target's vocabulary*"
    assert lines[6][1:4] == ["paper", "`Ġnational` `ists`", "`nationalist` 0.192"]
    assert lines[7][3:] == ["*without a direction in the target's space: the mean*", "0", "–"]
    # All that are left to draw.
    assert [line[0] for line in lines[8:]] == ["*Sampled new tokens*", "metres"]
    assert "(modernbert to minilm), beside Vocabulary transfer, table 4 of the paper" in text
    assert "A note." in text
    assert "[moved](../transfer/moved)" in text


def test_csv_has_a_line_for_each_rank(made: Path) -> None:
    with (made / "tables" / "words.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    clears = [row for row in rows if row["word"] == "clears"]
    assert [(r["rank"], r["anchor"], r["weight"], r["reported_anchor"]) for r in clears] == [
        ("1", "Ġcleared", "0.5", "cleared"),
        ("2", "clear", "0.3", "clear"),
        ("3", "a|b", "0.2", "heat"),
        ("4", "", "", "removes"),
    ]
    assert {row["with_weight"] for row in clears} == {"3"}
    by_word = {row["word"]: row for row in rows}
    assert [(row["fate"], row["sampled"]) for row in by_word.values()] == [
        ("new", "False"),
        ("overlapping", "False"),
        ("no token", "False"),
        ("new", "False"),
        ("new", "True"),
    ]
    assert by_word["heat"]["partner"] == "Ġheat"
    assert by_word["metres"]["transfer"] == "transfer/moved"


def test_latex_escapes_what_it_would_take_for_commands(made: Path) -> None:
    text = (made / "tables" / "words.tex").read_text(encoding="utf-8")
    assert r"\caption{Words \& anchors. Ours" in text
    line = (
        r"clears & ours & \texttt{Ġcle} \texttt{ars} & \texttt{Ġcleared} 0.500, "
        r"\texttt{clear} 0.300, \texttt{a|b} 0.200 & 3 & 2 of 3 \\"
    )
    assert line in text.splitlines()
    assert r"\textit{no single token of the target's vocabulary} & -- & -- \\" in text


def test_the_page_shows_words_beside_models(
    made: Path, words: PlannedExperiment, experiment: PlannedExperiment, results: Path
) -> None:
    # `results` holds the models of `experiment`; both fixtures write below the same folder.
    write_tokens(results, "moved")
    (results / "claims.json").write_text(json.dumps(CLAIMS), encoding="utf-8")
    (results / "figures").mkdir()
    (results / "figures" / "tiny.png").write_bytes(b"png")
    write_page({"tiny": experiment, "words": words}, results)
    html = (results / "index.html").read_text(encoding="utf-8")
    assert '<tr id="tiny-moved">' in html
    (row,) = re.findall(r'<tr id="words-clears">.*?</tr>', html, flags=re.S)
    shown = " ".join(re.sub(r"<[^>]*>", " ", row).split())
    assert shown == (
        "clears Ġcle ars reported Ġcle ars Ġcleared 0.500 clear 0.300 a|b 0.200 reported "
        "cleared 0.165 clear 0.100 heat 0.050 removes 0.043 3 2 of 3"
    )
    assert 'href="transfer/moved/"' in row
    assert "Words &amp; anchors" in html
    assert 'href="tables/words.tex"' in html
    assert "no single token of the target&#39;s vocabulary" in html


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_scrolls_words_and_not_the_page(
    made: Path, words: PlannedExperiment, width: int
) -> None:
    (made / "claims.json").write_text(json.dumps(CLAIMS), encoding="utf-8")
    write_page({"words": words}, made)
    # The heading, four words, the sample's heading and one drawn word.
    widest, rows = laid_out(made / "index.html", width)
    assert rows == 7
    assert widest <= width


def test_a_table_of_words_alone_is_summed_up(made: Path) -> None:
    assert summary(made) == f"Table   {made}/tables/words.md (.csv, .tex)"


def test_coverage_names_every_word(words: PlannedExperiment) -> None:
    lines = coverage([words]).splitlines()
    start = lines.index("Table 4: Sub-tokens and nearest anchors of new tokens")
    assert [" ".join(line.split()) for line in lines[start + 1 : start + 6]] == [
        "clears run: modernbert to minilm",
        "heat run: modernbert to minilm",
        "nationalists run: modernbert to minilm",
        "lost run: modernbert to minilm",
        "5 sampled new tokens run: modernbert to minilm",
    ]


def test_a_transfer_that_was_not_made_leaves_no_table(
    words: PlannedExperiment, tmp_path: Path
) -> None:
    with pytest.raises(LexigraftError, match=r"transfer/moved/tokens\.parquet: no such file"):
        write_table(words, tmp_path, tmp_path / "tables" / "words")
    assert not (tmp_path / "tables").exists()
