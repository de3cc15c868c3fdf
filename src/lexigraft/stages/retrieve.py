"""Stage retrieve: the best documents of each query."""

from collections.abc import Iterator
from typing import Any

from lexigraft.corpora.collection import Collection
from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object, write_json
from lexigraft.retrieval.engines import search
from lexigraft.retrieval.hits import Hits, write_rankings
from lexigraft.specs.stages import RetrieveSpec
from lexigraft.stages.job import Job

MEASURED = ("document_length", "query_length", "flops", "health", "query_health")


def run(spec: RetrieveSpec, job: Job) -> None:
    """Write rankings.parquet (set, query, document, rank, score) and retrieve.json.

    Sets come in the manifest's order, queries in the order of their file, documents best first.
    """
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
            facts[name] = describe(hits, encoded.get(name))
            yield name, hits

    write_rankings(job.out / "rankings.parquet", rankings())
    record: dict[str, Any] = {"engine": spec.engine, "depth": spec.depth}
    if spec.engine == "bm25":
        record |= {"k1": spec.k1, "b": spec.b}
    write_json(job.out / "retrieve.json", record | {"sets": facts})


def describe(hits: Hits, encoded: dict[str, Any] | None) -> dict[str, Any]:
    """A set's entry of retrieve.json: counts, and what the encoder measured (None for BM25)."""
    return {
        "documents": len(hits.document_ids),
        "queries": len(hits.query_ids),
        "unanswered": sum(len(found) == 0 for found in hits.documents),
    } | {key: (encoded or {}).get(key) for key in MEASURED}
