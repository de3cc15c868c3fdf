"""Combinations of a run's fields that make no sense, refused before anything is planned."""

import math

from lexigraft.errors import LexigraftError
from lexigraft.specs.chain import DISTILLING
from lexigraft.specs.config import Scale
from lexigraft.specs.run import Run, axes

SHARES = ("mlm.mask_probability", "calibrate.rate")
AT_LEAST_ONE = (
    "mlm.steps",
    "mlm.batch_size",
    "mlm.length",
    "mlm.new_token_weight",
    "calibrate.probes",
    "calibrate.length",
    "finetune.steps",
    "finetune.batch_size",
    "finetune.query_length",
    "finetune.document_length",
    "encode.query_length",
    "encode.document_length",
    "retrieve.depth",
)


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


def _ranges(run: Run) -> str:
    for axis, _ in axes():
        found = value(run, axis)
        if isinstance(found, float) and not math.isfinite(found):
            return f"{axis}: found {found}; allowed: a finite number"
        if axis in SHARES and not 0 < float(str(found)) < 1:
            return f"{axis}: found {found}; allowed: between 0 and 1, both excluded"
        if axis in AT_LEAST_ONE and float(str(found)) < 1:
            return f"{axis}: found {found}; allowed: 1 or more"
        signed = axis in ("calibrate.shift", "seed")
        if isinstance(found, int | float) and not signed and found < 0:
            return f"{axis}: found {found}; allowed: 0 or more"
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
