"""What every stage spec has: inputs, options, a version and an id that leaves defaults out."""

import ast
import hashlib
import inspect
import json
import re
import textwrap
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar

HASH_LENGTH = 10


def reads(what: str = "folder", *, optional: bool = False) -> Any:
    """A field that holds the id of another stage's output (in memory) or its folder (on the command
    line). `what` says what is read: model, collection, vectors, run, scores."""
    metadata = {"reads": what, "optional": optional}
    return field(default="", metadata=metadata) if optional else field(metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class StageSpec:
    """Everything that can change a stage's output.

    The id is a readable slug and a hash of the canonical JSON of the fields that differ from their
    defaults, so a new field with a default changes no id.
    """

    stage: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised whenever the stage's behaviour changes; part of the id when above 1."""
    kept: ClassVar[bool] = True
    """Whether its output stays; else it is removed once all that read it are done."""

    name: str = field(default="", compare=False, metadata={"in_id": False})
    """Readable start of the id; no part of the hash."""

    @cached_property
    def id(self) -> str:
        """`<slug>-<hash>`."""
        stated = {
            f.name: value
            for f in hashed_fields(type(self))
            if (value := getattr(self, f.name)) != f.default
        }
        if self.version > 1:
            stated["version"] = self.version
        text = json.dumps(stated, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(f"{self.stage}:{text}".encode()).hexdigest()[:HASH_LENGTH]
        return f"{slug(self.name or self.stage)}-{digest}"

    def record(self) -> dict[str, Any]:
        """All fields, defaults included, as plain JSON: what `spec.json` holds."""
        values = {f.name: _plain(getattr(self, f.name)) for f in hashed_fields(type(self))}
        return {"stage": self.stage, "version": self.version, **values}

    def inputs(self) -> dict[str, str]:
        """Field name to the id (or folder) read, for those that are given."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if "reads" in f.metadata}
        return {name: value for name, value in named.items() if value}


def hashed_fields(spec: type[StageSpec]) -> tuple[Field[Any], ...]:
    return tuple(f for f in fields(spec) if f.metadata.get("in_id", True))


def slug(text: str) -> str:
    """Lower-case letters, digits, dots and dashes: safe in any file system and in a wildcard."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:60] or "x"


def field_docs(spec: type[Any]) -> dict[str, str]:
    """The docstring under each field of a dataclass, on one line, bases included."""
    docs: dict[str, str] = {}
    for cls in reversed(spec.__mro__[:-1]):
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
        assert isinstance(body, ast.ClassDef)
        for node, after in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(node, ast.AnnAssign)
                and isinstance(node.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                docs[node.target.id] = " ".join(str(after.value.value).split())
    return docs


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
