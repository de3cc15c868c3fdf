"""The step of fine-tuning: encode, loss over the whole step, gradient, and what is recorded of it.

Shapes: B queries, M documents, N texts, D dimensions of a representation.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, TrainingArguments

from lexigraft.encoders.health import health
from lexigraft.encoders.inference_free import TokenWeights
from lexigraft.errors import LexigraftError
from lexigraft.specs.options import FinetuneOptions
from lexigraft.training.gradient_cache import Tokens, backward_step, processes
from lexigraft.training.objective import StepLoss, step_loss
from lexigraft.training.pairs import StepDataset
from lexigraft.training.representation import text_encoder
from lexigraft.training.resume import ResumableTrainer

PROBE_BATCH = 32
log = logging.getLogger(__name__)


class FinetuneTrainer(ResumableTrainer):
    """Trainer whose step is one query pass, one document pass and the loss over all of the step.

    Gradients are those of the whole step whatever the micro batch and the number of processes
    (`gradient_cache`); the Trainer's own averaging over processes never comes into play, since its
    data-parallel wrapper is not called.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        arguments: TrainingArguments,
        dataset: StepDataset,
        *,
        options: FinetuneOptions,
        identity: Mapping[str, Any],
        query_weights: TokenWeights | None = None,
    ) -> None:
        module: nn.Module = model
        if query_weights is not None:
            # One module, so that both are moved, trained and kept in checkpoints together.
            module = nn.ModuleDict({"model": model, "query_weights": query_weights})
        super().__init__(module, arguments, dataset, identity=identity, description="fine-tune")
        self.options = options
        self._encode = text_encoder(model, options.head, options.activation, options.pooling)
        self._query_weights = query_weights
        self._sums: dict[str, Tensor] = {}
        self._steps_summed = 0
        self._last: tuple[StepLoss, Tensor] | None = None
        self._collapse_told = False

    def encode(self, tokens: Tokens) -> Tensor:
        """Representations in float32, under the mixed precision of the arguments."""
        with self.accelerator.autocast():
            return self._encode(tokens).float()

    def encode_queries(self, tokens: Tokens) -> Tensor:
        """The same for queries."""
        if self._query_weights is None:
            return self.encode(tokens)
        return self._query_weights(tokens["input_ids"], tokens["attention_mask"])

    def create_optimizer(self, *arguments: Any, **options: Any) -> torch.optim.Optimizer:
        """Query weights have a learning rate of their own, and no decay."""
        optimizer = super().create_optimizer(*arguments, **options)
        if self._query_weights is not None and self.options.query_encoder == "learned":
            weight = self._query_weights.weight
            for group in optimizer.param_groups:
                group["params"] = [p for p in group["params"] if p is not weight]
            rate = self.options.query_learning_rate
            optimizer.add_param_group({"params": [weight], "lr": rate, "weight_decay": 0.0})
        return optimizer

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
                [self.encode_queries, self.encode],
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
            tell_health(f"fine-tuning, step {self.state.global_step}", values)
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


def tell_health(when: str, values: Mapping[str, Any]) -> None:
    """Log a verdict, as a warning if it is a collapse."""
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
