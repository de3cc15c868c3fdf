"""Training checkpoints that are whole or removed, and that belong to one run only.

A checkpoint folder `checkpoint-<step>` counts once it holds `whole.json`, which is written after
every other file is on disk and lists their sizes and SHA-256. A folder without it is what a kill
left behind and is removed. A folder whose files differ from the list is corrupt: that is never
passed over in silence.
"""

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import flush, read_object, sha256_file, write_json

MARKER = "whole.json"
OWNER = "run.json"
PREFIX = "checkpoint-"
KEPT = 2
log = logging.getLogger(__name__)


class Checkpoints:
    """The checkpoints of one training run under `folder`.

    `identity` is all that must be equal for a checkpoint to be gone on from (JSON values: the
    options, the hash of the text, of the initial weights, ...).
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, keep: int = KEPT):
        self.folder = folder
        self.identity = json.loads(json.dumps(dict(identity)))
        self.keep = keep

    def open(self) -> Path | None:
        """The newest whole checkpoint, or None; folders that a kill left half-written are removed.

        Raises:
            LexigraftError: the folder belongs to another run, or the newest checkpoint is corrupt.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._check_owner()
        for partial in self._folders(whole=False):
            log.info("%s: removed, it was not written to its end", partial)
            shutil.rmtree(partial)
        whole = self._folders(whole=True)
        if not whole:
            return None
        self._verify(whole[-1])
        return whole[-1]

    def mark(self, checkpoint: Path) -> None:
        """Declare `checkpoint` whole, then remove all but the newest ones."""
        files = sorted(p for p in checkpoint.iterdir() if p.is_file() and p.name != MARKER)
        for file in files:
            flush(file)
        listed = {p.name: {"bytes": p.stat().st_size, "sha256": sha256_file(p)} for p in files}
        write_json(checkpoint / MARKER, listed)
        for old in self._folders(whole=True)[: -self.keep]:
            # Without its marker first, a kill in the middle would leave a corrupt checkpoint.
            (old / MARKER).unlink()
            shutil.rmtree(old)

    def _folders(self, *, whole: bool) -> list[Path]:
        found = [p for p in self.folder.glob(f"{PREFIX}*") if p.is_dir()]
        found = [p for p in found if p.name.removeprefix(PREFIX).isdecimal()]
        found = [p for p in found if (p / MARKER).is_file() == whole]
        return sorted(found, key=lambda p: int(p.name.removeprefix(PREFIX)))

    def _check_owner(self) -> None:
        path = self.folder / OWNER
        if not path.is_file():
            if self._folders(whole=True):
                raise LexigraftError(
                    f"{self.folder}: holds checkpoints but no {OWNER} that says whose they are; "
                    "remove the folder to start again"
                )
            write_json(path, self.identity)
            return
        if not self._folders(whole=True):
            # Nothing was saved, as after options that were refused: there is nothing to protect.
            write_json(path, self.identity)
            return
        found = read_object(path, f"remove {self.folder} to start again")
        if found != self.identity:
            what = _difference(found, self.identity)
            raise LexigraftError(
                f"{self.folder}: holds checkpoints of another run ({what}); remove the folder to "
                "start again, or write elsewhere"
            )

    def _verify(self, checkpoint: Path) -> None:
        remedy = f"remove that folder to go on from the one before, or {self.folder} to start again"
        listed = read_object(checkpoint / MARKER, remedy)
        problem = "" if listed else f"{MARKER} lists no files"
        for name, stated in listed.items():
            if problem := _problem(checkpoint / name, stated):
                break
        if problem:
            raise LexigraftError(f"{checkpoint}: corrupt checkpoint ({problem}); {remedy}")


def _problem(file: Path, stated: Any) -> str:
    """What is wrong with a file of a checkpoint; empty if nothing."""
    if not file.is_file():
        return f"{file.name} is missing"
    if not isinstance(stated, dict) or not {"bytes", "sha256"} <= stated.keys():
        return f"{MARKER} does not say what {file.name} was"
    size = file.stat().st_size
    if size != stated["bytes"]:
        return f"{file.name} has {size} bytes, {stated['bytes']} were written"
    same = sha256_file(file) == stated["sha256"]
    return "" if same else f"{file.name} differs from what was written"


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """`steps 100, now 200` for the first key in which two identities differ."""
    key = min(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))
    return f"{key} {found.get(key)!r}, now {wanted.get(key)!r}"
