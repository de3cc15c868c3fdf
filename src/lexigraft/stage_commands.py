"""A command whose options are the fields of a stage's spec, and the options that commands share."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from lexigraft.specs.base import StageSpec, field_docs
from lexigraft.specs.words import flag

SHORT_NAMES = {"initialisation": "--init"}
Out = Annotated[Path, typer.Option(help="Folder to write; whole or absent.")]


def model_place(text: str) -> Path:
    """A model's folder or an id of the hub; what is written as a path is no id."""
    path = Path(text)
    if (text.startswith((".", "~")) or text.endswith("/")) and not path.is_dir():
        raise typer.BadParameter(f"{text}: no such folder")
    return path


MODEL_PLACE: dict[str, Any] = {"parser": model_place, "metavar": "<path>"}


def stage_command(spec_class: type[StageSpec]) -> Callable[..., None]:
    """A command whose options are the fields of a stage's spec."""

    def command(**values: Any) -> None:
        from lexigraft.stages.job import execute

        out = values.pop("out")
        inputs = {name: values[name] for name in reads if values.get(name)}
        named = {name: folder.name for name, folder in inputs.items()}
        plain = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name not in reads
        }
        spec = spec_class(name=out.name, **plain, **named)
        execute(spec, inputs, out, import_module(f"lexigraft.stages.{spec.stage}").run)

    reads = [field.name for field in fields(spec_class) if "reads" in field.metadata]
    parameters = list(_parameters(spec_class))
    parameters.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, annotation=Out))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = spec_class.__doc__
    return command


def _parameters(spec_class: type[StageSpec]) -> list[inspect.Parameter]:
    hints, docs = get_type_hints(spec_class), field_docs(spec_class)
    found = []
    for field in fields(spec_class):
        if field.name == "name":
            continue
        names = [f"--{flag(field.name)}", *filter(None, [SHORT_NAMES.get(field.name)])]
        hint, default = hints[field.name], field.default
        if "reads" in field.metadata:
            optional = field.metadata["optional"]
            hint, default = (Path | None, None) if optional else (Path, inspect.Parameter.empty)
        elif get_origin(hint) is tuple:
            hint = list[get_args(hint)[0]]  # type: ignore[misc]
            default = list(default) if isinstance(default, tuple) else default
        elif hint is bool:
            names = [f"--{flag(field.name)}/--no-{flag(field.name)}"]
        model = MODEL_PLACE if field.metadata.get("reads") == "model" else {}
        option = typer.Option(*names, help=docs[field.name], **model)
        found.append(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is MISSING else default,
                annotation=Annotated[hint, option],
            )
        )
    return found
