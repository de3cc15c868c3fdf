"""What is asked for again: nothing, what was killed, or what was deleted with all made from it."""

import csv
import json
import os
import signal
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from smoke_run import SmokeRun

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

REPORTS_ON_ALL = {"claims", "index"}


def test_the_same_command_again_has_nothing_to_do(smoke: SmokeRun) -> None:
    assert "Nothing to be done" in smoke.snakemake()
    assert smoke.planned() == set()


def test_a_run_that_is_killed_goes_on_and_ends_the_same(
    root: Path, smoke: SmokeRun, tmp_path: Path
) -> None:
    run = SmokeRun(root, tmp_path / "killed")
    for stage in ("backbone", "finetune", "encode"):
        with subprocess.Popen(
            run.command(experiments="vectors"),
            cwd=root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            wait_for(run.results / stage, process)
            os.killpg(process.pid, signal.SIGKILL)
    run.snakemake(experiments="vectors")
    made = run.hashes()
    assert {"tables/vectors.md"} < made.keys()
    assert made.items() <= smoke.hashes().items()
    left = [
        p for p in run.results.glob("*/.*") if p.suffix in (".partial", ".lock", ".checkpoints")
    ]
    assert left == []


def wait_for(folder: Path, process: "subprocess.Popen[bytes]") -> None:
    """Until a job of the stage has begun: it holds its lock."""
    start = time.monotonic()
    while not list(folder.glob(".*.lock")):
        assert process.poll() is None, "the workflow ended before the stage began"
        assert time.monotonic() - start < 600
        time.sleep(0.05)
    time.sleep(1)


def test_a_deleted_model_is_made_again_with_what_was_made_from_it(smoke: SmokeRun) -> None:
    readers = readers_of(smoke.results)
    # The model that most was made from: one that another's adaptation distils.
    (teacher,) = (
        job
        for job, found in readers.items()
        if job.startswith("finetune/") and any(reader.startswith("mlm/") for reader in found)
    )
    made_from_it = closure(teacher, readers)
    kinds = {job.split("/")[0] for job in made_from_it}
    assert {"mlm", "calibrate", "finetune", "encode", "retrieve", "evaluate", "theory"} < kinds
    assert {"table/table6", "figure/figure1", "table/theory"} < made_from_it
    assert {"table/table4", "table/table9", "table/table10", "table/vectors"}.isdisjoint(
        made_from_it
    )
    with deleted(smoke.results / teacher):
        assert smoke.planned() == made_from_it
    assert smoke.planned() == set()


def test_a_deleted_evaluation_is_made_again_and_the_reports_on_it(smoke: SmokeRun) -> None:
    readers = readers_of(smoke.results)
    cells = {(cell["row"], cell["column"]): cell for cell in smoke.cells("table7")}
    cell = cells["roberta-large-vt", "zero_shot.ndcg@10"]
    lost = smoke.results / cell["evaluations"].split()[0]
    expected = {f"evaluate/{lost.name}", "table/table7", *REPORTS_ON_ALL}
    assert closure(f"evaluate/{lost.name}", readers) == expected
    before = smoke.hashes(), (lost / "per_query.parquet").read_bytes()
    with deleted(lost):
        assert smoke.planned() == expected
        shown = smoke.snakemake()
        # With the rule `all` itself.
        assert f"{len(expected) + 1} of {len(expected) + 1} steps (100%) done" in shown
        assert (smoke.hashes(), (lost / "per_query.parquet").read_bytes()) == before
    assert smoke.planned() == set()


def test_a_deleted_table_is_made_again_with_the_page(smoke: SmokeRun) -> None:
    with deleted(smoke.results / "tables" / "table9.md"):
        assert smoke.planned() == {"table/table9", "index"}


@contextmanager
def deleted(path: Path) -> Iterator[None]:
    """A file or folder that is away for a while; what was made in its place stays."""
    aside = path.parents[1].with_name("aside") / path.name
    aside.parent.mkdir(exist_ok=True)
    path.rename(aside)
    try:
        yield
    finally:
        if not path.exists():
            aside.rename(path)


def readers_of(results: Path) -> Mapping[str, set[str]]:
    """Job to the jobs that read what it made, from what the results say of themselves."""
    readers: dict[str, set[str]] = defaultdict(set)
    specs = [json.loads(path.read_text()) for path in sorted(results.glob("*/*/spec.json"))]
    for path in results.glob("*/*/provenance.json"):
        inputs = json.loads(path.read_text())["inputs"]
        # Vectors are removed: what they were made of is known to what searched them.
        specs += [entry["spec"] for entry in inputs.values() if "spec" in entry]
    job_of = {spec["id"]: f"{spec['stage']}/{spec['id']}" for spec in specs}
    for spec in specs:
        for read in read_by(spec, job_of):
            readers[read].add(job_of[spec["id"]])
    for path in results.glob("tables/*.csv"):
        with path.open(encoding="utf-8", newline="") as stream:
            cells = list(csv.DictReader(stream))
        used = {folder for c in cells for folder in c.get("evaluations", "").split()}
        used |= {cell["transfer"] for cell in cells if "transfer" in cell}
        figure = results / "figures" / f"{path.stem}.png"
        reports = {f"table/{path.stem}", *REPORTS_ON_ALL}
        reports |= {f"figure/{path.stem}"} if figure.is_file() else set()
        for folder in used:
            readers[folder] |= reports
    return readers


def read_by(spec: Mapping[str, Any], job_of: Mapping[str, str]) -> set[str]:
    """Jobs whose ids stand in a spec."""
    values = [value for key, value in spec.items() if key != "id" and isinstance(value, str)]
    return {job_of[value] for value in values if value in job_of}


def closure(job: str, readers: Mapping[str, set[str]]) -> set[str]:
    """A job and all that was made from it, at any distance."""
    found, open_ones = {job}, [job]
    while open_ones:
        for reader in readers.get(open_ones.pop(), set()) - found:
            found.add(reader)
            open_ones.append(reader)
    return found
