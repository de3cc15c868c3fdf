"""The pinned versions that a reference is made with."""

from pathlib import Path

from lexigraft.errors import LexigraftError

LOCK = "requirements.lock"
"""Its name, under `envs/` and in a reference."""


def pins(lock: Path) -> dict[str, str]:
    """Package to the version that is pinned.

    Raises:
        LexigraftError: the file is missing or no text.
    """
    try:
        lines = lock.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise LexigraftError(f"{lock}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise LexigraftError(f"{lock}: not valid text ({error})") from None
    pairs = (line.partition("==") for line in lines if not line.startswith("#"))
    return {name.strip(): version.strip() for name, _, version in pairs if version}
