"""YAML documents and values of the command line, checked against closed JSON schemas."""

import difflib
import json
import math
import re
from collections import Counter
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema
import yaml
from jsonschema.exceptions import best_match

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.run import deltas_schema, json_type
from lexigraft.specs.stages import BackboneSpec, CorpusSpec


class _Loader(yaml.SafeLoader):
    """Safe YAML in which `1e-4` is a number and a key may stand only once in a mapping."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+0123456789."),
)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    _refuse_repeated_keys(node)
    loader.flatten_mapping(node)
    return {
        loader.construct_object(key, deep=True): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


def _refuse_repeated_keys(node: yaml.MappingNode) -> None:
    keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
    for key, times in keys.items():
        if times > 1:
            line = node.start_mark.line + 1
            raise LexigraftError(
                f"key {key!r} stands twice in the mapping that begins on line {line}"
            )


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def read_document(path: Path, schema: dict[str, Any]) -> Any:
    """Read a YAML file and check it.

    Raises:
        LexigraftError: no such file, no YAML, or a value that the schema does not allow; it names
            the file, the key, what was found and what is allowed.
    """
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise LexigraftError(f"{path}: {error.strerror or error}") from None
    except LexigraftError as error:
        raise LexigraftError(f"{path}: {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LexigraftError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    check(document if document is not None else {}, schema, str(path))
    return document if document is not None else {}


def check(document: Any, schema: dict[str, Any], name: str) -> None:
    """Raise a LexigraftError that names the key, what was found and what is allowed."""
    validator = jsonschema.Draft202012Validator(schema)
    error = best_match(validator.iter_errors(document))
    if error is not None:
        raise LexigraftError(f"{name}: {_sentence(error)}")
    _refuse_nan(document, name)


def _sentence(error: jsonschema.ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    at = f"{where}: " if where else ""
    rule, wanted = error.validator, _any(error.validator_value)
    found = json.dumps(error.instance, ensure_ascii=False, default=str)[:200]
    schema = error.schema if isinstance(error.schema, dict) else {}
    if rule == "additionalProperties":
        allowed = list(schema.get("properties", {}))
        unknown = next(key for key in _any(error.instance) if key not in allowed)
        close = difflib.get_close_matches(str(unknown), allowed, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        return f"{at}unknown key {unknown!r}; {hint}allowed: {', '.join(allowed)}"
    if rule == "required":
        return f"{at}{error.message.replace(' is a required property', '')} is missing"
    if rule == "enum":
        allowed = [str(value) for value in wanted]
        close = difflib.get_close_matches(str(error.instance), allowed, 1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        return f"{at}found {found}; {hint}allowed: {', '.join(allowed)}"
    if rule == "type":
        return f"{at}found {found}; allowed: a value of type {wanted}"
    if rule == "minItems":
        return f"{at}found {found}; allowed: {wanted} or more values"
    if rule == "pattern" and "description" in schema:
        return f"{at}found {found}; allowed: {schema['description']}"
    return f"{at}found {found}; {error.message[:200]}"


def _any(value: Any) -> Any:
    """Loses the type that the library's stubs claim for a schema's values."""
    return value


def _refuse_nan(value: Any, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise LexigraftError(f"{where}: found {value}; allowed: a finite number")
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            _refuse_nan(item, f"{where}: {key}")


@cache
def schema(name: str, root: Path) -> dict[str, Any]:
    """A schema of `workflow/schemas`, with the parts that the dataclasses define filled in."""
    text = (root / "workflow" / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    document.setdefault("$defs", {}).update(
        run=deltas_schema(), corpus=stage_schema(CorpusSpec), backbone=stage_schema(BackboneSpec)
    )
    return document


def stage_schema(spec: type[StageSpec]) -> dict[str, Any]:
    """Closed schema of the options of a stage that a scale states (what it reads is the plan's)."""
    hints = get_type_hints(spec)
    names = [f.name for f in fields(spec) if "reads" not in f.metadata and f.name != "name"]
    properties = {name: json_type(hints[name]) for name in names}
    return {"type": "object", "properties": properties, "additionalProperties": False}
