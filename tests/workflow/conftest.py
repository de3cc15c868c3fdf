"""The run that all slow tests of the workflow look at: it takes minutes and is made once."""

from dataclasses import replace
from pathlib import Path

import pytest
from smoke_run import SmokeRun


@pytest.fixture(scope="session")
def smoke(root: Path, tmp_path_factory: pytest.TempPathFactory) -> SmokeRun:
    """All experiments at the scale smoke. Tests leave it as they found it."""
    run = SmokeRun(root, tmp_path_factory.mktemp("smoke"))
    return replace(run, shown=run.snakemake())
