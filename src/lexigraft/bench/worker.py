"""One side of a comparison in a process of its own: python -m lexigraft.bench.worker NAME SIDE ...

It prepares, says so, and then does what each line of its input asks, answering with one line of
JSON:

    check FOLDER   the first call; writes its arrays to FOLDER
    memory         a call, its peak memory: {"extra": bytes, "total": bytes}
    time           a call, its wall time: {"seconds": seconds}

Whatever libraries print goes to the error stream. The process ends when its input does.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lexigraft.bench.comparison import Work, comparisons
from lexigraft.errors import LexigraftError


def main(name: str, side: Any, sizes: Any) -> None:
    """Serve one side until the input ends."""
    serve(lambda: comparisons()[name].prepare(side, sizes))


def serve(prepare: Callable[[], Work]) -> None:
    """Prepare, then do what the lines of the input ask until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(**values: Any) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    try:
        work = prepare()
        answer()
        for line in sys.stdin:
            command, *words = json.loads(line)
            answer(**_do(work, command, *words))
    except LexigraftError as error:
        answer(error=str(error))


def _do(work: Work, command: str, *words: str) -> dict[str, Any]:
    if command == "check":
        return _check(work, Path(words[0]))
    if command == "memory":
        from lexigraft.bench.memory import peak_of

        return asdict(peak_of(work.run))
    gc.collect()
    start = time.perf_counter()
    value = work.run()
    seconds = time.perf_counter() - start
    del value
    return {"seconds": seconds}


def _check(work: Work, folder: Path) -> dict[str, Any]:
    import numpy as np

    folder.mkdir(parents=True)
    for name, array in work.arrays(work.run()).items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    return {}


if __name__ == "__main__":
    main(*sys.argv[1:])
