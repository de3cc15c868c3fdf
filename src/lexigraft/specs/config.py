"""The configuration: what `config.yaml` and the command line ask for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.specs.documents import check, schema
from lexigraft.specs.experiments import experiment_names
from lexigraft.specs.scales import Scale, load_scale


@dataclass(frozen=True)
class Config:
    """What `config.yaml` and the command line ask for."""

    root: Path
    scale: Scale
    experiments: tuple[str, ...]
    rows: str
    many: tuple[int, ...]
    results: Path
    significance: float


def load_config(root: Path, values: Mapping[str, Any], argv: Sequence[str] = ()) -> Config:
    """The configuration from parsed values, the text of the command line deciding over its parse.

    Args:
        root: folder that holds `workflow/`.
        values: `config.yaml` merged with the parsed command line, as Snakemake gives them.
        argv: the command line as typed, from which `--config key=value` is read again.

    Raises:
        LexigraftError: an unknown key, a wrong type, an unknown scale or experiment.
    """
    closed = schema("config", root)
    stated = dict(values) | retyped(argv, closed["properties"])
    check(stated, closed, "config.yaml or --config")
    scale = load_scale(root, stated["scale"])
    known = experiment_names(root)
    for name in stated["experiments"]:
        if name not in known:
            raise LexigraftError(
                f"config.yaml or --config: experiments: found {name!r}; allowed: {', '.join(known)}"
            )
    return Config(
        root=root,
        scale=scale,
        experiments=tuple(dict.fromkeys(stated["experiments"])),
        rows=stated.get("rows", scale.rows),
        many=tuple(stated.get("seeds", scale.many)),
        results=Path(stated.get("results", "results")),
        significance=float(stated.get("significance", 0.05)),
    )


def retyped(argv: Sequence[str], properties: Mapping[str, Any]) -> dict[str, Any]:
    """`--config key=value` pairs with the type that the schema says.

    Snakemake guesses types from the text: `1_2344_5678` becomes an integer, `[table2]` a list and
    `table2` a string. What was typed is read again here and given the type of its key.
    """
    pairs: dict[str, str] = {}
    inside = False
    for word in argv:
        if word.startswith("--config="):
            inside, word = True, word.removeprefix("--config=")
        if word in ("--config", "-C"):
            inside = True
        elif word.startswith("-"):
            inside = False
        elif inside and "=" in word:
            key, _, text = word.partition("=")
            pairs[key] = text
    return {
        key: typed(text, properties[key], key) for key, text in pairs.items() if key in properties
    }


def typed(text: str, kind: Mapping[str, Any], key: str) -> Any:
    """The text of one command-line value as the type of its schema.

    Raises:
        LexigraftError: the text is no value of that type.
    """
    name = kind.get("type", "string")
    if name == "array":
        items = text.strip().removeprefix("[").removesuffix("]").split(",")
        return [typed(item.strip().strip("'\""), kind["items"], key) for item in items if item]
    if name == "string":
        return text
    try:
        return {"integer": int, "number": float}[name](text)
    except ValueError:
        raise LexigraftError(
            f"--config: {key}: found {text!r}; allowed: a value of type {name}"
        ) from None
