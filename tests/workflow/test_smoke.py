"""The whole workflow at its smallest: it runs, it survives kill -9, and it gives the same bytes."""

import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]


def command(results: Path, *targets: str) -> list[str]:
    words = ["--cores", "2", "--config", "scale=smoke", f"results={results}", "--"]
    return [sys.executable, "-m", "snakemake", *words, *(targets or ("headline",))]


def run(root: Path, results: Path, *targets: str) -> str:
    done = subprocess.run(
        command(results, *targets), cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def hashes(results: Path) -> dict[str, str]:
    """What must not depend on when, how often or how fast something was run."""
    found = {}
    for pattern in (
        "*/*/model.safetensors",
        "*/*/metrics.json",
        "*/*/manifest.json",
        "tables/*.md",
    ):
        for path in results.glob(pattern):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            found[str(path.relative_to(results))] = digest
    return found


@pytest.fixture(scope="module")
def undisturbed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("undisturbed")
    run(root, results)
    return results


def test_everything_that_is_promised_is_there(undisturbed: Path) -> None:
    for name in ("tables/table2.csv", "tables/table2.md", "tables/table2.tex", "claims.json"):
        assert (undisturbed / name).stat().st_size > 0
    for name in ("figures/figure1.png", "figures/figure1.svg", "claims.md"):
        assert (undisturbed / name).stat().st_size > 0
    with (undisturbed / "tables" / "table2.csv").open(encoding="utf-8", newline="") as stream:
        cells = list(csv.DictReader(stream))
    rows = {cell["row"]: cell["status"] for cell in cells}
    assert rows["modernbert-vt"] == rows["bm25"] == "run"
    assert rows["splade-v3"] == "cited"
    # Vectors are temporary; models, rankings and metrics stay.
    assert not list(undisturbed.glob("encode/*"))
    assert list(undisturbed.glob("retrieve/*/rankings.parquet"))


def test_one_file_holds_the_report(root: Path, undisturbed: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    words = ["--report", str(path), "--config", "scale=smoke", f"results={undisturbed}"]
    command = [sys.executable, "-m", "snakemake", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = path.read_text(encoding="utf-8")
    for name in ("table2.csv", "figure1.png", "claims.md"):
        assert name in text


def test_every_output_says_where_it_came_from(undisturbed: Path) -> None:
    folders = [p.parent for p in undisturbed.glob("*/*/spec.json")]
    assert len(folders) > 30
    for folder in folders:
        spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
        provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        assert (spec["id"], spec["stage"]) == (folder.name, folder.parent.name)
        assert provenance["versions"]["torch"]
        assert provenance["seconds"] >= 0


def test_the_same_command_again_has_nothing_to_do(root: Path, undisturbed: Path) -> None:
    assert "Nothing to be done" in run(root, undisturbed)


def test_a_run_that_is_killed_goes_on_and_ends_the_same(
    root: Path, undisturbed: Path, tmp_path: Path
) -> None:
    results = tmp_path / "killed"
    for stage in ("backbone", "finetune", "encode"):
        with subprocess.Popen(
            command(results),
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            wait_for(results / stage, process)
            os.killpg(process.pid, signal.SIGKILL)
    run(root, results)
    assert hashes(results) == hashes(undisturbed)
    left = [p for p in results.glob("*/.*") if p.suffix in (".partial", ".lock", ".checkpoints")]
    assert left == []


def wait_for(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    """Until a job of the stage has begun: it holds its lock."""
    start = time.monotonic()
    while not list(folder.glob(".*.lock")):
        assert process.poll() is None, "the workflow ended before the stage began"
        assert time.monotonic() - start < 600
        time.sleep(0.05)
    time.sleep(1)


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


def test_the_theory_is_measured_on_the_models_of_the_tables(root: Path, undisturbed: Path) -> None:
    """Last in this file: it adds to what the other tests compare."""
    targets = [str(undisturbed / name) for name in ("tables/theory.csv", "figures/theory.png")]
    words = ["--cores", "2", "--config", "scale=smoke", f"results={undisturbed}"]
    command = [sys.executable, "-m", "snakemake", *words, "experiments=theory", "--", *targets]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout + done.stderr
    assert "(Rule: theory)" in shown
    assert "(Rule: finetune)" not in shown
    with Path(targets[0]).open(encoding="utf-8", newline="") as stream:
        cells = [cell for cell in csv.DictReader(stream) if cell["status"] == "run"]
    own, folded = (
        {cell["column"]: float(cell["ours"]) for cell in cells if cell["row"] == row}
        for row in ("theory-modernbert", "theory-modernbert-case")
    )
    assert folded["theory.keys"] < own["theory.keys"]
    assert folded["theory.complexity"] <= own["theory.complexity"]
    assert own["theory.compatibility_error"] == 0
    least, most = (folded[f"theory.compatibility_error{end}"] for end in ("_least", ""))
    assert least <= most
    assert (undisturbed / "figures" / "theory.svg").stat().st_size > 0
