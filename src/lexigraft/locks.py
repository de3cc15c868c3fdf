"""One process at a time makes an output, whoever started it and however the last one ended."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def alone(out: Path) -> Iterator[bool]:
    """Hold the lock of an output; yields whether another process held it first.

    The kernel frees the lock of a process that is killed, so none is ever left behind. A workflow
    that is killed may leave a job running: the job that replaces it waits here.
    """
    path = out.with_name(f".{out.name}.lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    waited = False
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("%s: another process is making it; waiting", out.name)
            waited = True
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is(descriptor, path):
            break
        # Its holder removed the file while we waited for it: a newer file is the lock now.
        os.close(descriptor)
    try:
        yield waited
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
