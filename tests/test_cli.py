"""The command: every stage has one, bad input is one sentence and code 2, imports stay light."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexigraft.cli import COMMAND_OF_STAGE, app
from lexigraft.specs.stages import STAGES
from lexigraft.specs.words import flag

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "pandas",
    "scipy",
    "matplotlib",
    "datasets",
    "snakemake",
)
runner = CliRunner()


@pytest.mark.parametrize("stage", STAGES)
def test_every_option_of_a_stage_is_an_option_of_its_command(stage: str) -> None:
    shown = runner.invoke(app, [COMMAND_OF_STAGE.get(stage, stage), "--help"]).output
    for field in fields(STAGES[stage]):
        if field.name != "name":
            assert f"--{flag(field.name)}" in shown


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lexigraft", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_sentence_and_code_2_for_bad_input(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.log"
    done = run(
        *("retrieve", "--collection", str(tmp_path / "absent")),
        *("--out", str(tmp_path / "out"), "--log", str(log)),
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(f"error: --collection: no such folder: {tmp_path / 'absent'}\n")
    assert "no such folder" in log.read_text(encoding="utf-8")
    assert not (tmp_path / "out").exists()


def test_what_is_not_shipped_is_told_in_one_sentence(tmp_path: Path) -> None:
    done = run("ship", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "config.json: no such file; the output of a pre-training by the stage" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_misspelt_strategy_names_the_allowed_ones(tmp_path: Path) -> None:
    done = run("transfer", "--source", "x", "--target", "y", "--init", "semantik", "--out", "z")
    assert done.returncode == 2
    assert "'semantik' is not one of 'semantic', 'subtoken', 'random_new'" in done.stderr


def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(
        *("backbone", "--origin", "folder", "--location", "x"),
        *("--out", str(tmp_path / "file" / "out")),
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "file") in done.stderr


def test_the_command_itself_imports_nothing_heavy() -> None:
    code = "import sys, lexigraft.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [name for name in HEAVY if name in done.stdout.split()] == []


@pytest.mark.parametrize("stage", ["corpus", "retrieve", "evaluate"])
def test_stages_without_a_model_start_at_once(stage: str) -> None:
    """torch and transformers take five seconds to import, scipy.stats one, numba a third."""
    code = f"import sys, lexigraft.stages.{stage}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    slow = {"torch", "transformers", "datasets", "pandas", "matplotlib", "scipy.stats", "numba"}
    assert slow & set(done.stdout.split()) == set()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--learning-rate", "-1"), "--learning-rate: found -1.0; allowed: 0 or more"),
        (("--learning-rate", "nan"), "--learning-rate: found nan; allowed: a finite number"),
        (("--mask-probability", "0"), "--mask-probability: found 0.0; allowed: between 0 and 1"),
        (("--micro-batch-size", "-1"), "--micro-batch-size: found -1; allowed: 0 or more"),
        (("--seed", "-1"), "--seed: found -1; allowed: 0 to 4294967295"),
    ],
)
def test_an_option_out_of_range_leaves_nothing(
    tmp_path: Path, words: tuple[str, str], sentence: str
) -> None:
    (tmp_path / "text").mkdir()
    inputs = ["--model", str(tmp_path / "m"), "--text", str(tmp_path / "text")]
    done = runner.invoke(app, ["mlm", *inputs, *words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert sentence in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


@pytest.mark.parametrize("place", ["./absent", "../absent", "absent/", "~/absent"])
@pytest.mark.parametrize("words", [("evaluate", "--dataset"), ("encode", "--collection")])
def test_what_is_written_as_a_path_is_no_id_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, words: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, [*words, str(tmp_path), "--model", place, "--out", "out"])
    assert done.exit_code == 2
    assert f"'--model': {place}: no such folder" in done.output


def test_a_dataset_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("{}")
    done = runner.invoke(app, ["bm25", "--dataset", str(tmp_path), "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert (tmp_path / "corpus.jsonl").read_text() == "{}"


@pytest.mark.parametrize("words", [("table", "table2"), ("figure", "figure1"), ("claims",)])
def test_a_report_outside_the_repository_says_where_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, words)
    assert done.exit_code == 2
    assert f"{tmp_path}: no folder workflow/schemas; reports are made in the repo" in done.output
    assert list(tmp_path.iterdir()) == []


def test_claims_need_an_experiment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    done = runner.invoke(app, ["claims"])
    assert done.exit_code == 2
    assert "--with: no experiment; 1 or more are needed" in done.output
