"""Retrieval fine-tuning of a masked language model into a sparse or a dense bi-encoder.

Shapes: B queries of a step, M documents, L tokens, V vocabulary, D dimensions.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from lexigraft.corpora.collection import Collection
from lexigraft.encoders.dense import last_states, mean_pool
from lexigraft.encoders.health import health
from lexigraft.encoders.masked_lm import load_masked_lm, output_projection, project_states
from lexigraft.encoders.saving import refuse_long_input, save_encoder
from lexigraft.encoders.splade import splade_pool
from lexigraft.encoders.tokenizers import lowercase_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, write_json
from lexigraft.specs.options import FinetuneOptions, Head
from lexigraft.training.gradient_cache import Tokens, backward_step, processes
from lexigraft.training.objective import DISTILLING, StepLoss, step_loss
from lexigraft.training.pairs import PairSampler, StepDataset, TokenisedTexts
from lexigraft.training.reporting import write_history
from lexigraft.training.resume import ResumableTrainer, training_arguments
from lexigraft.training.scores import PairScores

PROBE_TEXTS = 256
"""Training documents on which health is measured before and after."""
PROBE_BATCH = 32
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

    Returns:
        The content of finetune.json.

    Raises:
        LexigraftError: the options contradict each other or the model, an input cannot be read, a
            needed pair has no teacher score, or the loss is no number.
    """
    _refuse_contradictions(options, teacher_folder)
    model, tokenizer = load_masked_lm(model_folder)
    if options.lowercase:
        tokenizer = lowercase_tokenizer(tokenizer)
    for name in ("query_length", "document_length"):
        refuse_long_input(model, getattr(options, name), f"{model_folder}, {name}")
    pairs = Collection.open(collection_folder).training()
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
    documents = TokenisedTexts(tokenizer, list(pairs.documents.values()), options.document_length)
    queries = TokenisedTexts(tokenizer, list(pairs.queries.values()), options.query_length)
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
    )
    probe = documents.batch(sampler.probe(PROBE_TEXTS))
    before = trainer.health_of(probe)
    _say("before fine-tuning", before)
    history = trainer.fit()
    after = trainer.health_of(probe)
    _say("after fine-tuning", after)
    summary = {
        "head": options.head,
        "objective": options.objective,
        "queries": sampler.queries,
        "queries_left_out": sampler.left_out,
        "before": before,
        "during": first_collapse(history),
        "after": after,
        "final": history[-1] if history else None,
    }
    if trainer.is_world_process_zero():
        save_encoder(model, tokenizer, out, head=options.head)
        write_history(out / "training.jsonl", history)
        write_json(out / "finetune.json", summary)
    return summary


def text_encoder(model: PreTrainedModel, head: Head) -> Callable[[Tokens], Tensor]:
    """The function from tokens (N, L) to representations: (N, V) sparse or (N, H) dense."""

    def sparse(tokens: Tokens) -> Tensor:
        mask_NL = tokens["attention_mask"]
        hidden_NLH = project_states(model, tokens["input_ids"], mask_NL)
        weight_VH, bias_V = output_projection(model)
        return splade_pool(hidden_NLH, weight_VH, bias_V, mask_NL)

    def dense(tokens: Tokens) -> Tensor:
        mask_NL = tokens["attention_mask"]
        return mean_pool(last_states(model, tokens["input_ids"], mask_NL), mask_NL)

    return sparse if head == "splade" else dense


class FinetuneTrainer(ResumableTrainer):
    """Trainer whose step is one query pass, one document pass and the loss over all of the step.

    Gradients are those of the whole step whatever the micro batch and the number of processes
    (`gradient_cache`); the Trainer's own averaging over processes never comes into play, since its
    data-parallel wrapper is not called.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        arguments: Any,
        dataset: StepDataset,
        *,
        options: FinetuneOptions,
        identity: Mapping[str, Any],
    ) -> None:
        super().__init__(model, arguments, dataset, identity=identity, description="fine-tune")
        self.options = options
        self._encode = text_encoder(model, options.head)
        self._sums: dict[str, Tensor] = {}
        self._steps_summed = 0
        self._last: tuple[StepLoss, Tensor] | None = None
        self._collapse_told = False

    def encode(self, tokens: Tokens) -> Tensor:
        """Representations in float32, under the mixed precision of the arguments."""
        with self.accelerator.autocast():
            return self._encode(tokens).float()

    def training_step(
        self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None
    ) -> Tensor:
        """Add the gradient of a step; returns its loss."""
        model.train()
        inputs = self._prepare_inputs(inputs)
        step = self.state.global_step + 1

        def loss_of(representations: list[Tensor]) -> Tensor:
            query_BD, document_MD = representations
            result = step_loss(
                self.options,
                step,
                query_BD,
                document_MD,
                target_B=inputs["target_B"],
                excluded_BM=inputs["excluded_BM"],
                teacher_BP=inputs.get("teacher_BP"),
            )
            self._record(result, query_BD.detach(), document_MD.detach())
            return result.total

        with _step_randomness(self.args.seed, step, self.args.device):
            return backward_step(
                self.encode,
                [inputs["queries"], inputs["documents"]],
                loss_of,
                self.model.parameters(),
                micro_batch_size=self.options.micro_batch_size,
            )

    def extra_logs(self) -> dict[str, Any]:
        """Loss parts and active terms since the last record, and the health of the last step."""
        if self._last is None:
            return {}
        values: dict[str, Any] = {
            name: total.item() / self._steps_summed for name, total in self._sums.items()
        }
        result, positive_BD = self._last
        for name in ("flops_query", "flops_document"):
            if name in result.weights:
                values[f"lambda_{name.removeprefix('flops_')}"] = result.weights[name]
        self._sums, self._steps_summed = {}, 0
        if not torch.isfinite(positive_BD).all():
            return values
        values |= health(positive_BD, sparse=self.options.head == "splade")
        if values["verdict"] != "healthy" and not self._collapse_told:
            self._collapse_told = True
            _say(f"fine-tuning, step {self.state.global_step}", values)
        return values

    @torch.no_grad()
    def health_of(self, tokens: Tokens) -> dict[str, Any]:
        """Health of texts under the current weights, dropout off."""
        self.model.eval()
        parts = [
            self.encode(
                {name: v[i : i + PROBE_BATCH].to(self.args.device) for name, v in tokens.items()}
            ).cpu()
            for i in range(0, len(tokens["input_ids"]), PROBE_BATCH)
        ]
        rep_ND = torch.cat(parts)
        if not torch.isfinite(rep_ND).all():
            raise LexigraftError(
                "fine-tune: the model's representations hold values that are not finite"
            )
        sparse = self.options.head == "splade"
        terms = {"terms": _terms(rep_ND).item()} if sparse else {}
        return {**health(rep_ND, sparse=sparse), **terms}

    def _record(self, result: StepLoss, query_BD: Tensor, document_MD: Tensor) -> None:
        values = {name: part.detach() for name, part in result.parts.items()}
        if self.options.head == "splade":
            values |= {"query_terms": _terms(query_BD), "document_terms": _terms(document_MD)}
        for name, value in values.items():
            self._sums[name] = self._sums[name] + value if name in self._sums else value
        self._steps_summed += 1
        # Positives of different queries: the nearest to unrelated texts that a step has.
        self._last = result, document_MD[:: 1 + self.options.negatives]


def first_collapse(history: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Step and verdict of the first record that is not healthy, and how many are not."""
    flagged = [r for r in history if r.get("verdict", "healthy") != "healthy"]
    if not flagged:
        return None
    keys = ("step", "verdict", "active_share", "mean_cosine")
    return {**{key: flagged[0][key] for key in keys}, "records": len(flagged)}


def _terms(rep_NV: Tensor) -> Tensor:
    """Mean number of active terms."""
    return (rep_NV > 0).sum(dim=1, dtype=torch.float32).mean()


@contextmanager
def _step_randomness(seed: int, step: int, device: torch.device) -> Iterator[None]:
    """Dropout as a function of seed, step and process, whatever was drawn before."""
    rank, _ = processes()
    (state,) = np.random.SeedSequence([seed, step, rank]).generate_state(1)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(state))
        yield


def _refuse_contradictions(options: FinetuneOptions, teacher_folder: Path | None) -> None:
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
        "model": {path.name: sha256_file(path) for path in files if path.is_file()},
        "collection": sha256_file(collection_folder / "manifest.json"),
        "scores": sha256_file(scores.path) if scores is not None else None,
    }


def _say(when: str, values: Mapping[str, Any]) -> None:
    level = logging.INFO if values["verdict"] == "healthy" else logging.WARNING
    share, cosine = values["active_share"], values["mean_cosine"]
    log.log(
        level,
        "%s: %s (share of active terms %s, cosine of unrelated texts %s)",
        when,
        values["verdict"],
        "–" if share is None else f"{share:.4f}",
        "–" if cosine is None else f"{cosine:.3f}",
    )
