"""Files and folders that are whole or absent, and their hashes."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from lexigraft.errors import LexigraftError

Member = TypeVar("Member")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes `path`'s place only if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        flush(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


KINDS = {
    dict: "a JSON object",
    list: "a list",
    str: "a string",
    int: "a whole number",
    bool: "true or false",
}
"""Types of JSON values, as messages call them."""
OUTPUT_MARKS = (
    "spec.json",
    "shipped.json",
    "retrieve.json",
    "bench.csv",
    "growth.csv",
    "accelerator.csv",
    "reference.json",
)
"""Every folder that a command of ours wrote holds one of these."""


def refuse_taken(out: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse to write where something would be lost.

    Raises:
        LexigraftError: `out` is a file or a folder that no command of ours wrote, or it is or holds
            an input or the current folder.
    """
    full = out.resolve()
    above = next(path for path in (full, *full.parents) if path.exists())
    if not above.is_dir():
        raise LexigraftError(f"--out {out}: {above} is a file in the way; a folder is needed")
    for path in (*(Path(folder).resolve() for folder in inputs), Path.cwd()):
        if full == path or full in path.parents:
            raise LexigraftError(
                f"--out {out}: writing there would remove {path}; choose another folder"
            )
    held = (
        sorted(p.name for p in full.iterdir() if not p.name.startswith("."))
        if above == full
        else []
    )
    if held and not any(mark in held for mark in OUTPUT_MARKS):
        raise LexigraftError(
            f"--out {out}: holds {held[0]!r} and is no earlier output; "
            "choose an absent or empty folder"
        )


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder; it takes `path`'s place only if the block succeeds.

    What `path` held goes last: a kill leaves the old folder whole, the new one, or none, never a
    part of one, and where it left none the next call begins by putting the old one back.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, old = (path.with_name(f".{path.name}.{mark}") for mark in ("partial", "old"))
    if old.exists() and not path.exists():
        os.replace(old, path)
    for left in (partial, old):
        shutil.rmtree(left, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                flush(file)
        if path.exists():
            os.replace(path, old)
        os.replace(partial, path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def flush(file: Path) -> None:
    """Have a file on disk before its name says that it is whole: a power cut leaves no lie."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented UTF-8 JSON; NaN and infinities are refused."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, sort_keys=False)
    with whole_file(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        LexigraftError: the file is missing, unreadable or no JSON.
    """
    try:
        return parse_json(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        raise LexigraftError(f"{path}: no such file") from None
    except OSError as error:
        raise LexigraftError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise LexigraftError(f"{path}: not valid JSON ({error})") from None


def read_object(path: Path, remedy: str = "") -> dict[str, Any]:
    """Read a JSON file that holds an object.

    Args:
        path: the file.
        remedy: what to do about a file that is none, for the end of the message.

    Raises:
        LexigraftError: as `read_json`, or there is something else in it.
    """
    try:
        return as_object(read_json(path), str(path))
    except LexigraftError as error:
        raise LexigraftError(f"{error}; {remedy}" if remedy else str(error)) from None


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text.

    Raises:
        LexigraftError: no JSON, too deeply nested, or a number of too many digits; the message
            starts with `where`.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise LexigraftError(f"{where}: not valid JSON (too deeply nested)") from None
    except ValueError as error:
        raise LexigraftError(f"{where}: not valid JSON ({error})") from None


def as_object(value: Any, where: str) -> dict[str, Any]:
    """A parsed JSON value that must be an object.

    Raises:
        LexigraftError: it is something else; the message starts with `where`.
    """
    if not isinstance(value, dict):
        raise LexigraftError(f"{where}: {type(value).__name__} found, a JSON object is needed")
    return value


def member(
    record: Mapping[str, Any], key: str, kind: type[Member], where: str, default: Any = None
) -> Member:
    """The value of a key of a JSON object, of the type that is needed.

    Args:
        record: the object.
        key: its key.
        kind: type of the value.
        where: file and place of the object, with which a message starts.
        default: value of a key that is absent or null; None where there must be one.

    Raises:
        LexigraftError: no such key, or a value of another type.
    """
    value = record.get(key)
    value = default if value is None else value
    if value is None:
        raise LexigraftError(f"{where}: '{key}' is missing, {KINDS[kind]} is needed")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise LexigraftError(f"{where}: '{key}' is {repr(value)[:100]}, {KINDS[kind]} is needed")
    return value


def sha256_file(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def sha256_folder(path: Path) -> str:
    """Hexadecimal SHA-256 over the relative names and bytes of all files under a folder."""
    digest = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        digest.update(file.relative_to(path).as_posix().encode() + b"\0")
        digest.update(bytes.fromhex(sha256_file(file)))
    return digest.hexdigest()
