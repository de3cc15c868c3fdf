"""Retrieval fine-tuning of a masked language model into a sparse or a dense bi-encoder."""

import logging
import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.corpora.collection import Collection, TrainingPairs
from lexigraft.encoders.inference_free import (
    TokenWeights,
    drop_tokenless_rows,
    idf_weights,
    uniform_weights,
)
from lexigraft.encoders.masked_lm import load_masked_lm
from lexigraft.encoders.output_vocabulary import read_output_tokenizer
from lexigraft.encoders.saving import refuse_long_input, save_encoder
from lexigraft.encoders.tokenizers import lowercase_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, write_json
from lexigraft.specs.options import DISTILLING, FinetuneOptions
from lexigraft.specs.ranges import head_problem
from lexigraft.training.finetune_trainer import FinetuneTrainer, first_collapse, tell_health
from lexigraft.training.pairs import PairSampler, StepDataset
from lexigraft.training.reporting import write_history
from lexigraft.training.resume import training_arguments
from lexigraft.training.scores import PairScores
from lexigraft.training.tokenised_texts import TokenisedTexts

PROBE_TEXTS = 256
"""Training documents on which health is measured before and after."""
log = logging.getLogger(__name__)


def finetune(
    model_folder: Path,
    collection_folder: Path,
    teacher_folder: Path | None,
    options: FinetuneOptions,
    *,
    seed: int,
    out: Path,
    checkpoints: Path,
    token_cache: Path | None = None,
) -> dict[str, Any]:
    """Train an encoder and write it to `out`, with training.jsonl and finetune.json.

    `out` loads in transformers (AutoModelForMaskedLM) and in sentence-transformers (SparseEncoder,
    or SentenceTransformer for a dense head). A collapse, before, during or after, is logged and
    recorded, and does not stop the training.

    Args:
        model_folder: masked language model.
        collection_folder: collection with training pairs.
        teacher_folder: folder with scores.parquet; needed by the distilling objectives.
        options: head, objective, regulariser, schedule.
        seed: data order and dropout.
        out: folder that is filled.
        checkpoints: folder from which a killed training goes on.
        token_cache: folder for the tokens of the pairs, `checkpoints` by default; trainings that
            share one tokenise a collection once.

    Returns:
        The content of finetune.json.

    Raises:
        LexigraftError: the options contradict each other or the model, an input cannot be read, a
            needed pair has no teacher score, or the loss is no number.
    """
    _refuse_contradictions(options, teacher_folder)
    model, tokenizer = load_masked_lm(model_folder)
    output_tokenizer = read_output_tokenizer(model_folder, model)
    if output_tokenizer is not None and options.query_encoder != "model":
        raise LexigraftError(
            f"query_encoder: found {options.query_encoder}, but {model_folder} writes another "
            "vocabulary than it reads, so its query tokens are no terms; allowed: model"
        )
    if options.lowercase:
        tokenizer = lowercase_tokenizer(tokenizer)
    for name in ("query_length", "document_length"):
        refuse_long_input(model, getattr(options, name), f"{model_folder}, {name}")
    pairs = Collection.open(collection_folder).training()
    query_weights = _query_weights(options, model, tokenizer, pairs.documents.values())
    sampler = PairSampler(
        pairs, batch_size=options.batch_size, negatives=options.negatives, seed=seed
    )
    if sampler.left_out:
        log.info("%d queries with too few negatives are left out", sampler.left_out)
    scores = None
    if options.objective in DISTILLING and teacher_folder is not None:
        scores = PairScores(
            teacher_folder / "scores.parquet", sampler.query_ids, sampler.document_ids
        )
    queries, documents = _tokenised(tokenizer, pairs, sampler, options, token_cache or checkpoints)
    # Nine million texts of MS MARCO: from here on their tokens are read from disk.
    del pairs
    arguments = training_arguments(
        checkpoints,
        steps=options.steps,
        # An item of the data set is one process's share of a step.
        batch_size=int(os.environ.get("WORLD_SIZE", "1")),
        learning_rate=options.learning_rate,
        warmup_steps=options.warmup_steps,
        weight_decay=options.weight_decay,
        schedule="linear",
        seed=seed,
    )
    dataset = StepDataset(
        sampler,
        queries,
        documents,
        steps=options.steps,
        scores=scores,
        processes=arguments.world_size,
    )
    trainer = FinetuneTrainer(
        model,
        arguments,
        dataset,
        options=options,
        identity=_identity(options, seed, model_folder, collection_folder, scores),
        query_weights=query_weights,
    )
    probe = documents.batch(sampler.probe(PROBE_TEXTS))
    before = trainer.health_of(probe)
    tell_health("before fine-tuning", before)
    history = trainer.fit()
    after = trainer.health_of(probe)
    tell_health("after fine-tuning", after)
    summary = {
        "head": options.head,
        "activation": options.activation,
        "pooling": options.pooling,
        "query_encoder": options.query_encoder,
        "objective": options.objective,
        "queries": sampler.queries,
        "queries_left_out": sampler.left_out,
        "before": before,
        "during": first_collapse(history),
        "after": after,
        "final": history[-1] if history else None,
    }
    if trainer.is_world_process_zero():
        save_encoder(
            model,
            tokenizer,
            out,
            head=options.head,
            activation=options.activation,
            pooling=options.pooling,
            query_weights=None if query_weights is None else query_weights.values(),
            output_tokenizer=output_tokenizer,
        )
        write_history(out / "training.jsonl", history)
        write_json(out / "finetune.json", summary)
    return summary


def _tokenised(
    tokenizer: PreTrainedTokenizerFast,
    pairs: TrainingPairs,
    sampler: PairSampler,
    options: FinetuneOptions,
    folder: Path,
) -> tuple[TokenisedTexts, TokenisedTexts]:
    """Queries and documents; of a large collection only what the steps may draw or the probe."""
    query_places, document_places = sampler.drawn(options.steps)
    queries = TokenisedTexts(
        tokenizer,
        list(pairs.queries.values()),
        options.query_length,
        folder,
        places=query_places,
        kind="queries",
    )
    documents = TokenisedTexts(
        tokenizer,
        list(pairs.documents.values()),
        options.document_length,
        folder,
        places=np.union1d(document_places, sampler.probe(PROBE_TEXTS)),
        kind="documents",
    )
    return queries, documents


def _query_weights(
    options: FinetuneOptions,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    documents: Iterable[str],
) -> TokenWeights | None:
    """What inference-free queries are made of; None where the model reads them."""
    if options.query_encoder == "model":
        return None
    drop_tokenless_rows(model, tokenizer)
    if options.query_encoder == "uniform":
        return TokenWeights(uniform_weights(tokenizer))
    weight_V = idf_weights(tokenizer, documents)
    return TokenWeights(weight_V, learned=options.query_encoder == "learned")


def _refuse_contradictions(options: FinetuneOptions, teacher_folder: Path | None) -> None:
    if problem := head_problem(options):
        raise LexigraftError(problem)
    if options.objective in DISTILLING:
        if teacher_folder is None:
            raise LexigraftError(
                f"objective: {options.objective} needs teacher scores, and no teacher is given"
            )
        if options.negatives < 1:
            raise LexigraftError(
                f"negatives: {options.negatives} found; {options.objective} needs at least 1"
            )


def _identity(
    options: FinetuneOptions,
    seed: int,
    model_folder: Path,
    collection_folder: Path,
    scores: PairScores | None,
) -> dict[str, Any]:
    """All that must be equal for a checkpoint to be gone on from."""
    # Field by field: the caller may hand over a stage's spec, which has more than options.
    chosen = {field.name: getattr(options, field.name) for field in fields(FinetuneOptions)}
    files = sorted([*model_folder.glob("*.safetensors"), model_folder / "tokenizer.json"])
    return {
        **chosen,
        "seed": seed,
        # A model of the hub is known by its name, one on disk by what is in it.
        "model": {path.name: sha256_file(path) for path in files if path.is_file()}
        or str(model_folder),
        "collection": sha256_file(collection_folder / "manifest.json"),
        "scores": sha256_file(scores.path) if scores is not None else None,
    }
