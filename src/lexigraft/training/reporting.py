"""What a person sees while a model trains, and the record that is kept of it."""

import json
import logging
import math
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm
from transformers import TrainerCallback

from lexigraft.errors import LexigraftError
from lexigraft.files import whole_file
from lexigraft.progress import SECONDS_BETWEEN_LINES, progress_line

log = logging.getLogger(__name__)


def write_history(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object a line, a logged step each (the form of `training.jsonl`)."""
    with whole_file(path) as partial:
        partial.write_text("".join(_line(record) for record in records), encoding="utf-8")


def _line(record: Mapping[str, Any]) -> str:
    # The Trainer's "epoch" counts passes over a data set that is as long as the whole training.
    kept = {key: record[key] for key in sorted(record) if key not in ("step", "epoch")}
    return json.dumps({"step": record["step"], **kept}, allow_nan=False) + "\n"


class Reporter(TrainerCallback):
    """Progress with the last logged loss, and `training.jsonl` while the training goes on.

    The Trainer's own history is saved in each checkpoint, so at the start the file is written anew
    from it: what was logged after the checkpoint is dropped and logged again, once.

    Raises:
        LexigraftError: the logged loss is infinite or no number (before a checkpoint is made).
    """

    def __init__(self, description: str, history: Path):
        self.description = description
        self.history = history
        self.loss = math.nan
        self.bar: Any = None
        self.first_step = self.last_logged = 0
        self.start = self.last_line = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.first_step = self.last_logged = state.global_step
        self.start = self.last_line = time.monotonic()
        if not state.is_world_process_zero:
            return
        write_history(self.history, state.log_history)
        if sys.stderr.isatty():
            self.bar = tqdm(
                desc=self.description, initial=state.global_step, total=state.max_steps, leave=False
            )

    def on_log(
        self, args: Any, state: Any, control: Any, logs: Mapping[str, float], **kwargs: Any
    ) -> None:
        self.loss = logs.get("loss", math.nan)
        for name, value in {"loss": self.loss, **logs}.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise LexigraftError(
                    f"{self.description}: the {name} became {value} between steps "
                    f"{self.last_logged + 1} and {state.global_step}; a lower learning rate, a "
                    "longer warm-up or smaller weights of the loss may help"
                )
        self.last_logged = state.global_step
        if state.is_world_process_zero:
            with self.history.open("a", encoding="utf-8") as stream:
                stream.write(_line(state.log_history[-1]))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == state.max_steps:
            control.should_log = True
        if not state.is_world_process_zero:
            return
        if self.bar is not None:
            self.bar.update()
            self.bar.set_postfix(loss=f"{self.loss:.3f}", refresh=False)
            return
        now = time.monotonic()
        if now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            done, total = state.global_step, state.max_steps
            # Steps of an earlier process took no time of this one.
            seconds = (now - self.start) * done / max(done - self.first_step, 1)
            line = progress_line(self.description, done, total, seconds, "steps")
            log.info("%s, loss %.3f", line, self.loss)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.bar is not None:
            self.bar.close()
