"""A copy of the workflow for a test to change, and the run that all slow tests look at."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from smoke_run import SmokeRun

TREE = ("Snakefile", "config.yaml", "workflow", "profiles", "envs", "src")


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of what the workflow is made of."""
    for name in TREE:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="session")
def smoke(root: Path, tmp_path_factory: pytest.TempPathFactory) -> SmokeRun:
    """All experiments at the scale smoke: minutes, once. Tests leave it as they found it."""
    run = SmokeRun(root, tmp_path_factory.mktemp("smoke"))
    return replace(run, shown=run.snakemake())
