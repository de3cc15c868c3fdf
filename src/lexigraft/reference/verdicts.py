"""The verdicts of a run's claims against those of a reference."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object

NOT_RUN = "not run here"
"""Verdict of a claim about rows that were not run."""


@dataclass(frozen=True)
class ChangedRelation:
    """A relation of a claim whose verdict changed; numbers are None where it was not tested."""

    relation: str
    difference_here: float | None
    """Left minus right, in the unit that is printed."""
    difference_reference: float | None
    p_here: float | None
    """Adjusted."""
    p_reference: float | None


@dataclass(frozen=True)
class ChangedVerdict:
    """A claim that is judged otherwise than in the reference."""

    claim: str
    text: str
    here: str
    reference: str
    relations: tuple[ChangedRelation, ...]
    """Those that made it so."""


@dataclass(frozen=True)
class ClaimsComparison:
    """Claims that were judged on both sides."""

    compared: int
    changed: tuple[ChangedVerdict, ...]
    not_judged_here: int
    """Claims that only the reference judges."""
    not_judged_in_reference: int


def compare_claims(here: Path, there: Path) -> ClaimsComparison | None:
    """The claims of a run against a reference's, `claims.json`; None where the run has no file.

    Raises:
        LexigraftError: a file is not what was written, or the reference's is missing.
    """
    if not here.is_file():
        return None
    ours, theirs = _judged(here), _judged(there)
    shared = [claim for claim in theirs if claim in ours]
    return ClaimsComparison(
        compared=len(shared),
        changed=tuple(
            ChangedVerdict(
                claim,
                theirs[claim]["text"],
                ours[claim]["verdict"],
                theirs[claim]["verdict"],
                _changed_relations(ours[claim], theirs[claim]),
            )
            for claim in shared
            if ours[claim]["verdict"] != theirs[claim]["verdict"]
        ),
        not_judged_here=len(theirs) - len(shared),
        not_judged_in_reference=len(ours) - len(shared),
    )


def _judged(path: Path) -> dict[str, Mapping[str, Any]]:
    """Id of each claim that was judged to its record."""
    claims: dict[str, Mapping[str, Any]] = {}
    for number, claim in enumerate(member(read_object(path), "claims", list, str(path))):
        where = f"{path}: claims: {number}"
        _refuse_other(claim, ("id", "text", "verdict"), where)
        for relation in member(claim, "relations", list, where):
            _refuse_other(relation, ("relation", "verdict"), f"{where}: relations")
        if claim["verdict"] != NOT_RUN:
            claims[claim["id"]] = claim
    return claims


def _refuse_other(record: Any, keys: tuple[str, ...], where: str) -> None:
    if not isinstance(record, dict):
        raise LexigraftError(f"{where}: found {record!r}; a JSON object is needed")
    for key in keys:
        member(record, key, str, where)


def _changed_relations(
    here: Mapping[str, Any], there: Mapping[str, Any]
) -> tuple[ChangedRelation, ...]:
    ours = {relation["relation"]: relation for relation in here["relations"]}
    pairs = [(ours.get(theirs["relation"], theirs), theirs) for theirs in there["relations"]]
    return tuple(
        ChangedRelation(
            theirs["relation"],
            *(_number(side, key) for key in ("difference", "p_adjusted") for side in (own, theirs)),
        )
        for own, theirs in pairs
        if own["verdict"] != theirs["verdict"]
    )


def _number(relation: Mapping[str, Any], key: str) -> float | None:
    value = relation.get(key)
    return float(value) if isinstance(value, int | float) else None
