"""Masked-language-model training: pre-training, adaptation of embeddings, and further MLM.

Only the chosen positions are decoded: their hidden states are gathered before the product with the
output embeddings, so logits are M x V (M chosen positions of the batch) and never B x L x V. With
`trains="embeddings"` (Vocabulary Transfer, section 4.2.3) the Transformer is frozen, position
embeddings and normalisation included, and only input and output embeddings and the output bias
move; with `trains="head"` only the output rows and bias of an untied head do.

The loss of a step is the mean over the chosen positions of the whole batch, whatever the size of
the forward passes and the number of processes.

Shapes: B sequences, L positions, H hidden, V vocabulary, M chosen positions.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, linear
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.decoder import output_parameters, output_projection, project_states
from lexigraft.errors import LexigraftError
from lexigraft.training.masked_sequences import MaskedSequences, special_id
from lexigraft.training.masking import IGNORED
from lexigraft.training.packing import PackedSequences, token_stream
from lexigraft.training.resume import ResumableTrainer, training_arguments


@dataclass(frozen=True, kw_only=True)
class MaskedLmOptions:
    """How to train; the fields are those of the `mlm` and `backbone` stages."""

    steps: int
    batch_size: int
    length: int
    learning_rate: float
    warmup_steps: int
    mask_probability: float = 0.3
    corruption: tuple[float, ...] = (0.8, 0.1, 0.1)
    weight_decay: float = 0.01
    seed: int = 42
    trains: Literal["embeddings", "all", "head"] = "all"
    new_token_weight: float = 1.0
    micro_batch_size: int = 0

    @classmethod
    def of(cls, spec: Any) -> "MaskedLmOptions":
        """The options that a stage spec states."""
        return cls(
            **{name: getattr(spec, name) for name in cls.__annotations__ if hasattr(spec, name)}
        )


@dataclass(frozen=True)
class MaskedLmResult:
    """What a training did, beside changing the model."""

    history: list[dict[str, float]]
    """One record a logged step: step, loss (nats a prediction, or what the task's loss is),
    learning_rate, grad_norm."""
    summary: dict[str, Any]
    """Sizes of the text, and the shares of new tokens in it and among the chosen positions."""

    @property
    def final_loss(self) -> float:
        """Mean loss of the last tenth of the logged steps: one step's is too noisy to compare."""
        last = self.history[-max(1, len(self.history) // 10) :]
        return sum(record["loss"] for record in last) / len(last)


class Task(Protocol):
    """What is learnt from packed sequences; predicting masked tokens unless another is given."""

    @property
    def identity(self) -> dict[str, Any]:
        """What makes it this task, for checkpoints; asked for once it is prepared."""

    def prepare(self, texts: Iterable[str], key: str, folder: Path) -> None:
        """Write to `folder` what it needs of the texts beside their tokens, whose hash is `key`."""

    def sequences(
        self, packed: PackedSequences, options: MaskedLmOptions, items: int
    ) -> MaskedSequences:
        """The training data."""

    def loss(self, model: PreTrainedModel) -> nn.Module:
        """Module from a batch and `chosen`, its size over the step, to its part of the loss."""


@dataclass(frozen=True)
class MaskedTokens:
    """The task of a masked language model (the default)."""

    tokenizer: PreTrainedTokenizerFast
    new_ids: Sequence[int] = ()

    @property
    def identity(self) -> dict[str, Any]:
        return {}

    def prepare(self, texts: Iterable[str], key: str, folder: Path) -> None:
        """Nothing."""

    def sequences(
        self, packed: PackedSequences, options: MaskedLmOptions, items: int
    ) -> MaskedSequences:
        return MaskedSequences(packed, self.tokenizer, options, self.new_ids, items)

    def loss(self, model: PreTrainedModel) -> nn.Module:
        return MaskedLmLoss(model)


def train_masked_lm(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    texts: Iterable[str],
    options: MaskedLmOptions,
    checkpoints: Path,
    *,
    new_ids: Sequence[int] = (),
    task: Task | None = None,
    description: str = "masked language model",
    token_cache: Path | None = None,
    save_steps: int = 0,
) -> MaskedLmResult:
    """Train `model` in place on `texts` (which is read twice) and leave it on CPU, in eval mode.

    A killed training goes on from `checkpoints` when called again with the same arguments.

    Args:
        new_ids: tokens that are new in the vocabulary, for overlap-aware masking.
        task: what is learnt instead of the masked tokens.
        token_cache: folder for the token stream, `checkpoints` by default; one that several
            trainings share saves tokenising a large text again.
        save_steps: steps between checkpoints; 0 for a sensible number.

    Raises:
        LexigraftError: no text or too little of it, options out of range, checkpoints that are
            corrupt or another run's, a loss that is no number.
    """
    arguments = training_arguments(
        checkpoints,
        steps=options.steps,
        batch_size=options.batch_size,
        micro_batch_size=options.micro_batch_size,
        learning_rate=options.learning_rate,
        warmup_steps=options.warmup_steps,
        weight_decay=options.weight_decay,
        schedule="cosine",
        seed=options.seed,
        save_steps=save_steps,
    )
    # Every trainable weight takes part in the loss; looking for others costs time in each step.
    arguments.ddp_find_unused_parameters = False
    task = task or MaskedTokens(tokenizer, new_ids)
    with arguments.main_process_first(local=False):
        stream, key = token_stream(texts, tokenizer, token_cache or checkpoints)
        task.prepare(texts, key, checkpoints)
    packed = PackedSequences(
        stream,
        options.length,
        cls_id=special_id(tokenizer, "cls"),
        sep_id=special_id(tokenizer, "sep"),
    )
    items = options.steps * options.batch_size
    dataset = task.sequences(packed, options, items)
    identity = {
        "training": "masked language model",
        **asdict(options),
        "text": key,
        "weights": weights_hash(model),
        "new_ids": hashlib.sha256(repr(sorted(new_ids)).encode()).hexdigest(),
        **task.identity,
    }
    trainable = _freeze(model, options.trains)
    trainer = MaskedLmTrainer(
        task.loss(model), arguments, dataset, identity=identity, description=description
    )
    try:
        history = trainer.fit()
    finally:
        model.requires_grad_(True).cpu().eval()
    summary = {
        "text_tokens": len(stream),
        "sequences": len(packed),
        "passes": items / len(packed),
        "trainable_parameters": trainable,
        **dataset.measure(set(new_ids)),
    }
    return MaskedLmResult(history, summary)


class MaskedLmLoss(nn.Module):
    """Cross-entropy at the chosen positions, as a module so that DDP sees the whole of it."""

    def __init__(self, model: PreTrainedModel):
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, labels: Tensor, chosen: Tensor) -> Tensor:
        """Summed cross-entropy of this forward pass over `chosen`, the step's chosen positions."""
        hidden_BLH = project_states(self.model, input_ids, torch.ones_like(input_ids))
        labels_P = labels.flatten()
        positions_M = (labels_P != IGNORED).nonzero().squeeze(1)
        hidden_MH = hidden_BLH.flatten(0, 1).index_select(0, positions_M)
        weight_VH, bias_V = output_projection(self.model)
        logits_MV = linear(hidden_MH, weight_VH, bias_V)
        return cross_entropy(logits_MV.float(), labels_P[positions_M], reduction="sum") / chosen


class MaskedLmTrainer(ResumableTrainer):
    """Counts the predictions of a whole step before its first forward pass."""

    loss_is_scaled_for_ga = True

    def get_batch_samples(
        self, epoch_iterator: Any, num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, Tensor]], None]:
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        chosen = sum(self.train_dataset.predictions(batch) for batch in batches)
        processes = self.args.world_size
        # DDP averages gradients over the processes: with the mean count, that is the global mean.
        total = self.accelerator.reduce(torch.as_tensor(chosen, device=device), "sum") / processes
        return [{**batch, "chosen": total.clamp_min(1)} for batch in batches], None


def _freeze(model: PreTrainedModel, trains: str) -> int:
    """Leave trainable what `trains` says; returns how many parameters that is."""
    if trains not in ("embeddings", "all", "head"):
        raise LexigraftError(f"trains: {trains!r} found, embeddings, all and head are allowed")
    if trains != "all":
        embeddings, (weight, bias) = model.get_input_embeddings().weight, output_parameters(model)
        if trains == "head" and weight is embeddings:
            raise LexigraftError(
                "trains: head found, embeddings and all are allowed: the model's input and output "
                "embeddings are one matrix"
            )
        model.requires_grad_(False)
        for parameter in (weight, bias, *([embeddings] if trains == "embeddings" else [])):
            if parameter is not None:
                parameter.requires_grad_(True)
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def weights_hash(model: PreTrainedModel) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy())
    return digest.hexdigest()
