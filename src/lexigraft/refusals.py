"""How a command ends that cannot go on: one sentence and a code, and what was said in its log."""

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from lexigraft.errors import LexigraftError
from lexigraft.logs import log_to

FULL_DISK = ("No space left", "os error 28", "inline_container.cc")
"""How a full disk is told by what writes past Python: safetensors, and torch's archives."""
Log = Annotated[Path | None, typer.Option(help="File that the log is written to as well.")]


def told_in_one_sentence(command: Callable[..., None]) -> Callable[..., None]:
    """Bad input, a full disk or Ctrl-C end a command with a sentence and a code, no traceback."""

    @wraps(command)
    def wrapped(*args: Any, log: Path | None = None, **kwargs: Any) -> None:
        if log is not None and _unwritable(log):
            typer.echo(f"error: --log {log}: cannot be written to", err=True)
            raise typer.Exit(2)
        with log_to(log):
            try:
                command(*args, **kwargs)
            except LexigraftError as error:
                _stop(str(error), 2)
            except OSError as error:
                _stop(f"{error.filename or 'file system'}: {error.strerror or error}", 2)
            except KeyboardInterrupt:
                _stop("stopped; the same command goes on from the last checkpoint", 130)
            except Exception as error:
                if any(mark in str(error) for mark in FULL_DISK):
                    _stop(f"no space left to write to ({str(error).splitlines()[0]})", 2)
                logging.getLogger("lexigraft").exception("unexpected error")
                raise typer.Exit(1) from None

    signature = inspect.signature(command)
    shown = [
        *signature.parameters.values(),
        inspect.Parameter("log", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Log),
    ]
    wrapped.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {p.name: p.annotation for p in shown}
    del wrapped.__wrapped__
    return wrapped


def _unwritable(path: Path) -> bool:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("a").close()
    except OSError:
        return True
    return False


def _stop(sentence: str, code: int) -> None:
    logging.getLogger("lexigraft").error("error: %s", sentence)
    raise typer.Exit(code) from None
