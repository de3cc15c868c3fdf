"""A copy of the repository's workflow, which a test may change."""

import shutil
from pathlib import Path

import pytest

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
