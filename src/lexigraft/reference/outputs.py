"""The stage outputs behind a reference, and the circumstances that they were made in."""

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object
from lexigraft.specs.base import StageSpec

VECTORS = "encode"
"""The stage whose outputs are removed once they are searched; what was searched keeps their
provenance."""
RECORD = "reference.json"
OUTPUTS = "outputs.csv"
FIELDS = ("stage", "id", "environment", "finished", "seconds")
ENVIRONMENT: dict[str, type[Any]] = {"commit": str, "versions": dict, "hardware": dict}
"""Keys of a provenance that say where and by what an output was made; `threads` beside them."""


@dataclass(frozen=True)
class Output:
    """One output of a stage."""

    stage: str
    id: str
    environment: Mapping[str, Any] | None
    """Commit, versions, hardware and threads; None where nobody wrote them down."""
    finished: str = ""
    """UTC, ISO 8601."""
    seconds: float | None = None


def planned_outputs(stages: Mapping[str, StageSpec], results: Path) -> list[Output]:
    """The outputs of a plan as they are on disk.

    Raises:
        LexigraftError: one is missing (vectors aside), or its provenance is not what was written.
    """
    records: dict[str, Mapping[str, Any]] = {}
    for identity, spec in stages.items():
        path = results / spec.stage / identity / "provenance.json"
        if spec.stage == VECTORS:
            continue
        record = read_object(path, "the run is not complete: snakemake makes what is missing")
        records[identity] = record
        read = member(record, "inputs", dict, str(path)).get("vectors")
        if isinstance(read, dict) and isinstance(read.get("provenance"), dict):
            records[str(read.get("name"))] = read["provenance"]
    return [
        _output(spec.stage, identity, records.get(identity), results)
        for identity, spec in stages.items()
    ]


def output_on_disk(results: Path, place: str) -> Output | None:
    """The output in `<stage>/<id>` of a results folder; None where it holds none."""
    path = results / place / "provenance.json"
    stage, _, identity = place.partition("/")
    return _output(stage, identity, read_object(path), results) if path.is_file() else None


def _output(stage: str, identity: str, record: Mapping[str, Any] | None, results: Path) -> Output:
    if record is None:
        return Output(stage, identity, environment=None)
    where = str(results / stage / identity / "provenance.json")
    environment = {key: member(record, key, kind, where) for key, kind in ENVIRONMENT.items()}
    seconds = record.get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise LexigraftError(f"{where}: 'seconds' is {seconds!r}, a number is needed")
    return Output(
        stage,
        identity,
        environment | {"threads": record.get("threads")},
        member(record, "finished", str, where),
        seconds,
    )


def environments_of(outputs: Iterable[Output]) -> list[Mapping[str, Any]]:
    """The different environments that outputs were made in, in the order of their first output."""
    found: list[Mapping[str, Any]] = []
    for output in outputs:
        if output.environment is not None and output.environment not in found:
            found.append(output.environment)
    return found


def stages_of(outputs: Iterable[Output]) -> dict[str, dict[str, Any]]:
    """Stage to how many outputs it has and how long they took: seconds of wall time, added up over
    jobs that may have run side by side, and how many outputs have no time on record."""
    stages: dict[str, dict[str, Any]] = {}
    for output in outputs:
        stage = stages.setdefault(output.stage, {"outputs": 0, "seconds": 0.0, "untimed": 0})
        stage["outputs"] += 1
        stage["seconds"] = round(stage["seconds"] + (output.seconds or 0.0), 2)
        stage["untimed"] += output.seconds is None
    return stages


def csv_text(outputs: Iterable[Output], environments: list[Mapping[str, Any]]) -> str:
    """A line for each output; `environment` is its number in the reference's record, from 0."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(FIELDS)
    for output in outputs:
        made_in, seconds = output.environment, output.seconds
        writer.writerow(
            (
                output.stage,
                output.id,
                "" if made_in is None else environments.index(made_in),
                output.finished,
                "" if seconds is None else seconds,
            )
        )
    return stream.getvalue()


def read_outputs(path: Path, environments: list[Mapping[str, Any]]) -> list[Output]:
    """The outputs that `csv_text` wrote.

    Raises:
        LexigraftError: the file is missing, has other columns, names an environment that is none,
            or has seconds that no job takes.
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.DictReader(stream)
            columns, lines = tuple(reader.fieldnames or ()), list(reader)
    except OSError as error:
        raise LexigraftError(f"{path}: {error.strerror or error}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise LexigraftError(f"{path}: not valid CSV ({error})") from None
    if columns != FIELDS:
        raise LexigraftError(f"{path}: not what was written; its columns are {', '.join(FIELDS)}")
    outputs = []
    for number, line in enumerate(lines, 2):
        try:
            where = environments[int(line["environment"])] if line["environment"] else None
            seconds = float(line["seconds"]) if line["seconds"] else None
            if seconds is not None and not 0 <= seconds < math.inf:
                raise ValueError(f"{seconds} seconds")
            outputs.append(Output(line["stage"], line["id"], where, line["finished"], seconds))
        except (IndexError, TypeError, ValueError) as error:
            raise LexigraftError(
                f"{path}: line {number}: not what was written ({type(error).__name__}: {error})"
            ) from None
    return outputs
