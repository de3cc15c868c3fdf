"""A reference: what is kept of a finished run so that later runs can be compared with it.

Its folder holds

- `tables/*.csv` and `*.md`, `figures/*.png`, `claims.json` and `claims.md`, as the run wrote them
  (the links of `*.md` to outputs aside, which are not kept);
- `requirements.lock`, the pinned versions;
- `outputs.csv`, every output of a stage: when, how long, in which environment;
- `reference.json`: configuration, environments (commit, versions, hardware, threads), the lock's
  hash, the seconds of each stage.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lexigraft.files import (
    refuse_taken,
    sha256_file,
    whole_folder,
    write_json,
)
from lexigraft.reference.complete import refuse_incomplete, refuse_other_versions
from lexigraft.reference.lock import LOCK
from lexigraft.reference.outputs import (
    OUTPUTS,
    RECORD,
    Output,
    csv_text,
    environments_of,
    planned_outputs,
    stages_of,
)
from lexigraft.specs.plan import Plan

LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+[^)]*\)")
"""A link of a table to an output of the run."""


def write_reference(plan: Plan, out: Path) -> dict[str, Any]:
    """Keep a finished run's tables, claims and figures in `out`, and what made them.

    Returns:
        What `reference.json` holds.

    Raises:
        LexigraftError: a part of the run is missing or older than what it is made of, a table is
            of another scale or other rows than the plan, the versions are not those of the lock,
            or `out` holds something else.
    """
    results = plan.config.results
    outputs = planned_outputs(plan.stages, results)
    environments = environments_of(outputs)
    lock = plan.config.root / "envs" / LOCK
    refuse_incomplete(plan, _parts(plan))
    refuse_other_versions(lock, environments)
    record = {
        "scale": plan.config.scale.name,
        "rows": plan.config.rows,
        "seeds": list(plan.config.many),
        "significance": plan.config.significance,
        "experiments": list(plan.experiments),
        "finished": max((output.finished for output in outputs), default=""),
        "lock": {"file": f"envs/{LOCK}", "sha256": sha256_file(lock)},
        "environments": environments,
        "stages": stages_of(outputs),
    }
    refuse_taken(out, [results])
    with whole_folder(out) as partial:
        _copy(results, _parts(plan), partial)
        shutil.copyfile(lock, partial / LOCK)
        _write_outputs(partial / OUTPUTS, outputs, environments)
        write_json(partial / RECORD, record)
    return record


def _parts(plan: Plan) -> list[str]:
    """Files of a run that a reference keeps."""
    tables = [f"tables/{name}.{form}" for name in plan.tables for form in ("csv", "md")]
    return [*tables, *(f"figures/{name}.png" for name in plan.figures), "claims.json", "claims.md"]


def _copy(results: Path, parts: Iterable[str], out: Path) -> None:
    for part in parts:
        target = out / part
        target.parent.mkdir(exist_ok=True)
        if part.endswith(".md"):
            text = (results / part).read_text(encoding="utf-8")
            target.write_text(LINK.sub(r"`\1`", text), encoding="utf-8")
        else:
            shutil.copyfile(results / part, target)


def _write_outputs(
    path: Path, outputs: Iterable[Output], environments: list[Mapping[str, Any]]
) -> None:
    ordered = sorted(outputs, key=lambda output: (output.stage, output.id))
    path.write_text(csv_text(ordered, environments), encoding="utf-8")
