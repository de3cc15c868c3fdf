"""Stage evaluate: metrics of a ranking, for each query and on average."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lexigraft.corpora.collection import Collection
from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.errors import LexigraftError
from lexigraft.evaluation.metrics import Evaluation, Run, evaluate
from lexigraft.files import member, read_object, write_json
from lexigraft.retrieval.hits import read_rankings
from lexigraft.specs.stages import EvaluateSpec
from lexigraft.stages.job import Job

log = logging.getLogger(__name__)
MEASURED = (
    "document_length",
    "query_length",
    "flops",
    "document_bytes",
    "fragmentation",
    "health",
    "query_health",
    "engine_recall",
    "engine_recall@10",
)
"""What earlier stages measured of a set."""
COLUMNS = pa.schema(
    [
        ("set", pa.string()),
        ("query", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
    ]
)


def run(spec: EvaluateSpec, job: Job) -> None:
    """Write metrics.json and per_query.parquet (set, query, metric, value)."""
    collection = Collection.open(job.inputs["collection"])
    folder = job.inputs["run"]
    path = folder / "retrieve.json"
    retrieved = member(read_object(path), "sets", dict, str(path))
    runs = dict(read_rankings(folder / "rankings.parquet"))
    sets, tables = {}, {}
    for name in collection.set_names():
        if name not in retrieved:
            raise LexigraftError(f"{path}: the set {name!r} was not searched")
        evaluation_set = collection.evaluation_set(name)
        # A set without a single hit has no row in the rankings, and all its queries count as 0.
        sets[name], tables[name] = measure(
            evaluation_set,
            runs.get(name, {}),
            spec.metrics,
            member(retrieved, name, dict, f"{path}: sets"),
        )
    write_results(job.out, sets, tables)


def measure(
    evaluation_set: EvaluationSet,
    found: Run,
    metrics: Sequence[str],
    retrieved: Mapping[str, Any],
) -> tuple[dict[str, Any], Evaluation]:
    """A set's entry of metrics.json, and its values for each query; a set that says nothing about
    any model is told."""
    evaluation = evaluate(evaluation_set.qrels, found, metrics)
    if not any(text.strip() for text in evaluation_set.queries.values()):
        log.warning("%s: no query has any text; its measures mean nothing", evaluation_set.name)
    if evaluation.without_relevant == len(evaluation_set.qrels):
        log.warning("%s: no document is judged relevant; all measures are 0", evaluation_set.name)
    facts = evaluation.mean | {
        "queries": len(evaluation_set.qrels),
        "queries_without_relevant": evaluation.without_relevant,
        "queries_unanswered": evaluation.unanswered,
        "documents": len(evaluation_set.documents),
        "missing_documents": evaluation_set.missing_documents,
    }
    return facts | {key: retrieved.get(key) for key in MEASURED}, evaluation


def write_results(
    out: Path, sets: Mapping[str, dict[str, Any]], tables: Mapping[str, Evaluation]
) -> None:
    """Write metrics.json and per_query.parquet."""
    write_measures(out, sets, {name: found.per_query for name, found in tables.items()})


def write_measures(
    out: Path,
    sets: Mapping[str, Mapping[str, Any]],
    per_query: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> None:
    """Write metrics.json, and per_query.parquet from set to metric to query to value."""
    write_json(out / "metrics.json", {"sets": sets})
    rows = [
        (name, query, metric, value)
        for name, metrics in per_query.items()
        for metric, values in metrics.items()
        for query, value in values.items()
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COLUMNS]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, COLUMNS, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=COLUMNS), out / "per_query.parquet")
