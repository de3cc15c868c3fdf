"""Backbones that come with the repository: written in half precision, and checked when taken.

A shipped folder holds model and tokenizer, the weights in float16; the records and the history of
the pre-training as its stage wrote them; and `shipped.json`, the SHA-256 of each of these files and
of the weights before they were rounded. It loads as a model of transformers.

float16 keeps 11 significant bits from 2**-14 to 65504: rounding moves a weight w by at most
max(2**-11 |w|, 2**-25).
"""

import logging
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object, refuse_taken, sha256_file, whole_folder, write_json
from lexigraft.locks import alone
from lexigraft.specs.base import HASH_LENGTH
from lexigraft.specs.shipped import KEPT, RECORD, REMEDY, WEIGHTS, recorded_hashes

log = logging.getLogger(__name__)


def ship_backbones(sources: Iterable[Path], out: Path) -> None:
    """Write pre-trained backbones as they are shipped, each to `out/<its id without the hash>`.

    The bytes depend on those of the source alone. A folder is whole or as it was before, and all
    sources are looked at before the first one is written.

    Args:
        sources: outputs of the stage `backbone`, of origin pretrain.
        out: folder that gets one folder each.

    Raises:
        LexigraftError: a source is no such output, two have one name, a target holds something
            else, or a weight is no finite number in float16.
    """
    targets: dict[Path, Path] = {}
    for source in sources:
        _refuse_other_outputs(source)
        target = out / re.sub(rf"-[0-9a-f]{{{HASH_LENGTH}}}$", "", source.resolve().name)
        if target in targets:
            raise LexigraftError(f"{source}: {targets[target]} goes to {target} too; name one")
        refuse_taken(target, [source])
        targets[target] = source
    for target, source in targets.items():
        with alone(target), whole_folder(target) as partial:
            _write(source, partial)
        size = sum(file.stat().st_size for file in target.iterdir()) / 1e6
        log.info("%s: %.1f MB, weights %s", target, size, recorded_hashes(target)[WEIGHTS])


def half_precision(weights: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """Weights by name, those of floating point rounded to float16.

    Raises:
        LexigraftError: a weight is NaN, infinite, or beyond float16's 65504.
    """
    half = {}
    for name, tensor in weights.items():
        half[name] = tensor.half() if tensor.is_floating_point() else tensor
        if not torch.isfinite(half[name]).all():
            raise LexigraftError(
                f"{where}: {name} holds a value that is no finite number in half precision, whose "
                "largest is 65504"
            )
    return half


def verify_shipped(folder: Path, sha256: str = "") -> dict[str, str]:
    """Check all files of a shipped backbone against its record; returns their SHA-256 by name.

    Args:
        folder: the shipped backbone.
        sha256: what the weights must have; empty for what the record says.

    Raises:
        LexigraftError: a file is missing, altered or not recorded, or the weights are others than
            those asked for.
    """
    hashes = recorded_hashes(folder)
    for name, expected in hashes.items():
        if not (folder / name).is_file():
            raise LexigraftError(f"{folder / name}: no such file; {REMEDY}")
        if (found := sha256_file(folder / name)) != expected:
            raise LexigraftError(
                f"{folder / name}: SHA-256 {found[:12]}... found, {RECORD} has "
                f"{expected[:12]}...; {REMEDY}"
            )
    # A file beside them could change what is loaded.
    for path in sorted(folder.iterdir()):
        if path.name not in (*hashes, RECORD) and not path.name.startswith("."):
            raise LexigraftError(f"{path}: {RECORD} says nothing of it; remove it")
    if sha256 not in ("", hashes[WEIGHTS]):
        raise LexigraftError(
            f"--sha256: {sha256[:12]}... asked for, the weights of {folder} have "
            f"{hashes[WEIGHTS][:12]}...; {REMEDY}"
        )
    return hashes


def _refuse_other_outputs(source: Path) -> None:
    needed = "the output of a pre-training by the stage backbone is needed"
    for name in (*KEPT, WEIGHTS):
        if not (source / name).is_file():
            raise LexigraftError(f"{source / name}: no such file; {needed}")
    spec = read_object(source / "spec.json", needed)
    if (spec.get("stage"), spec.get("origin")) != ("backbone", "pretrain"):
        raise LexigraftError(
            f"{source / 'spec.json'}: stage {spec.get('stage')!r} of origin {spec.get('origin')!r} "
            f"found; {needed}"
        )


def _write(source: Path, out: Path) -> None:
    for name in KEPT:
        shutil.copyfile(source / name, out / name)
    try:
        weights = load_file(source / WEIGHTS)
    except SafetensorError as error:
        raise LexigraftError(f"{source / WEIGHTS}: corrupt weights ({error})") from None
    half = half_precision(weights, str(source / WEIGHTS))
    save_file(half, out / WEIGHTS, {"format": "pt"})
    write_json(
        out / RECORD,
        {
            "values": "float16",
            **_rounding(weights, half),
            "sha256_before_rounding": sha256_file(source / WEIGHTS),
            "sha256": {name: sha256_file(out / name) for name in (*KEPT, WEIGHTS)},
        },
    )


def _rounding(weights: Mapping[str, Tensor], half: Mapping[str, Tensor]) -> dict[str, Any]:
    """What was lost: the largest change of a weight, and how many became zero."""
    pairs = [(weights[name], half[name]) for name in weights]
    return {
        "largest_change": max(
            (float((one - two.to(one)).abs().max()) for one, two in pairs), default=0.0
        ),
        "became_zero": sum(int(((one != 0) & (two == 0)).sum()) for one, two in pairs),
    }
