"""The pair of processes of a comparison, as seen from the one that asks them."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.bench.comparison import SIDES, Comparison, SideName, Sizes
from lexigraft.errors import LexigraftError

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@dataclass(frozen=True)
class Side:
    """A running worker."""

    label: str
    process: subprocess.Popen[str]
    errors: Path
    """What it prints."""

    def ask(self, *command: str) -> dict[str, Any]:
        """Send a command, if one is given, and wait for the answer.

        Raises:
            LexigraftError: what the worker refuses, or it was killed (most often for memory).
            RuntimeError: it failed; the message is its traceback.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if command:
            try:
                self.process.stdin.write(json.dumps(command) + "\n")
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # The missing answer below tells why.
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            if code < 0:
                raise LexigraftError(
                    f"{self.label}: its process was ended by signal {-code}; the machine may have "
                    "too little memory for it"
                )
            printed = self.errors.read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"{self.label}: its process failed\n{printed}")
        answer = json.loads(line)
        if "error" in answer:
            raise LexigraftError(f"{self.label}: {answer['error']}")
        return answer


@contextmanager
def both_sides(
    comparison: Comparison, sizes: Sizes, threads: int, scratch: Path
) -> Iterator[dict[SideName, Side]]:
    """Start a fresh interpreter for each side, with equal numbers of threads, and end both after.

    Args:
        threads: of each side, for every library; set before any of them is imported.
        scratch: folder for what they print and for files that they make, which both may fill.
    """
    with ExitStack() as stack:
        sides: dict[SideName, Side] = {}
        for side in SIDES:
            label = f"{comparison.name}, {'ours' if side == 'ours' else comparison.peer}"
            words = [comparison.name, side, sizes]
            sides[side] = stack.enter_context(
                worker("lexigraft.bench.worker", words, label, threads, scratch)
            )
        yield sides


@contextmanager
def worker(
    module: str, words: Sequence[str], label: str, threads: int, scratch: Path
) -> Iterator[Side]:
    """Start a fresh interpreter on a module that serves, wait until it is ready, end it after."""
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    environment |= {"HF_HUB_OFFLINE": "1", "TMPDIR": str(scratch)}
    with tempfile.NamedTemporaryFile("w", dir=scratch, suffix=".log") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            env=environment,
        )
        with process:
            try:
                side = Side(label, process, Path(errors.name))
                side.ask()
                yield side
            finally:
                process.kill()
