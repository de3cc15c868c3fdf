"""The DAG itself: it plans in seconds, and a new axis plans only its own jobs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

MAKEFILE = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
FORMS = ("csv", "md", "tex")
MAIN_JOB = shlex.split(re.findall(r"--config scale=\$\(SCALE\) (.+)", MAKEFILE)[0])
"""What `make reproduce` asks for beside the scale."""
FIELD = '''    temperature: float = 1.0
    """Divides affinities before sparsemax."""
'''
EXPERIMENT = """
title: A temperature before sparsemax
source: {document: ours}
columns: [zero_shot.ndcg@10]
base: {backbone: modernbert, target: bert-uncased, adapted: true, calibrated: true}
sweep: {transfer.temperature: [0.5, 1.0, 2.0]}
"""
PLAN_IDS = """
from pathlib import Path
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import build_plan
import json, sys
values = {"scale": "mini", "experiments": sys.argv[1:], "rows": "main"}
plan = build_plan(load_config(Path("."), values))
print(json.dumps({i: [plan.folder(i), s.record()] for i, s in plan.stages.items()}))
"""


def snakemake(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The copy's own package must be the one that is imported.
    environment = os.environ | {"PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "-n", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def jobs(run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    assert run.returncode == 0, run.stderr + run.stdout
    stats = run.stdout + run.stderr
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", stats, re.M)}


@pytest.mark.parametrize("scale", ["smoke", "mini", "paper"])
def test_every_scale_plans_in_seconds(tree: Path, scale: str) -> None:
    start = time.monotonic()
    counts = jobs(snakemake(tree, "--config", f"scale={scale}"))
    seconds = time.monotonic() - start
    assert counts["finetune"] >= 10
    assert seconds < 30


def test_the_main_job_is_figure_1_and_the_main_rows_of_table_2(tree: Path) -> None:
    assert MAIN_JOB == ["experiments=[figure1,table2]", "rows=main"]
    counts = jobs(snakemake(tree, "--config", "scale=paper", *MAIN_JOB))
    assert counts["corpus"] == 15  # MS MARCO, its text collection, 13 sets of BEIR
    assert counts["finetune"] == 11  # six models of one seed, the main one of five


def test_the_benchmark_is_a_target_of_its_own(tree: Path) -> None:
    assert jobs(snakemake(tree, "bench")) == {"bench": 1, "total": 1}
    assert "bench" not in jobs(snakemake(tree, "--config", "scale=smoke"))


def plan_ids(tree: Path, *experiments: str) -> dict[str, tuple[str, dict[str, Any]]]:
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-c", PLAN_IDS, *experiments]
    run = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=True
    )
    return dict(json.loads(run.stdout))


def run_once(tree: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Id to folder and record of the main job, whose outputs are made up, all but vectors."""
    stages = plan_ids(tree, "figure1", "table2")
    for folder, record in stages.values():
        if record["stage"] != "encode":
            (tree / folder).mkdir(parents=True)
            (tree / folder / "spec.json").write_text(json.dumps(record))
    files = [f"tables/{name}.{form}" for name in ("figure1", "table2") for form in FORMS]
    files += [f"figures/figure1.{form}" for form in ("png", "svg")]
    for name in [*files, "claims.json", "claims.md", "index.html"]:
        (tree / "results" / name).parent.mkdir(exist_ok=True)
        (tree / "results" / name).write_text("")
    return stages


def test_what_is_deleted_is_made_again_with_what_was_made_from_it(tree: Path) -> None:
    stages = run_once(tree)
    (model,) = (
        name
        for name, (_, record) in stages.items()
        if name.startswith("modernbert-splade-")
        and (record["stage"], record.get("seed")) == ("finetune", 42)
    )
    made_from_it = {model}
    for _ in range(3):  # encode, retrieve, evaluate
        made_from_it |= {
            name
            for name, (_, record) in stages.items()
            if made_from_it & {str(value) for value in record.values()}
        }
    assert len(made_from_it) == 4
    shutil.rmtree(tree / stages[model][0])
    shown = snakemake(tree, "--quiet", "host", "--config", *MAIN_JOB).stdout
    planned = {Path(log).name for log in re.findall(r"^ +log: (\S+)\.log", shown, re.M)}
    assert planned == {*made_from_it, "figure1", "table2", "claims", "index"}


def test_a_new_axis_changes_no_id_and_plans_only_its_own_jobs(tree: Path) -> None:
    before = run_once(tree)
    assert "Nothing to be done" in snakemake(tree, "--config", *MAIN_JOB).stdout

    options = tree / "src" / "lexigraft" / "specs" / "options.py"
    head, bias, tail = options.read_text().partition("    bias_alignment: BiasAlignment")
    options.write_text(head + FIELD + bias + tail)
    (tree / "workflow" / "experiments" / "temperature.yaml").write_text(EXPERIMENT)

    after = plan_ids(tree, "figure1", "table2", "temperature")
    assert set(before) <= set(after)
    # Two of the three temperatures are new; the third is the default, so it is the run of table 2.
    new = [identity for identity in after if identity not in before]
    stages = [after[identity][1]["stage"] for identity in new]
    wanted = ["transfer", "mlm", "calibrate", "finetune", "encode", "retrieve", "evaluate"]
    assert sorted(stages) == sorted(wanted * 2)
    named = ("experiments=[figure1,table2,temperature]", "rows=main")
    counts = jobs(snakemake(tree, "--config", *named))
    assert {name: counts.get(name) for name in wanted} == dict.fromkeys(wanted, 2)
    assert "backbone" not in counts
    assert "corpus" not in counts
    assert counts["table"] == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["scale=huge"],
            "scale: found 'huge'; allowed: development, mini, mini-backbones, paper, smoke",
        ),
        (["experiment=table2"], "unknown key 'experiment'; did you mean 'experiments'?"),
        (["seeds=first"], "seeds: found 'first'; allowed: a value of type integer"),
        (["experiments=[]"], "experiments: found []; allowed: 1 or more values"),
        (["results=a{b}"], 'results: found "a{b}"; allowed: folder that runs write to, a path'),
    ],
)
def test_a_wrong_word_stops_before_the_dag(tree: Path, words: list[str], sentence: str) -> None:
    refused(snakemake(tree, "--config", *words), sentence)


def test_the_cluster_profile_names_rules_that_there_are(root: Path) -> None:
    text = "".join(path.read_text() for path in (root / "workflow" / "rules").glob("*.smk"))
    rules = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^rule |\Z)", text, re.M | re.S))
    profile = yaml.safe_load((root / "profiles" / "slurm" / "config.yaml").read_text())
    grouped = [entry.split("=")[0] for entry in profile["groups"]]
    assert {*grouped, *profile["set-resources"], *profile["set-threads"]} <= set(rules)
    # A group with a GPU would hold it while the processor searches.
    assert [name for name in grouped if "gpu=" in rules[name]] == []
    assert "gpu=" in rules["encode"]


def test_a_table_that_is_not_configured_is_refused(tree: Path) -> None:
    run = snakemake(tree, "results/tables/figure1.csv", "--config", "experiments=table2")
    refused(run, "experiments: 'figure1' is asked for and not among the configured ones: table2")


def refused(run: subprocess.CompletedProcess[str], sentence: str) -> None:
    """One sentence is the last that is shown, and no frame of a program."""
    assert run.returncode == 2
    shown = run.stdout + run.stderr
    assert sentence in shown.splitlines()[-1]
    assert "Traceback" not in shown
    assert 'File "' not in shown


def test_a_misspelt_strategy_in_an_experiment_stops_before_the_dag(tree: Path) -> None:
    wrong = EXPERIMENT.replace(
        "transfer.temperature: [0.5, 1.0, 2.0]", "transfer.initialisation: [semantik]"
    )
    (tree / "workflow" / "experiments" / "wrong.yaml").write_text(wrong)
    run = snakemake(tree, "--config", "experiments=wrong")
    assert run.returncode != 0
    assert "'semantik'" in run.stdout + run.stderr or '"semantik"' in run.stdout + run.stderr
    assert "semantic, subtoken, random_new, random_all, mean" in run.stdout + run.stderr


def test_a_stage_that_refuses_its_input_stops_the_workflow(tree: Path) -> None:
    """Not a dry run: the corpus job fails, its sentence is shown and nothing is left behind."""
    scale = tree / "workflow" / "scales" / "smoke.yaml"
    text = scale.read_text(encoding="utf-8")
    scale.write_text(text.replace("[numpy]", "[no_such_package]"), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    run = subprocess.run(
        [*command, "--config", "scale=smoke", *MAIN_JOB],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    shown = run.stdout + run.stderr
    assert "no_such_package" in shown
    assert "Traceback" not in shown
    assert not list((tree / "results" / "corpus").glob("*"))
    assert not (tree / "results" / "backbone").exists()


def test_a_results_folder_of_any_name_is_quoted(tree: Path) -> None:
    run = snakemake(tree, "-p", "--quiet", "host", "--config", "scale=smoke", "results=a b;c ä")
    assert run.returncode == 0, run.stderr
    commands = [line for line in run.stdout.splitlines() if " --out " in line]
    assert commands
    for line in commands:
        words = shlex.split(line)
        assert words[words.index("--out") + 1].startswith("a b;c ä/")
        assert words[words.index("--log") + 1].startswith("a b;c ä/logs/")
