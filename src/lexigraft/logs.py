"""Where a command's log lines go: the screen, and the stage's log file."""

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def log_to(path: Path | None) -> Iterator[None]:
    """Show Lexigraft's lines on the screen; write those and every library's to the file as well."""
    screen = logging.StreamHandler(sys.stderr)
    screen.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    screen.addFilter(lambda record: record.name.startswith("lexigraft"))
    handlers: list[logging.Handler] = [screen]
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = logging.FileHandler(path, mode="a", encoding="utf-8")
        file.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        handlers.append(file)
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.INFO)
    shown = warnings.showwarning
    logging.captureWarnings(True)
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            if handler is not screen:
                handler.close()
        root.setLevel(level)
        logging.captureWarnings(False)
        warnings.showwarning = shown
