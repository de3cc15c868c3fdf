"""A training step: `FinetuneTrainer` against SparseEncoderTrainer with SpladeLoss.

Both are transformers' Trainers and run their own loop, which is halted at the end of each step: a
call is everything from there to the end of the next one (batch, encoder, loss, gradient, clipping,
AdamW, schedule). InfoNCE over all documents of the step plus FLOPS of queries and of all documents,
with constant weights; no dropout, since two implementations draw different masks.
"""

import tempfile
import threading
from pathlib import Path
from typing import Any

from lexigraft.bench.comparison import Comparison, Target, Work

STEPS = 1_000
"""Of the schedule; only a few are run."""
FLOPS_QUERY, FLOPS_DOCUMENT = 1e-2, 1e-2
LEARNING_RATE, WEIGHT_DECAY = 2e-5, 0.01


def ours(**size: int) -> Work:
    """One pass for queries, passes of like length for documents, the fused head."""
    from lexigraft.corpora.collection import TrainingPairs
    from lexigraft.encoders.loading import load_encoder
    from lexigraft.specs.options import FinetuneOptions
    from lexigraft.training.finetune_trainer import FinetuneTrainer
    from lexigraft.training.pairs import PairSampler, StepDataset
    from lexigraft.training.resume import training_arguments
    from lexigraft.training.tokenised_texts import TokenisedTexts

    folder, columns = _material(**size)
    encoder = load_encoder(folder)
    triplets = range(len(columns["query"]))
    pairs = TrainingPairs(
        queries={f"q{i}": columns["query"][i] for i in triplets},
        documents={
            f"{kind}{i}": columns[kind][i] for i in triplets for kind in ("positive", "negative")
        },
        positives={f"q{i}": [f"positive{i}"] for i in triplets},
        negatives={f"q{i}": [f"negative{i}"] for i in triplets},
    )
    options = FinetuneOptions(
        objective="info_nce",
        flops_query=FLOPS_QUERY,
        flops_document=FLOPS_DOCUMENT,
        flops_convention="all_documents",
        flops_ramp_steps=0,
        batch_size=len(triplets),
        steps=STEPS,
    )
    texts = ((pairs.queries, size["query_longest"]), (pairs.documents, size["longest"]))
    dataset = StepDataset(
        PairSampler(pairs, batch_size=len(triplets), negatives=1, seed=0),
        *(
            TokenisedTexts(encoder.tokenizer, list(own.values()), length, folder)
            for own, length in texts
        ),
        steps=STEPS,
    )
    arguments = training_arguments(
        Path(tempfile.mkdtemp()),
        steps=STEPS,
        batch_size=1,
        warmup_steps=0,
        schedule="linear",
        seed=0,
        logging_steps=STEPS,
        save_steps=STEPS,
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
    )
    trainer = FinetuneTrainer(encoder.model, arguments, dataset, options=options, identity={})
    return _steps(trainer, encoder.model)


def theirs(**size: int) -> Work:
    """sentence-transformers' trainer, with the weights of its regularisers left constant."""
    from datasets import Dataset
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder import (
        SparseEncoderTrainer,
        SparseEncoderTrainingArguments,
    )
    from sentence_transformers.sparse_encoder.callbacks.splade_callbacks import (
        SpladeRegularizerWeightSchedulerCallback,
    )
    from sentence_transformers.sparse_encoder.losses import (
        SparseMultipleNegativesRankingLoss,
        SpladeLoss,
    )

    folder, columns = _material(**size)
    encoder = SparseEncoder(str(folder), device="cpu")
    loss = SpladeLoss(
        encoder,
        SparseMultipleNegativesRankingLoss(encoder),
        document_regularizer_weight=FLOPS_DOCUMENT,
        query_regularizer_weight=FLOPS_QUERY,
    )
    arguments = SparseEncoderTrainingArguments(
        output_dir=tempfile.mkdtemp(),
        max_steps=STEPS,
        per_device_train_batch_size=len(columns["query"]),
        lr_scheduler_type="linear",
        optim="adamw_torch_fused",
        max_grad_norm=1.0,
        seed=0,
        use_cpu=True,
        logging_steps=STEPS,
        save_strategy="no",
        dataloader_pin_memory=False,
        disable_tqdm=True,
        report_to="none",
        learning_rate=LEARNING_RATE,
        weight_decay=WEIGHT_DECAY,
    )
    trainer = SparseEncoderTrainer(encoder, arguments, Dataset.from_dict(columns), loss=loss)
    trainer.remove_callback(SpladeRegularizerWeightSchedulerCallback)
    return _steps(trainer, encoder[0].model)


def _steps(trainer: Any, model: Any) -> Work:
    """A step of the trainer's own loop a call, which waits in a thread between calls."""
    from transformers import TrainerCallback

    may_go, done = threading.Semaphore(0), threading.Semaphore(0)
    failures: list[BaseException] = []

    class Halt(TrainerCallback):
        def on_step_end(self, *words: Any, **more: Any) -> None:
            done.release()
            may_go.acquire()

    def train() -> None:
        may_go.acquire()
        try:
            trainer.train()
        except BaseException as error:
            failures.append(error)
            done.release()

    losses: list[Any] = []
    training_step = trainer.training_step

    def recorded(*words: Any, **more: Any) -> Any:
        losses.append(training_step(*words, **more).detach())
        return losses[-1]

    trainer.training_step = recorded
    trainer.add_callback(Halt())
    threading.Thread(target=train, daemon=True).start()

    def run() -> Any:
        may_go.release()
        done.acquire()
        if failures:
            raise failures[0]
        return losses[-1]

    def arrays(loss: Any) -> dict[str, Any]:
        """AdamW's first moments are the gradient, clipped, times 1 - beta_1 after one step."""
        state = trainer.optimizer.state
        moments = {
            name: state[parameter]["exp_avg"].numpy()
            for name, parameter in model.named_parameters()
            # A softmax does not see it, so its gradient is rounding alone.
            if not name.endswith("key.bias")
        }
        return {"loss": loss.numpy(), **moments}

    return Work(run, arrays)


def _material(
    *, triplets: int, query_longest: int, query_shortest: int, shortest: int, **model: int
) -> tuple[Path, dict[str, list[str]]]:
    """Folder of the model; queries, positives and negatives, row by row a triplet."""
    from lexigraft.bench.comparisons.models import make_encoder, make_texts

    columns = {
        name: make_texts(
            triplets, shortest=low, longest=high, vocabulary=model["vocabulary"], seed=seed
        )
        for seed, (name, low, high) in enumerate(
            (
                ("query", query_shortest, query_longest),
                ("positive", shortest, model["longest"]),
                ("negative", shortest, model["longest"]),
            ),
            start=3,
        )
    }
    return make_encoder(Path(tempfile.mkdtemp()), **model), columns


FULL = {
    "layers": 6,
    "width": 384,
    "heads": 12,
    "vocabulary": 30_522,
    "triplets": 32,
    "query_longest": 32,
    "longest": 256,
}
SMALL = {
    "layers": 1,
    "width": 32,
    "heads": 2,
    "vocabulary": 200,
    "triplets": 4,
    "query_longest": 8,
    "query_shortest": 4,
    "longest": 16,
    "shortest": 6,
}
MIXED = {"query_shortest": 8, "shortest": 64}
LONGEST = {"query_shortest": 32, "shortest": 256}


def _comparison(name: str, full: dict[str, int], target: Target) -> Comparison:
    return Comparison(
        name=name,
        title="training step, {triplets} triplets, queries of {query_shortest} to "
        "{query_longest} tokens, documents of {shortest} to {longest}, {layers} layers, "
        "H={width} V={vocabulary}",
        peer="SparseEncoderTrainer",
        ours=ours,
        theirs=theirs,
        sizes={"full": FULL | full, "small": SMALL},
        tolerance=1e-3,
        target=target,
    )


COMPARISONS = (
    _comparison("training", MIXED, Target(time=1.8, memory=1 / 2)),
    _comparison("training-longest", LONGEST, Target()),
)
