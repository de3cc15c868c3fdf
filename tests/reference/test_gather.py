"""A finished run of the smallest scale, its outputs written by hand, kept as a reference."""

import csv
import json
import os
from pathlib import Path

import pytest
from small_runs import ENVIRONMENT, write_provenance
from typer.testing import CliRunner

from lexigraft.cli import app
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.reference.compare import compare
from lexigraft.reference.gather import write_reference
from lexigraft.report.tables import write_table
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan
from tiny_tokens import write_tokens

runner = CliRunner()


def planned(root: Path, results: Path, **values: object) -> Plan:
    stated = {"scale": "smoke", "experiments": ["figure1", "table4"], "rows": "main"}
    return build_plan(load_config(root, stated | {"results": str(results)} | values))


@pytest.fixture
def plan(root: Path, tmp_path: Path) -> Plan:
    """A finished run: every nDCG is 0.5."""
    results = tmp_path / "results"
    plan = planned(root, results)
    sets = [entry.split("/")[1] for entry in plan.config.scale.evaluation["zero_shot"]]
    measured = {"sets": {name: {"ndcg@10": 0.5, "health": None} for name in sets}}
    for identity, spec in plan.stages.items():
        place = f"{spec.stage}/{identity}"
        if spec.stage == "transfer":
            write_tokens(results, identity)
        if spec.stage != "encode":
            read = {name: {"name": value} for name, value in spec.inputs().items()}
            if "vectors" in read:
                read["vectors"]["provenance"] = ENVIRONMENT | {
                    "finished": "2026-12-01T00:00:00Z",
                    "seconds": 2.5,
                }
            write_provenance(results, place, inputs=read)
            (results / place / "spec.json").write_text(json.dumps(spec.record()))
        if spec.stage == "evaluate":
            (results / place / "metrics.json").write_text(json.dumps(measured))
    for name, experiment in plan.experiments.items():
        write_table(experiment, results, results / "tables" / name)
    (results / "figures").mkdir()
    (results / "figures" / "figure1.png").write_bytes(b"picture")
    (results / "claims.json").write_text('{"scale": "smoke", "level": 0.05, "claims": []}')
    (results / "claims.md").write_text("# Claims\n")
    (results / "index.html").write_text("<html>")
    return plan


def test_what_is_kept_and_what_made_it(plan: Plan, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "reference" / "smoke"
    record = write_reference(plan, out)
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "claims.json",
        "claims.md",
        "figures/figure1.png",
        "outputs.csv",
        "reference.json",
        "requirements.lock",
        "tables/figure1.csv",
        "tables/figure1.md",
        "tables/table4.csv",
        "tables/table4.md",
    ]
    assert json.loads((out / "reference.json").read_text()) == record
    assert (record["scale"], record["rows"]) == ("smoke", "main")
    assert record["seeds"] == list(plan.config.many)
    assert record["experiments"] == ["figure1", "table4"]
    assert record["finished"] == "2026-12-01T00:00:00Z"
    lock = root / "envs" / "requirements.lock"
    assert record["lock"] == {"file": "envs/requirements.lock", "sha256": sha256_file(lock)}
    assert record["environments"] == [ENVIRONMENT]
    # BERT and ModernBERT; dense, sparse and calibrated of each; vectors by their readers' word.
    assert record["stages"]["backbone"] == {"outputs": 2, "seconds": 8.0, "untimed": 0}
    assert record["stages"]["finetune"] == {"outputs": 6, "seconds": 24.0, "untimed": 0}
    assert record["stages"]["encode"] == {"outputs": 6, "seconds": 15.0, "untimed": 0}
    with (out / "outputs.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert {line["id"] for line in lines} == set(plan.stages)
    assert {(line["environment"], line["finished"]) for line in lines} == {
        ("0", "2026-12-01T00:00:00Z")
    }


def test_nothing_of_this_machine_is_kept_and_no_link_leads_nowhere(
    plan: Plan, tmp_path: Path
) -> None:
    out = tmp_path / "reference"
    write_reference(plan, out)
    for path in out.rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes()
    assert "](../" in (tmp_path / "results" / "tables" / "figure1.md").read_text()
    table = (out / "tables" / "figure1.md").read_text()
    assert "](" not in table
    identity = next(name for name, spec in plan.stages.items() if spec.stage == "evaluate")
    assert f"`{identity}`" in table


def test_a_run_agrees_with_its_own_reference(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_reference(plan, tmp_path / "reference")
    monkeypatch.chdir(tmp_path)
    found = compare(tmp_path / "results", tmp_path / "reference", 0)
    assert found.agrees
    assert found.made_differently == ()
    figure1, table4 = found.tables
    # Six main rows of one column.
    assert (figure1.cells, figure1.equal) == (6, 6)
    assert table4.cells == table4.equal > 0


def test_made_again_it_is_the_same_and_takes_the_place_of_the_old(
    plan: Plan, tmp_path: Path
) -> None:
    out = tmp_path / "reference"
    write_reference(plan, out)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out / "tables" / "old.csv").write_text("")
    write_reference(plan, out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_vectors_without_a_record_are_counted_as_untimed(plan: Plan, tmp_path: Path) -> None:
    for path in (tmp_path / "results").glob("retrieve/*/provenance.json"):
        record = json.loads(path.read_text())
        record["inputs"]["vectors"] = {"name": record["inputs"]["vectors"]["name"]}
        path.write_text(json.dumps(record))
    record = write_reference(plan, tmp_path / "reference")
    assert record["stages"]["encode"] == {"outputs": 6, "seconds": 0.0, "untimed": 6}


@pytest.mark.parametrize(
    "part",
    [
        "tables/table4.md",
        "figures/figure1.png",
        "claims.md",
        "index.html",
        "finetune/*",
        "corpus/*",
    ],
)
def test_a_run_that_lacks_a_part_is_not_complete(plan: Plan, tmp_path: Path, part: str) -> None:
    path = next((tmp_path / "results").glob(part))
    path.rename(tmp_path / "moved")
    with pytest.raises(LexigraftError, match=rf"{path}.*: no such file; the run is not complete"):
        write_reference(plan, tmp_path / "reference")
    assert not (tmp_path / "reference").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [("index.html", "tables/figure1.csv"), ("tables/table4.csv", "transfer/*/spec.json")],
)
def test_what_is_older_than_its_parts_is_not_complete(
    plan: Plan, tmp_path: Path, old: str, new: str
) -> None:
    path = tmp_path / "results" / old
    part = next((tmp_path / "results").glob(new))
    later = path.stat().st_mtime + 5
    os.utime(part, (later, later))
    with pytest.raises(LexigraftError, match=f"{path}: is older than {part}; the run is not compl"):
        write_reference(plan, tmp_path / "reference")


@pytest.mark.parametrize(
    ("file", "text", "other", "told"),
    [
        ("tables/figure1.csv", ",smoke,", ",mini,", "is of scale 'mini'; allowed: 'smoke'"),
        (
            "tables/figure1.csv",
            ",bert-dense,",
            ",bert-thin,",
            "row 'bert-dense' is in the table",
        ),
        (
            "tables/figure1.csv",
            ",,42,",
            ",,42 1,",
            "found seeds 42 1, planned 42; state --s",
        ),
        (
            "tables/figure1.csv",
            "evaluate/",
            "results/evaluate/",
            "comes from results/evaluate/",
        ),
        ("tables/figure1.csv", ",not run,", ",run,", "found 'run', planned 'not run'; state --s"),
        (
            "tables/table4.csv",
            "transfer/",
            "/tmp/transfer/",
            "comes from /tmp/transfer/.* planned",
        ),
        ("claims.json", '"smoke"', '"mini"', "is of scale 'mini'; allowed: 'smoke'"),
    ],
)
def test_a_part_of_another_run_is_refused(
    plan: Plan, tmp_path: Path, file: str, text: str, other: str, told: str
) -> None:
    path = tmp_path / "results" / file
    content = path.read_text()
    assert text in content
    path.write_text(content.replace(text, other))
    later = path.stat().st_mtime + 5
    os.utime(tmp_path / "results" / "index.html", (later, later))
    with pytest.raises(LexigraftError, match=f"{path}: .*{told}"):
        write_reference(plan, tmp_path / "reference")
    assert not (tmp_path / "reference").exists()


def test_a_run_with_other_versions_than_the_lock_is_refused(plan: Plan, tmp_path: Path) -> None:
    path = next((tmp_path / "results").glob("finetune/*/provenance.json"))
    record = json.loads(path.read_text())
    record["versions"]["numpy"] = "0.0.1"
    path.write_text(json.dumps(record))
    with pytest.raises(
        LexigraftError, match=r"requirements.lock: pins numpy 2\S+, the run was made with 0\.0\.1"
    ):
        write_reference(plan, tmp_path / "reference")


def test_a_folder_of_something_else_is_spared(plan: Plan, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(LexigraftError, match=r"holds 'thesis.txt' and is no earlier output"):
        write_reference(plan, tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years"


def test_the_command_takes_the_tables_that_are_there(
    plan: Plan, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    words = ["reference", "--scale", "smoke", "--results", str(tmp_path / "results")]
    words += ["--rows", "main", "--out"]
    done = runner.invoke(app, [*words, str(tmp_path / "kept")])
    assert done.exit_code == 0, done.output
    assert f"{tmp_path / 'kept'}: 2 tables of scale smoke, " in done.output
    assert "not committed" not in done.output
    path = next((tmp_path / "results").glob("finetune/*/provenance.json"))
    path.write_text(path.read_text().replace('"aaa"', '"aaa+changes"'))
    done = runner.invoke(app, [*words, str(tmp_path / "kept")])
    assert "made with changes that were not committed" in done.output
    for path in (tmp_path / "results" / "tables").iterdir():
        path.unlink()
    done = runner.invoke(app, [*words, str(tmp_path / "none")])
    assert done.exit_code == 2
    assert f"{tmp_path / 'results' / 'tables'}: no table; run snakemake first" in done.output
    assert not (tmp_path / "none").exists()
