"""Stage encode: vectors of the queries and documents of a collection's evaluation sets."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch

from lexigraft.corpora.collection import Collection
from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.encoders.encoder import Encoder
from lexigraft.encoders.health import Health, health
from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.streaming import encode_to_disk
from lexigraft.errors import LexigraftError
from lexigraft.evaluation.efficiency import Activity, flops
from lexigraft.files import write_json
from lexigraft.retrieval.vectors import Vectors
from lexigraft.specs.options import Values
from lexigraft.specs.stages import EncodeSpec
from lexigraft.stages.job import Job
from lexigraft.vocabulary.fragmentation import fragmentation
from lexigraft.vocabulary.token_cache import shared_token_cache

log = logging.getLogger(__name__)
HEALTH_TEXTS = 512
"""Documents, evenly spread over the set, whose vectors are judged."""
FRAGMENTED_TEXTS = 10_000
"""Documents, evenly spread over the set, whose tokens are counted beside those of all queries."""


def run(spec: EncodeSpec, job: Job) -> None:
    """Write `<set>/queries.*`, `<set>/documents.*` and encode.json."""
    collection = Collection.open(job.inputs["collection"])
    names = collection.set_names()
    if not names:
        raise LexigraftError(f"{collection.folder}: no evaluation set to encode")
    encoder = load_encoder(job.inputs["model"], device=device())
    sets = {
        name: encode_set(
            encoder,
            collection.evaluation_set(name),
            job.out / name,
            job.checkpoints / name,
            query_length=spec.query_length,
            document_length=spec.document_length,
            values=spec.values,
        )
        for name in names
    }
    write_json(job.out / "encode.json", {"head": encoder.head, "sets": sets})


def encode_set(
    encoder: Encoder,
    evaluation_set: EvaluationSet,
    out: Path,
    checkpoints: Path,
    *,
    query_length: int,
    document_length: int,
    values: Values = "float32",
) -> dict[str, Any]:
    """Encode one set into `out`; returns its entry of encode.json.

    document_length and query_length there are mean active terms, flops is
    `lexigraft.evaluation.flops`; all three are None for a dense encoder. `health` judges documents,
    `query_health` queries, document_bytes is the mean size of a document's vector on disk. All are
    of the vectors as they are stored. `fragmentation` is that of whole documents (at most 10,000)
    and queries under the encoder's tokenizer. `values` is for documents: queries are encoded when
    they are asked, not stored.
    """
    label = evaluation_set.name
    documents = encode_to_disk(
        encoder,
        evaluation_set.documents,
        document_length,
        "document",
        out,
        checkpoints,
        values=values,
        description=f"encode {label} documents",
    )
    queries = encode_to_disk(
        encoder,
        evaluation_set.queries,
        query_length,
        "query",
        out,
        checkpoints,
        description=f"encode {label} queries",
    )
    measured = measure(queries, documents)
    texts = _spread(list(evaluation_set.documents.values()), FRAGMENTED_TEXTS)
    texts += evaluation_set.queries.values()
    measured["fragmentation"] = fragmentation(encoder.tokenizer, texts, shared_token_cache())
    for kind, key in (("documents", "health"), ("queries", "query_health")):
        if measured[key]["verdict"] != "healthy":
            log.warning("%s, %s: %s", label, kind, describe_health(measured[key]))
    return {"documents": len(documents.ids), "queries": len(queries.ids)} | measured


def measure(queries: Vectors, documents: Vectors) -> dict[str, Any]:
    """Efficiency and health of encoded texts."""
    lengths: dict[str, Any] = {"document_length": None, "query_length": None, "flops": None}
    if documents.sparse:
        asked, searched = _activity(queries), _activity(documents)
        lengths = {
            "document_length": searched.length,
            "query_length": asked.length,
            "flops": flops(asked, searched),
        }
    return lengths | {
        "document_bytes": documents.bytes_on_disk() / max(1, len(documents.ids)),
        "health": _health(documents),
        "query_health": _health(queries),
    }


def device() -> torch.device:
    """The accelerator if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def describe_health(found: Health) -> str:
    """One line such as `dense collapse (share active 0.999, mean cosine 0.982)`."""
    values = {"share active": found["active_share"], "mean cosine": found["mean_cosine"]}
    told = ", ".join(f"{name} {value:.4g}" for name, value in values.items() if value is not None)
    return f"{found['verdict']} ({told})"


def _activity(vectors: Vectors) -> Activity:
    activity = Activity(vectors.dimensions)
    for shard in vectors.shards():
        activity.add(shard)
    return activity


def _spread(texts: list[str], count: int) -> list[str]:
    """At most so many, at even distances."""
    places = np.linspace(0, len(texts) - 1, min(count, len(texts))).astype(np.int64)
    return [texts[place] for place in places.tolist()]


def _health(vectors: Vectors) -> Health:
    wanted = np.unique(np.linspace(0, len(vectors.ids) - 1, HEALTH_TEXTS).astype(np.int64))
    rows, start = [], 0
    for shard in vectors.shards():
        own = wanted[(wanted >= start) & (wanted < start + shard.shape[0])] - start
        rows.append(shard[own])
        start += shard.shape[0]
    sample = scipy.sparse.vstack(rows, format="csr") if vectors.sparse else np.concatenate(rows)
    return health(sample, sparse=vectors.sparse)
