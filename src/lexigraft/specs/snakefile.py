"""The plan as the Snakefile asks for it."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snakemake.exceptions import WorkflowError

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan


def load_plan(root: str, values: Mapping[str, Any]) -> Plan:
    """Plan the configured experiments.

    Raises:
        WorkflowError: the configuration is wrong; Snakemake prints its one sentence and stops.
    """
    try:
        plan = build_plan(load_config(Path(root), values, sys.argv))
    except LexigraftError as error:
        raise WorkflowError(str(error)) from None
    # Jobs inherit it: a text that several trainings read is tokenised once.
    os.environ.setdefault("LEXIGRAFT_CACHE", str(plan.config.results.resolve() / "cache"))
    return plan


def launcher(gpus: int) -> str:
    """What stands before a training's command: torchrun where a profile gives it several GPUs."""
    if gpus <= 1:
        return ""
    return f"torchrun --standalone --nproc-per-node {gpus} --no-python "
