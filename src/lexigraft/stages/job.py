"""How every stage runs: inputs checked, output whole or absent, where it came from written down."""

import logging
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object, refuse_taken, sha256_file, whole_folder, write_json
from lexigraft.locks import alone
from lexigraft.machine import accelerators, commit, processor, threads, versions
from lexigraft.specs.base import StageSpec
from lexigraft.specs.ranges import check_fields

log = logging.getLogger(__name__)
MARKS = (
    "model.safetensors",
    "manifest.json",
    "rankings.parquet",
    "spec.json",
    "corpus.jsonl",
    "queries.jsonl",
)
"""Files that identify an input's content."""
RECORDED_PACKAGES = (
    "lexigraft",
    "torch",
    "transformers",
    "tokenizers",
    "numpy",
    "scipy",
    "bm25s",
    "pyseismic-lsr",
)


@dataclass(frozen=True)
class Job:
    """What a stage is given beside its spec."""

    inputs: Mapping[str, Path]
    """Folder of each input field that is given."""
    out: Path
    """Empty folder to fill; it is renamed to its real name when the stage returns."""
    checkpoints: Path
    """Folder that outlives a kill; removed when the stage has succeeded."""


def execute(
    spec: StageSpec,
    inputs: Mapping[str, Path],
    out: Path,
    run: Callable[[Any, Job], None],
) -> None:
    """Run one stage into `out`, with `spec.json` and `provenance.json` beside what it writes.

    Raises:
        LexigraftError: an input folder is missing, or the stage refuses its input.
    """
    kinds = {field.name: field.metadata.get("reads") for field in fields(spec)}
    for name, folder in inputs.items():
        # A model may be the hub's: its loader says what is wrong with it.
        if kinds[name] != "model" and not folder.is_dir():
            raise LexigraftError(f"--{name}: no such folder: {folder}")
    check_fields(spec)
    refuse_taken(out, inputs.values())
    if int(os.environ.get("RANK", "0")) > 0:
        _assist(spec, inputs, out, run)
        return
    checkpoints = out.with_name(f".{out.name}.checkpoints")
    record = {"id": out.name, **spec.record()}
    start = time.time()
    with alone(out) as waited:
        if waited and read_spec(out) == record:
            log.info("%s: the other process has made it", out.name)
            return
        log.info("%s: start", out.name)
        resumed = checkpoints.is_dir()
        with whole_folder(out) as partial:
            run(spec, Job(inputs, partial, checkpoints))
            write_json(partial / "spec.json", record)
            origin = provenance(inputs, start, getattr(spec, "seed", None))
            # Then `seconds` are those since it went on, and not of all its work.
            origin["resumed"] = resumed
            for name, folder in inputs.items():
                if kinds[name] == "vectors":
                    # They are removed once they were searched, and their own record with them.
                    origin["inputs"][name]["spec"] = read_spec(folder)
            write_json(partial / "provenance.json", origin)
        shutil.rmtree(checkpoints, ignore_errors=True)
    log.info("%s: done in %.0f s", out.name, time.time() - start)


def _assist(
    spec: StageSpec, inputs: Mapping[str, Path], out: Path, run: Callable[[Any, Job], None]
) -> None:
    """Run as one of several processes of a training: the first one writes, this one does not."""
    with tempfile.TemporaryDirectory() as scratch:
        run(spec, Job(inputs, Path(scratch), out.with_name(f".{out.name}.checkpoints")))


def provenance(inputs: Mapping[str, Path], start: float, seed: int | None = None) -> dict[str, Any]:
    """Commit, versions, hardware, threads, seconds since `start`, seed, and what was read."""
    return {
        "commit": commit(),
        "versions": {"python": platform.python_version(), **versions(RECORDED_PACKAGES)},
        "hardware": {"machine": platform.machine(), "processor": processor(), **accelerators()},
        "threads": threads(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": round(time.time() - start, 2),
        "seed": seed,
        "inputs": {name: _fingerprint(folder) for name, folder in inputs.items()},
    }


def _fingerprint(folder: Path) -> dict[str, Any]:
    """Name of an input and the hash of what identifies its content.

    Vectors are removed once they are searched: where they came from is kept here.
    """
    hashes = {mark: sha256_file(folder / mark) for mark in MARKS if (folder / mark).is_file()}
    fingerprint = {"name": folder.name, **hashes}
    origin = folder / "provenance.json"
    if (folder / "encode.json").is_file() and origin.is_file():
        return {**fingerprint, "provenance": read_object(origin)}
    return fingerprint


def read_spec(folder: Path) -> dict[str, Any]:
    """The `spec.json` of a stage's output, or an empty record for a folder made elsewhere."""
    path = folder / "spec.json"
    return read_object(path, f"remove {folder} to make it again") if path.is_file() else {}
