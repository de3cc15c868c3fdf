"""The plan as the Snakefile asks for it."""

import fcntl
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan
from lexigraft.warm import keep


def load_plan(root: str, values: Mapping[str, Any]) -> Plan:
    """Plan the configured experiments; where the configuration is wrong, Snakemake stops."""
    with told_in_one_sentence():
        plan = build_plan(load_config(Path(root), values, sys.argv))
    # Jobs inherit it: a text that several trainings read is tokenised once.
    os.environ.setdefault("LEXIGRAFT_CACHE", str(plan.config.results.resolve() / "cache"))
    return plan


def evaluations(plan: Plan, *experiments: str) -> list[str]:
    """What a report on some experiments reads; where one is not configured, Snakemake stops."""
    with told_in_one_sentence():
        return plan.evaluations(experiments)


def retrained(plan: Plan) -> list[str]:
    """Backbones that are pre-trained to be shipped; where the scale has none, Snakemake stops."""
    with told_in_one_sentence():
        if not plan.retrained:
            raise LexigraftError(
                f"backbones: the scale {plan.config.scale.name} pre-trains none to be shipped; "
                "allowed: a scale with retrain: true, such as mini-backbones"
            )
    return plan.retrained


def begin(workflow: Any, results: str) -> None:
    """Before the first job: hold the results folder, have the jobs of one machine start fast."""
    hold(results)
    if workflow.local_exec:
        keep()
        # Its limit on jobs a second wakes the scheduler more often with each job that has run.
        workflow.scheduler.job_rate_limiter = None


def hold(results: str) -> None:
    """Keep other workflows off a results folder while this process lives; stop if one is at work.

    The kernel frees the lock of a process that is killed, so nothing is ever to be unlocked.
    """
    with told_in_one_sentence():
        try:
            folder = Path(results)
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder / ".workflow.lock", os.O_CREAT | os.O_RDWR, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LexigraftError(
                f"{results}: another workflow is at work there; wait until it ends, or stop it"
            ) from None
        except OSError as error:
            raise LexigraftError(f"{results}: {error.strerror or error}") from None


@contextmanager
def told_in_one_sentence() -> Iterator[None]:
    """Stop with one sentence and code 2; an exception would come with frames of the Snakefile."""
    try:
        yield
    except LexigraftError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def launcher(gpus: int) -> str:
    """What stands before a training's command: torchrun where a profile gives it several GPUs."""
    if gpus <= 1:
        return ""
    return f"torchrun --standalone --nproc-per-node {gpus} --no-python "
