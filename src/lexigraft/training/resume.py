"""Training on `transformers.Trainer` that can be killed at any moment and resumed exactly.

On CPU a run that was killed (`kill -9`) and started again sees the same batches, draws the same
dropout and ends with bit-identical weights, because

- the order of the data is a pure function of the seed and the position (a dataset of
  `steps * batch_size` items that is read in order), so going on means skipping positions;
- weights, AdamW moments, schedule and the states of the random number generators come from a whole
  checkpoint (`lexigraft.training.checkpoints`);
- checkpoints are made only at logged steps, so that the loss logged after a resume averages over
  the same steps.

PyTorch's deterministic mode is not switched on: it fills every new tensor and costs a tenth of the
speed, and the operations used in training here are deterministic on CPU without it.
"""

import logging
import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments, set_seed
from transformers.trainer_callback import PrinterCallback

from lexigraft.errors import LexigraftError
from lexigraft.training.checkpoints import Checkpoints
from lexigraft.training.reporting import Reporter

WEIGHTS = "model.safetensors"
log = logging.getLogger(__name__)


def training_arguments(
    checkpoints: Path,
    *,
    steps: int,
    batch_size: int,
    micro_batch_size: int = 0,
    learning_rate: float,
    warmup_steps: int,
    weight_decay: float,
    schedule: Literal["cosine", "linear"],
    seed: int,
    gradient_clip: float = 1.0,
    logging_steps: int = 0,
    save_steps: int = 0,
) -> TrainingArguments:
    """Arguments of a `ResumableTrainer`: AdamW, warm-up and decay, nothing sent anywhere.

    `batch_size` items make a step over all processes, in forward passes of `micro_batch_size` each
    (0: the whole share of a process). bfloat16 autocast where CUDA supports it, float32 elsewhere.
    By default a run logs about 200 times and saves about 10 times, at least every 1,000 steps.

    Raises:
        LexigraftError: the batch cannot be split evenly, or a number is out of range.
    """
    for name, value in (("steps", steps), ("batch_size", batch_size)):
        if value < 1:
            raise LexigraftError(f"{name}: {value} found, at least 1 is needed")
    rates = {"learning_rate": learning_rate, "weight_decay": weight_decay}
    for name, rate in {**rates, "warmup_steps": warmup_steps}.items():
        if not 0 <= rate < math.inf:
            raise LexigraftError(f"{name}: {rate} found, 0 or more is needed")
    logging_steps = logging_steps or min(max(1, steps // 200), 100)
    save_steps = save_steps or min(max(50, steps // 10), 1000)
    save_steps = math.ceil(save_steps / logging_steps) * logging_steps
    cuda = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        max_steps=steps,
        per_device_train_batch_size=1,
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
        weight_decay=weight_decay,
        lr_scheduler_type=schedule,
        optim="adamw_torch_fused",
        max_grad_norm=gradient_clip,
        seed=seed,
        use_cpu=not cuda,
        bf16=cuda and torch.cuda.is_bf16_supported(),
        logging_steps=logging_steps,
        # The filter looks at every step's loss, which makes a GPU wait; the reporter refuses
        # a loss that is no number when it is logged.
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=save_steps,
        # Checkpoints.mark removes old ones, after the new one is known to be whole.
        save_total_limit=None,
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=cuda,
        disable_tqdm=True,
        report_to="none",
        push_to_hub=False,
        label_names=[],
    )
    if arguments.n_gpu > 1:
        # One process on a machine with several GPUs would split batches by nn.DataParallel, which
        # changes the loss; several GPUs are for torchrun.
        arguments._n_gpu = 1
    share, rest = divmod(batch_size, arguments.world_size)
    micro = micro_batch_size or share
    if rest or share % micro:
        raise LexigraftError(
            f"batch_size: {batch_size} cannot be split evenly over {arguments.world_size} processes"
            f" in forward passes of {micro}"
        )
    arguments.per_device_train_batch_size = micro
    arguments.gradient_accumulation_steps = share // micro
    return arguments


class ResumableTrainer(Trainer):
    """A `Trainer` over any module, whose `fit` goes on from the newest whole checkpoint.

    The module's `forward(**batch)` returns the loss, unless a subclass overrides `compute_loss` or
    `training_step`. `dataset` has `steps * batch_size` items; if it has `__getitems__(indices)`,
    that returns a finished batch (a dict of tensors) and `collate` should hand it on.
    """

    def __init__(
        self,
        module: nn.Module,
        arguments: TrainingArguments,
        dataset: Dataset[Any],
        *,
        identity: Mapping[str, Any],
        description: str,
        collate: Any = None,
    ):
        with isolated_randomness(arguments.seed):
            super().__init__(
                model=module,
                args=arguments,
                train_dataset=dataset,
                data_collator=collate or _hand_on,
            )
        self.checkpoints = Checkpoints(Path(arguments.output_dir), identity)
        self.model_accepts_loss_kwargs = False
        self.remove_callback(PrinterCallback)
        self.add_callback(Reporter(description, Path(arguments.output_dir) / "training.jsonl"))
        self.add_callback(_Marker(self.checkpoints))

    def fit(self) -> list[dict[str, float]]:
        """Train to the last step; one record a logged step (step, loss, learning_rate, ...).

        Raises:
            LexigraftError: the checkpoints are another run's or corrupt; the loss is no number.
        """
        with self.args.main_process_first(local=False):
            latest = self.checkpoints.open()
        if latest is not None:
            log.info("%s: going on from there", latest)
        with isolated_randomness(self.args.seed):
            self.train(resume_from_checkpoint=str(latest) if latest else None)
        return list(self.state.log_history)

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Keep training records only: the Trainer's summary holds wall times, no two alike."""
        if "train_runtime" not in logs:
            super().log({**logs, **self.extra_logs()}, start_time)

    def extra_logs(self) -> dict[str, float]:
        """More values for the record of a logged step, averaged since the last; none by default."""
        return {}

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The module's own loss. (Trainer's would look for `labels` and output classes.)"""
        loss = model(**inputs)
        return (loss, {}) if return_outputs else loss

    def floating_point_ops(self, inputs: Any) -> int:
        """Not counted: the Trainer's estimate walks over all parameters in every step."""
        return 0

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Weights only; ties are resolved by safetensors, which plain `save_file` refuses."""
        if self.args.should_save:
            folder = Path(output_dir or self.args.output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            safetensors.torch.save_model(self.model, str(folder / WEIGHTS))

    def _load_from_checkpoint(
        self, resume_from_checkpoint: str, model: nn.Module | None = None
    ) -> None:
        path = Path(resume_from_checkpoint) / WEIGHTS
        safetensors.torch.load_model(model or self.model, str(path))


class _Marker(TrainerCallback):
    """Declares each checkpoint whole once every process has written its part."""

    def __init__(self, checkpoints: Checkpoints):
        self.checkpoints = checkpoints

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.barrier()
        if state.is_world_process_zero:
            self.checkpoints.mark(self.checkpoints.folder / f"checkpoint-{state.global_step}")


@contextmanager
def isolated_randomness(seed: int) -> Iterator[None]:
    """Seed the global generators (dropout draws from them) and put them back afterwards."""
    states = random.getstate(), np.random.get_state()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() else ()
    with torch.random.fork_rng(devices):
        try:
            set_seed(seed)
            yield
        finally:
            random.setstate(states[0])
            np.random.set_state(states[1])


def _hand_on(batch: Any) -> Any:
    """`Dataset.__getitems__` has made the batch already."""
    return batch
