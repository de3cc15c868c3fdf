"""Evaluation by hand: any encoder, or BM25, on any BEIR folder, without the workflow."""

import logging
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.encoders.loading import load_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import refuse_taken, whole_folder, write_json
from lexigraft.locks import alone
from lexigraft.retrieval.engines import VECTOR_ENGINES, engine_recall, search
from lexigraft.retrieval.hits import Hits, write_rankings
from lexigraft.specs.options import RetrieveOptions
from lexigraft.specs.stages import EvaluateSpec
from lexigraft.stages.encode import device, encode_set
from lexigraft.stages.evaluate import measure, write_results
from lexigraft.stages.job import provenance
from lexigraft.stages.retrieve import describe, settings

log = logging.getLogger(__name__)
BM25 = RetrieveOptions(engine="bm25")
METRICS = EvaluateSpec(collection="-", run="-").metrics
SELF_MATCH_SETS = ("arguana", "quora")
"""BEIR sets whose queries are documents of the corpus and whose benchmark leaves them out."""


def evaluate_model(
    *,
    model: Path,
    dataset: Path,
    split: str = "test",
    engine: str = "exact",
    out: Path,
    query_length: int = 0,
    document_length: int = 0,
) -> dict[str, Any]:
    """Encode, search and measure: metrics.json, per_query.parquet and rankings.parquet in `out`,
    with what was measured (retrieve.json) and where it came from (provenance.json).

    Texts are cut where the model's own settings cut them (query_length and document_length of
    sentence_bert_config.json, else the tokenizer's longest input) unless lengths are given.
    A killed call goes on where it stopped. Vectors are removed at the end.

    Returns:
        The set's entry of metrics.json.

    Raises:
        LexigraftError: the model, the data set or the engine cannot be used.
    """
    if engine == "bm25":
        raise LexigraftError("engine: bm25 needs no model; use `lexigraft bm25`")
    if engine not in VECTOR_ENGINES:
        raise LexigraftError(f"engine: {engine!r} found; allowed are {', '.join(VECTOR_ENGINES)}")
    for name, length in (("query", query_length), ("document", document_length)):
        if length < 0:
            raise LexigraftError(f"--{name}-length: found {length}; allowed: 0 or more")
    refuse_taken(out, [dataset, model])
    start = time.time()
    evaluation_set = _read(dataset, split)
    with alone(out):
        encoder = load_encoder(model, device=device())
        checkpoints = out.with_name(f".{out.name}.checkpoints")
        vectors = checkpoints / "vectors"
        lengths: dict[str, Any] = {
            "query_length": query_length or encoder.default_length("query"),
            "document_length": document_length or encoder.default_length("document"),
        }
        encoded = encode_set(encoder, evaluation_set, vectors, checkpoints / "shards", **lengths)
        options = RetrieveOptions(engine=engine)  # type: ignore[arg-type]
        hits = search(evaluation_set, vectors, options)
        described = describe(hits, encoded)
        described |= engine_recall(hits, evaluation_set, vectors, options)
        record = settings(options) | {"model": str(model)}
        record |= {"dataset": str(dataset), "split": split}
        inputs = {"model": model, "dataset": dataset}
        facts = _write(evaluation_set, hits, described, out, record | lengths, inputs, start)
        shutil.rmtree(checkpoints, ignore_errors=True)
    return facts


def evaluate_bm25(*, dataset: Path, split: str = "test", out: Path) -> dict[str, Any]:
    """The lexical baseline, in the same form as `evaluate_model`.

    Raises:
        LexigraftError: the data set cannot be read.
    """
    refuse_taken(out, [dataset])
    start = time.time()
    evaluation_set = _read(dataset, split)
    record = settings(BM25) | {"dataset": str(dataset), "split": split}
    with alone(out):
        hits = search(evaluation_set, None, BM25)
        described = describe(hits, None) | engine_recall(hits, evaluation_set, None, BM25)
        return _write(evaluation_set, hits, described, out, record, {"dataset": dataset}, start)


def _read(dataset: Path, split: str) -> EvaluationSet:
    name = Path(dataset).resolve().name
    return EvaluationSet.read(
        Path(dataset), split, name, remove_self_match=name.lower() in SELF_MATCH_SETS
    )


def _write(
    evaluation_set: EvaluationSet,
    hits: Hits,
    described: dict[str, Any],
    out: Path,
    record: dict[str, Any],
    inputs: Mapping[str, Path],
    start: float,
) -> dict[str, Any]:
    name = evaluation_set.name
    facts, evaluation = measure(evaluation_set, hits.run(), METRICS, described)
    with whole_folder(out) as partial:
        write_rankings(partial / "rankings.parquet", iter([(name, hits)]))
        write_json(partial / "retrieve.json", record | {"sets": {name: described}})
        write_results(partial, {name: facts}, {name: evaluation})
        write_json(partial / "provenance.json", provenance(inputs, start))
    measured = ", ".join(f"{metric} {facts[metric]:.4f}" for metric in METRICS)
    log.info("%s: %s (%d queries)", name, measured, facts["queries"])
    return facts
