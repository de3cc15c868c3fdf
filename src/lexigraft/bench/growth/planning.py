"""Planning a sweep of so many jobs at the scale mini, in a copy of the workflow.

A row of the sweep has six jobs of its own (mlm, calibrate, finetune, encode, retrieve, evaluate);
four are shared (corpus, two backbones, transfer). Reports are not counted.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lexigraft.bench.comparison import Work
from lexigraft.errors import LexigraftError

JOBS_A_ROW, SHARED_JOBS = 6, 4
EXPERIMENT = """\
title: A sweep
source: {{document: ours}}
columns: [zero_shot.ndcg@10]
base: {{backbone: modernbert, target: bert-uncased, space: "", adapted: true, calibrated: true}}
sweep: {{mlm.steps: {steps}}}
"""
CONFIG = {"scale": "mini", "experiments": ["sweep"]}


def ours(*, jobs: int) -> Work:
    """What the Snakefile asks of us: the plan, and each stage's inputs and options."""
    from lexigraft.specs.config import load_config
    from lexigraft.specs.plan import build_plan

    root = _workflow(jobs)

    def run() -> int:
        plan = build_plan(load_config(root, CONFIG))
        return len([(plan.inputs(name), plan.options(name)) for name in plan.stages])

    return Work(run)


def snakemake(*, jobs: int) -> Work:
    """A dry run in a process of its own."""
    root = _workflow(jobs)
    words = ["--cores", "1", "--dry-run", "--config"]
    words += [f"{key}={value}" for key, value in CONFIG.items()]

    def run() -> None:
        command = [sys.executable, "-m", "snakemake", *words]
        subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=True)

    return Work(run)


def refuse_elsewhere() -> None:
    """Raise LexigraftError unless the current folder is the repository, whose workflow is used."""
    root = Path.cwd()
    if not (root / "workflow" / "schemas").is_dir() or not (root / "Snakefile").is_file():
        raise LexigraftError(
            f"{root}: no Snakefile with its workflow; planning is measured in the repository: go "
            "there, or name other measurements"
        )


def _workflow(jobs: int) -> Path:
    """A copy of the repository's workflow with a sweep of so many jobs."""
    root = Path(tempfile.mkdtemp())
    for name in ("workflow", "profiles"):
        shutil.copytree(name, root / name)
    for name in ("Snakefile", "config.yaml"):
        shutil.copyfile(name, root / name)
    rows = max(1, (jobs - SHARED_JOBS) // JOBS_A_ROW)
    text = EXPERIMENT.format(steps=list(range(1, rows + 1)))
    (root / "workflow" / "experiments" / "sweep.yaml").write_text(text, encoding="utf-8")
    return root
