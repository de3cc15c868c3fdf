"""Everything at its smallest: each experiment, each row that the scale has, each rule."""

import csv
import json
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from smoke_run import SmokeRun

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NDCG = "zero_shot.ndcg@10"
WITHOUT_TERMS = {"document_length", "flops", "document_bytes"}
"""Measures of vectors: BM25 has none, a dense one no terms."""
APART = {"bench", "backbones"}
"""Rules that are no part of `all`."""
NOT_RUN_HERE = re.compile(r".* is cited, not run|.* has no dl19 sets at this scale")


def document(root: Path, folder: str, name: str) -> dict[str, Any]:
    path = root / "workflow" / folder / f"{name}.yaml"
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


def experiments(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "workflow" / "experiments").glob("*.yaml"))


def rows_to_run(root: Path, name: str) -> dict[str, dict[str, Any]]:
    """Row to its options, for the rows that the scale has the backbone of."""
    backbones = document(root, "scales", "smoke")["backbones"]
    stated = document(root, "experiments", name)
    base = stated.get("base", {})
    if "sweep" in stated:
        ((axis, values),) = stated["sweep"].items()
        return {f"{name}-{value}": {**base, axis: value} for value in values}
    return {
        row["id"]: {**base, **row["run"]}
        for row in stated.get("rows", ())
        if "run" in row and ("cited" not in row or row["run"].get("backbone") in backbones)
    }


def test_every_rule_ran_but_those_that_are_asked_for_by_name(root: Path, smoke: SmokeRun) -> None:
    text = "".join(path.read_text() for path in (root / "workflow" / "rules").glob("*.smk"))
    rules = set(re.findall(r"^rule (\w+):", text, re.M))
    assert len(rules) == 18
    ran = set(re.findall(r"\(Rule: (\w+)\)", smoke.shown))
    assert ran == rules - APART | {"all"}


def test_everything_that_is_promised_is_there(root: Path, smoke: SmokeRun) -> None:
    names = experiments(root)
    figures = [name for name in names if "figure" in document(root, "experiments", name)]
    assert len(names) == 13
    assert len(figures) == 3
    files = [f"tables/{name}.{form}" for name in names for form in ("csv", "md", "tex")]
    files += [f"figures/{name}.{form}" for name in figures for form in ("png", "svg")]
    for name in [*files, "claims.json", "claims.md", "index.html"]:
        assert (smoke.results / name).stat().st_size > 0
    # Vectors are temporary; models, rankings and metrics stay.
    assert not list(smoke.results.glob("encode/*"))
    assert list(smoke.results.glob("retrieve/*/rankings.parquet"))


def test_every_row_that_is_run_has_its_numbers(root: Path, smoke: SmokeRun) -> None:
    seen = 0
    for name in experiments(root):
        runs = rows_to_run(root, name)
        cells = [cell for cell in smoke.cells(name) if cell.get("status") == "run"]
        assert {cell["row"] for cell in cells} == set(runs), name
        seen += len(runs)
        for cell in cells:
            role, _, measure = cell["column"].partition(".")
            run = runs[cell["row"]]
            lexical = run.get("retrieve.engine") == "bm25"
            dense = run.get("finetune.head") == "dense"
            if role == "dl19" or (measure in WITHOUT_TERMS and (lexical or dense)):
                assert cell["ours"] == ""
                continue
            value = float(cell["ours"])
            assert math.isfinite(value)
            if "@" in measure:
                assert 0 <= value <= 100
    assert seen > 100


def test_seeds_are_shown_with_their_spread(smoke: SmokeRun) -> None:
    cells = [cell for cell in smoke.cells("table10") if cell["column"] == NDCG]
    ours = {cell["row"]: float(cell["ours"]) for cell in cells}
    (mean,) = (cell for cell in cells if cell["row"] == "modernbert-vt")
    assert mean["seeds"] == "42 1"
    pair = ours["modernbert-vt-seed-42"], ours["modernbert-vt-seed-1"]
    assert ours["modernbert-vt"] == pytest.approx(sum(pair) / 2, rel=1e-4)
    # Of two values the sample's deviation is their distance over the root of 2.
    assert float(mean["deviation"]) == pytest.approx(abs(pair[0] - pair[1]) / 2**0.5, rel=1e-3)


def test_words_are_looked_up_in_the_transfer(smoke: SmokeRun) -> None:
    cells = smoke.cells("table4")
    # No model of this size has the paper's words as tokens; what it has is sampled.
    assert {c["fate"] for c in cells if c["word"] == "centimetres"} == {"no token"}
    sample = {c["word"]: float(c["weight"]) for c in cells if c["sampled"] == "True"}
    assert len(sample) == 12
    assert all(0 < weight <= 1 for weight in sample.values())


def test_the_theory_is_measured(smoke: SmokeRun) -> None:
    cells = [cell for cell in smoke.cells("theory") if cell["status"] == "run"]
    own, folded = (
        {cell["column"]: float(cell["ours"]) for cell in cells if cell["row"] == row}
        for row in ("theory-modernbert", "theory-modernbert-case")
    )
    assert folded["theory.keys"] < own["theory.keys"]
    assert folded["theory.complexity"] <= own["theory.complexity"]
    assert own["theory.compatibility_error"] == 0
    least, most = (folded[f"theory.compatibility_error{end}"] for end in ("_least", ""))
    assert least <= most


def test_every_claim_is_tested_but_those_about_what_is_cited(root: Path, smoke: SmokeRun) -> None:
    found = json.loads((smoke.results / "claims.json").read_text(encoding="utf-8"))
    stated = yaml.safe_load((root / "workflow" / "claims.yaml").read_text(encoding="utf-8"))
    assert found["left_out"] == 0
    assert len(found["claims"]) == len(stated)
    for claim in found["claims"]:
        for relation in claim["relations"]:
            if relation["verdict"] == "not run here":
                for reason in relation["reason"].split("; "):
                    assert NOT_RUN_HERE.fullmatch(reason), claim["id"]


def test_one_file_holds_the_report(root: Path, smoke: SmokeRun, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    smoke.snakemake("--report", str(path))
    text = path.read_text(encoding="utf-8")
    names = experiments(root)
    figures = [name for name in names if "figure" in document(root, "experiments", name)]
    files = [f"tables/{name}.csv" for name in names] + [f"figures/{name}.png" for name in figures]
    for name in [*files, "claims.md"]:
        assert str(smoke.results / name) in text
    for name in names:
        assert document(root, "experiments", name)["title"] in text


def test_the_page_and_the_summary_show_all_tables(root: Path, smoke: SmokeRun) -> None:
    page = (smoke.results / "index.html").read_text(encoding="utf-8")
    headings = [*(f"Table {number}" for number in range(1, 11)), "Figure 1", "Section 3", "vectors"]
    for heading in headings:
        assert re.search(rf">\s*{heading}\b", page), heading
    command = ["lexigraft", "summary", "--results", str(smoke.results)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("table2, scale smoke: ours (the paper's)")
    for name in experiments(root):
        assert f"Table   {smoke.results}/tables/{name}.md (.csv, .tex)" in done.stdout


def test_a_run_agrees_with_the_reference_that_was_made_of_it(
    root: Path, smoke: SmokeRun, tmp_path: Path
) -> None:
    def lexigraft(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["lexigraft", *words, "--results", str(smoke.results)]
        return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)

    kept = tmp_path / "reference"
    made = lexigraft("reference", "--scale", "smoke", "--out", str(kept))
    assert made.returncode == 0, made.stderr
    assert {path.name for path in (kept / "tables").glob("*.csv")} == {
        f"{name}.csv" for name in experiments(root)
    }
    assert not any(str(smoke.results) in path.read_text() for path in kept.glob("**/*.csv"))
    compared = lexigraft("compare", "--reference", str(kept))
    assert compared.returncode == 0, compared.stdout + compared.stderr

    cells = smoke.cells("table10")
    (cell,) = (c for c in cells if (c["row"], c["column"]) == ("modernbert-vt-seed-42", NDCG))
    cell["ours"] = str(float(cell["ours"]) + 7)
    with (kept / "tables" / "table10.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(cell))
        writer.writeheader()
        writer.writerows(cells)
    compared = lexigraft("compare", "--reference", str(kept))
    assert compared.returncode == 1, compared.stdout + compared.stderr
    assert "7.0" in compared.stdout


def test_every_output_says_where_it_came_from(smoke: SmokeRun) -> None:
    folders = [path.parent for path in smoke.results.glob("*/*/spec.json")]
    assert len(folders) > 200
    for folder in folders:
        spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
        provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        assert (spec["id"], spec["stage"]) == (folder.name, folder.parent.name)
        assert provenance["versions"]["torch"]
        assert provenance["seconds"] >= 0


def test_a_model_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    words = ["--model", str(tmp_path / "absent"), "--text", str(tmp_path)]
    done = subprocess.run(
        ["lexigraft", "mlm", *words, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "absent" in done.stderr.strip().splitlines()[-1]
