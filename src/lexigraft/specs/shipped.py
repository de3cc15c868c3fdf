"""Backbones that come with the repository: what a scale takes in the place of pre-training.

A scale states how its backbones are pre-trained, and under `shipped` which of them are taken from
`workflow/backbones` instead. What is there must have been made as the scale states, on its text.
The plan reads records only; the stage checks the files.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object
from lexigraft.specs.base import slug
from lexigraft.specs.ranges import SHA256
from lexigraft.specs.stages import BackboneSpec

FOLDER = Path("workflow/backbones")
RECORD = "shipped.json"
WEIGHTS = "model.safetensors"
KEPT = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "spec.json",
    "backbone.json",
    "provenance.json",
    "training.jsonl",
)
"""What a shipped folder has of the pre-training's output as it was; the weights are rounded."""
REMEDY = "`git restore` brings it back, `make backbones` makes it anew"


def shipped_backbones(
    root: Path, backbones: Mapping[str, BackboneSpec], names: Iterable[str], where: str
) -> dict[str, BackboneSpec]:
    """Name to the spec that takes the shipped weights; their hash is in it, so in its id.

    Args:
        root: folder that holds `workflow/`.
        backbones: how the scale says that they are pre-trained.
        names: those that are shipped.
        where: file and key that names them, with which messages start.

    Raises:
        LexigraftError: a folder is missing, its record is unreadable, or it was pre-trained
            otherwise than the scale says.
    """
    return {name: _shipped(root, name, backbones[name], where) for name in names}


def check_shippable(
    backbones: Mapping[str, BackboneSpec], names: Iterable[str], where: str
) -> None:
    """Raise LexigraftError for a name that is no backbone, or none that is pre-trained."""
    for name in names:
        if name not in backbones:
            raise LexigraftError(f"{where}: found {name!r}; allowed: {', '.join(backbones)}")
        if (origin := backbones[name].origin) != "pretrain":
            raise LexigraftError(
                f"{where}: {name!r} has the origin {origin}; allowed: backbones of origin pretrain"
            )


def _shipped(root: Path, name: str, recipe: BackboneSpec, where: str) -> BackboneSpec:
    location = FOLDER / slug(name)
    folder = root / location
    if not folder.is_dir():
        raise LexigraftError(
            f"{where}: {name!r} has no folder {folder}; `make backbones` pre-trains and writes it"
        )
    sha256 = recorded_hashes(folder)[WEIGHTS]
    # A field that is newer than the folder had its default then.
    made = BackboneSpec().record() | read_object(folder / "spec.json", REMEDY)
    for field, stated in recipe.record().items():
        if made[field] != stated:
            raise LexigraftError(
                f"{where}: {name!r} was pre-trained with {field} {made[field]!r}, the scale states "
                f"{stated!r}; leave it out of 'shipped' to pre-train it, or `make backbones` anew"
            )
    return BackboneSpec(name=name, origin="shipped", location=location.as_posix(), sha256=sha256)


def recorded_hashes(folder: Path) -> dict[str, str]:
    """File name to SHA-256, as the record of a shipped folder states them.

    Raises:
        LexigraftError: no record, or none of a file that is needed.
    """
    path = folder / RECORD
    hashes = member(read_object(path, REMEDY), "sha256", dict, str(path))
    for name in dict.fromkeys((*KEPT, WEIGHTS, *hashes)):
        if not SHA256.fullmatch(str(hashes.get(name))):
            raise LexigraftError(f"{path}: sha256: no hash of {name}; {REMEDY}")
    return hashes
