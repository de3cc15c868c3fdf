"""Combinations of a run's fields that make no sense, refused before anything is planned."""

import math
from dataclasses import fields

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.config import Scale
from lexigraft.specs.options import DISTILLING
from lexigraft.specs.run import Run, axes

SHARES = ("mask_probability", "rate")
AT_LEAST_ONE = (
    "steps",
    "batch_size",
    "length",
    "new_token_weight",
    "probes",
    "query_length",
    "document_length",
    "depth",
)
ABOVE_ZERO = ("score_scale",)
LARGEST_SEED = 2**32 - 1


def check_run(run: Run, scale: Scale, where: str) -> None:
    """Refuse an impossible run.

    Raises:
        LexigraftError: the message starts with `where` and names the field, the value found and
            what is allowed.
    """
    for problem in (_ranges(run), _names(run, scale), _combination(run)):
        if problem:
            raise LexigraftError(f"{where}: {problem}")


def value(run: Run, axis: str) -> object:
    """The value of a dotted axis."""
    found: object = run
    for part in axis.split("."):
        found = getattr(found, part)
    return found


def out_of_range(name: str, found: object) -> str:
    """What is wrong with the value of a field of that name; empty if nothing."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return ""
    if not math.isfinite(found):
        return f"found {found}; allowed: a finite number"
    if name in SHARES and not 0 < found < 1:
        return f"found {found}; allowed: between 0 and 1, both excluded"
    if name in AT_LEAST_ONE and found < 1:
        return f"found {found}; allowed: 1 or more"
    if name in ABOVE_ZERO and found <= 0:
        return f"found {found}; allowed: above 0"
    if name == "seed" and not 0 <= found <= LARGEST_SEED:
        return f"found {found}; allowed: 0 to {LARGEST_SEED}"
    if name != "shift" and found < 0:
        return f"found {found}; allowed: 0 or more"
    return ""


def check_fields(spec: StageSpec) -> None:
    """Refuse a stage's options that are out of range, before any work.

    Raises:
        LexigraftError: the message names the option, the value found and what is allowed.
    """
    for field in fields(spec):
        if problem := out_of_range(field.name, getattr(spec, field.name)):
            raise LexigraftError(f"--{field.name.replace('_', '-')}: {problem}")


def _ranges(run: Run) -> str:
    for axis, _ in axes():
        if problem := out_of_range(axis.split(".")[-1], value(run, axis)):
            return f"{axis}: {problem}"
    shares = run.mlm.corruption
    if len(shares) != 3 or min(shares) < 0 or not math.isclose(sum(shares), 1):
        return f"mlm.corruption: found {list(shares)}; allowed: three shares that sum to 1"
    return ""


def _names(run: Run, scale: Scale) -> str:
    needed = {"backbone": run.backbone}
    if run.target:
        needed["target"] = run.target
    if run.finetune.objective in DISTILLING and "dense" in run.teacher.method:
        needed["teacher_backbone"] = run.teacher_backbone
    for field, name in needed.items():
        if name not in scale.backbones:
            known = ", ".join(scale.backbones)
            return f"{field}: found {name!r}; allowed at scale {scale.name}: {known}"
    return ""


def _combination(run: Run) -> str:
    if run.lexical and (run.target or run.adapted or run.calibrated):
        return "retrieve.engine: bm25 has no model; target, adapted and calibrated must stay unset"
    if run.calibrated and run.finetune.head == "dense":
        return "calibrated: true moves output logits; a dense head has none"
    if run.target == run.backbone:
        return f"target: found {run.target!r}, the backbone itself; allowed: another vocabulary"
    if run.finetune.objective in DISTILLING and run.finetune.negatives < 1:
        return f"finetune.negatives: found 0; {run.finetune.objective} needs 1 or more"
    return ""
