"""What a person reads, what a program reads, and the exit codes."""

import json
from pathlib import Path

import pytest
from small_runs import NDCG, write_provenance, write_table
from typer.testing import CliRunner

from lexigraft.cli import app
from lexigraft.reference.compare import compare
from lexigraft.reference.told import text

runner = CliRunner()
COMMIT = "0123456789abcdef0123456789abcdef01234567+changes"
TOLD = """\
results, scale mini, beside reference, scale mini

Made differently, so numbers and close rankings may differ:
  commit   0123456789+changes; reference: aaa
  threads  4; reference: 1

Table  Cells  Equal  Tolerated  Differ  Largest difference
t2         6      2          1       3  b, zero_shot.ndcg@10  51.3, reference 51.0

t2
  beyond 1 in the last printed digit (here, reference):
    c  collapse           dense collapse     –
    b  zero_shot.ndcg@10            51.3  51.0   +0.30
    b  zero_shot.flops              1.36  1.34  +0.020

1 table not made here: t10

2 claims judged on both sides, 1 alike; 1 of the reference not judged here
  gap: within noise; reference: holds
    The claim gap.
    gap > base: +4.5 (p 0.061); reference: +4.7 (p 0.012)

Differs: 3 values beyond the tolerance; 1 claim judged otherwise."""


@pytest.fixture(autouse=True)
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_person_reads_it(results: Path, reference: Path) -> None:
    write_provenance(results, "evaluate/a-1", commit=COMMIT, threads=4)
    assert text(compare(Path("results"), Path("reference"), 1)) == TOLD


def test_remarks(results: Path, reference: Path) -> None:
    many = {(f"row{n:02}", NDCG): f"{n}" for n in range(13)}
    write_table(reference, "t2", {("a", NDCG): "40", **many, ("lost", NDCG): "1"})
    deviating = {"ours": "50", "deviation": "12.34", "seeds": "1 2"}
    write_table(reference, "t3", {("a", NDCG): deviating})
    more = {key: str(float(value) + 1) for key, value in many.items()}
    write_table(results, "t2", {("a", NDCG): "30", **more, ("new", NDCG): "1"}, scale="smoke")
    write_table(results, "t3", {("a", NDCG): {"ours": "40", "evaluations": "evaluate/a-2"}})
    (results / "claims.json").unlink()
    told = text(compare(results, reference, 0.5))
    for line in (
        "  scale    smoke, mini; reference: mini",
        "  options  other ones, or other inputs, in t3: a",
        "  Another scale is another experiment: numbers are not expected to agree.",
        "  rows only in the reference: lost",
        "  rows only here: new",
        "  beyond 0.5 in the last printed digit (here, reference):",
        "    a      zero_shot.ndcg@10  30.0  40.0  −10.00",
        "    row00  zero_shot.ndcg@10   1.0   0.0   +1.00",
        "    and 4 more; --json has all",
        "    a  zero_shot.ndcg@10  40.0  50.0  −10.00  within the spread of 2 seeds, ±12",
        "No claims were judged here.",
    ):
        assert line in told.splitlines()
    assert " ".join(told.split()).endswith(
        "Differs: 15 values beyond the tolerance, 1 of them within the reference's own spread; "
        "1 row or column of the reference missing."
    )
    assert max(len(line) for line in told.splitlines()[1:]) < 100


def test_exit_codes(results: Path, reference: Path) -> None:
    words = ["compare", "--results", "results", "--reference", "reference"]
    done = runner.invoke(app, words)
    assert done.exit_code == 1
    assert done.output.endswith("judged otherwise.\n")
    bad = runner.invoke(app, [*words, "--tolerance", "-1"])
    assert bad.exit_code == 2
    assert "--tolerance: found -1.0; allowed: a finite number, 0 or more" in bad.output
    same = runner.invoke(app, ["compare", "--results", "reference", "--reference", "reference"])
    assert same.exit_code == 0
    assert same.output.endswith("Nothing differs beyond the tolerance.\n")


def test_json_holds_every_difference(results: Path, reference: Path) -> None:
    words = ["compare", "--results", "results", "--reference", "reference", "--json"]
    done = runner.invoke(app, words)
    assert done.exit_code == 1
    document = json.loads(done.output)
    assert document["agrees"] is False
    (t2,) = document["tables"]
    assert (t2["cells"], t2["equal"], t2["tolerated"]) == (6, 2, 1)
    assert t2["differing"][1] == {
        "row": "b",
        "column": NDCG,
        "here": "51.3",
        "reference": "51.0",
        "difference": 0.3,
        "digits": 3.0,
        "deviation": None,
        "seeds": 0,
        "within_spread": False,
    }
    assert document["tables_not_made_here"] == ["t10"]
    assert document["claims"]["changed"][0]["claim"] == "gap"
