"""Stage retrieve: the best documents of each query."""

from collections.abc import Iterator
from typing import Any

from lexigraft.corpora.collection import Collection
from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object, write_json
from lexigraft.retrieval.engines import engine_recall, search
from lexigraft.retrieval.hits import Hits, write_rankings
from lexigraft.specs.options import ENGINE_OPTIONS, RetrieveOptions
from lexigraft.specs.ranges import as_option
from lexigraft.specs.stages import RetrieveSpec
from lexigraft.stages.job import Job

MEASURED = (
    "document_length",
    "query_length",
    "flops",
    "document_bytes",
    "fragmentation",
    "health",
    "query_health",
)
"""What the encoder measured of a set."""


def run(spec: RetrieveSpec, job: Job) -> None:
    """Write rankings.parquet (set, query, document, rank, score) and retrieve.json.

    Sets come in the manifest's order, queries in the order of their file, documents best first.
    """
    _refuse_unread(spec)
    collection = Collection.open(job.inputs["collection"])
    vectors = job.inputs.get("vectors")
    encoded: dict[str, dict[str, Any]] = {}
    if vectors:
        path = vectors / "encode.json"
        encoded = member(read_object(path), "sets", dict, str(path))
    facts: dict[str, dict[str, Any]] = {}

    def rankings() -> Iterator[tuple[str, Hits]]:
        for name in collection.set_names():
            evaluation_set = collection.evaluation_set(name)
            if vectors and name not in encoded:
                raise LexigraftError(f"{vectors / 'encode.json'}: no vectors of the set {name!r}")
            folder = vectors / name if vectors else None
            hits = search(evaluation_set, folder, spec)
            recall = engine_recall(hits, evaluation_set, folder, spec)
            facts[name] = describe(hits, encoded.get(name)) | recall
            yield name, hits

    write_rankings(job.out / "rankings.parquet", rankings())
    write_json(job.out / "retrieve.json", settings(spec) | {"sets": facts})


def _refuse_unread(options: RetrieveOptions) -> None:
    """Raise LexigraftError for an option that the engine does not read."""
    defaults = RetrieveOptions()
    for engine, names in ENGINE_OPTIONS.items():
        for name in names:
            found = getattr(options, name)
            if engine != options.engine and found != getattr(defaults, name):
                raise LexigraftError(
                    f"{as_option(name)}: found {found}; read by {engine} only, the engine is "
                    f"{options.engine}"
                )


def settings(options: RetrieveOptions) -> dict[str, Any]:
    """The engine, its depth and the options that it reads."""
    names = ("engine", "depth", *ENGINE_OPTIONS[options.engine])
    return {name: getattr(options, name) for name in names}


def describe(hits: Hits, encoded: dict[str, Any] | None) -> dict[str, Any]:
    """A set's entry of retrieve.json: counts, and what the encoder measured (None for BM25)."""
    return {
        "documents": len(hits.document_ids),
        "queries": len(hits.query_ids),
        "unanswered": sum(len(found) == 0 for found in hits.documents),
    } | {key: (encoded or {}).get(key) for key in MEASURED}
