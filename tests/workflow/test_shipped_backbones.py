"""`make backbones`: what is planned, and a pre-training that the workflow ships and takes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lexigraft.files import sha256_file
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan

TAKING = "extends: smoke\ntitle: Taking\nshipped: [bert-uncased]\n"


def snakemake(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The copy's own package must be the one that is imported.
    environment = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *words]
    return subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, check=False
    )


def test_the_target_pretrains_all_that_is_shipped(tree: Path) -> None:
    run = snakemake(tree, "-n", "--config", "scale=mini-backbones", "--", "backbones")
    assert run.returncode == 0, run.stderr
    counts = {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", run.stdout, re.M)}
    scale = load_config(tree, {"scale": "mini-backbones", "experiments": ["table2"]}).scale
    shipped = len(scale.retrained)
    assert counts == {"corpus": 1, "backbone": shipped, "backbones": 1, "total": shipped + 2}


def test_the_target_needs_a_scale_that_retrains(tree: Path) -> None:
    run = snakemake(tree, "-n", "--config", "scale=smoke", "--", "backbones")
    shown = run.stdout + run.stderr
    assert run.returncode == 2
    assert "the scale smoke pre-trains none to be shipped; allowed: a scale with ret" in shown
    assert "Traceback" not in shown


@pytest.mark.slow
def test_a_backbone_is_made_shipped_and_taken(tree: Path) -> None:
    shutil.rmtree(tree / "workflow" / "backbones")
    scales = tree / "workflow" / "scales"
    (scales / "taking.yaml").write_text(TAKING, encoding="utf-8")
    (scales / "making.yaml").write_text(f"{TAKING}retrain: true\n", encoding="utf-8")
    run = snakemake(tree, "-n", "--config", "scale=taking")
    assert run.returncode == 2
    assert "shipped: 'bert-uncased' has no folder" in (run.stdout + run.stderr).splitlines()[-1]

    run = snakemake(tree, "--config", "scale=making", "--", "backbones")
    assert run.returncode == 0, run.stdout + run.stderr
    shipped = tree / "workflow" / "backbones" / "bert-uncased"
    assert [path.name for path in shipped.parent.iterdir()] == ["bert-uncased"]
    sha256 = sha256_file(shipped / "model.safetensors")
    assert sha256 in run.stdout + run.stderr

    plan = _plan(tree, "taking")
    identity = plan.config.scale.backbones["bert-uncased"].id
    folder = plan.folder(identity)
    run = snakemake(tree, "--config", "scale=taking", "--", folder)
    assert run.returncode == 0, run.stdout + run.stderr
    record = json.loads((tree / folder / "backbone.json").read_text(encoding="utf-8"))
    assert (record["origin"], record["sha256"]["model.safetensors"]) == ("shipped", sha256)
    smoke = _plan(tree, "smoke").config.scale
    assert record["pretraining"]["spec"]["id"] == smoke.backbones["bert-uncased"].id


def _plan(tree: Path, scale: str) -> Plan:
    return build_plan(load_config(tree, {"scale": scale, "experiments": ["table2"]}))
