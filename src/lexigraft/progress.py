"""Progress that a person can follow: a bar on a terminal, a line now and then elsewhere."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from tqdm.auto import tqdm

Item = TypeVar("Item")
log = logging.getLogger(__name__)
SECONDS_BETWEEN_LINES = 10.0


def track(
    items: Iterable[Item], description: str, *, total: int | None = None, unit: str = ""
) -> Iterator[Item]:
    """Yield `items` while showing how far they are.

    On a terminal this is a tqdm bar. Elsewhere (several jobs of the workflow share one screen) it
    logs a line at most every ten seconds, and none for work that ends sooner.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    if sys.stderr.isatty():
        yield from tqdm(items, desc=description, total=total, unit=unit or "it", leave=False)
        return
    start = last = time.monotonic()
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LINES:
            last = now
            log.info("%s", progress_line(description, done, total, now - start, unit))


def progress_line(
    description: str, done: int, total: int | None, seconds: float, unit: str = ""
) -> str:
    """One line such as `fine-tune: 240/600 steps, 0:42 gone, 1:03 to go`."""
    unit = f" {unit}" if unit else ""
    if not total:
        return f"{description}: {done:,}{unit}, {_clock(seconds)} gone"
    left = seconds * (total - done) / max(done, 1)
    return f"{description}: {done:,}/{total:,}{unit}, {_clock(seconds)} gone, {_clock(left)} to go"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
