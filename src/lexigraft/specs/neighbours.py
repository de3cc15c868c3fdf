"""Experiments about words: sub-tokens and nearest anchors of new tokens after a transfer."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError

ROWS_ONLY = ("columns", "base", "seeds", "reported", "figure")
"""Keys of an experiment whose rows are runs."""


@dataclass(frozen=True)
class Word:
    """A word and what is reported of it, tokens as the source prints them."""

    text: str
    sub_tokens: tuple[str, ...] = ()
    anchors: tuple[tuple[str, float], ...] = ()
    """(token, weight), the heaviest first."""


@dataclass(frozen=True)
class Neighbours:
    """What an experiment's file states under `neighbours`."""

    words: tuple[Word, ...]
    deltas: Mapping[str, Any]
    """Deltas on the scale's run, up to its transfer."""
    at: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further deltas at one scale and those that extend it, by its name."""
    sample: int = 0
    """How many other new tokens are drawn."""
    seed: int = 42
    """Which."""

    def deltas_at(self, scales: Sequence[str]) -> Mapping[str, Any]:
        """All deltas that hold at a scale: its name, after that of the scale that it extends."""
        return deltas_at(self.deltas, self.at, scales)


def deltas_at(
    deltas: Mapping[str, Any], at: Mapping[str, Mapping[str, Any]], scales: Sequence[str]
) -> dict[str, Any]:
    """Deltas, and what is stated at each of some scales, a later one before an earlier one."""
    merged = dict(deltas)
    for scale in scales:
        merged |= at.get(scale, {})
    return merged


@dataclass(frozen=True)
class PlannedNeighbours:
    """Words, and the transfer that they are looked up in."""

    transfer: str
    """Id of the transfer stage."""
    source: str
    """Backbone that is moved."""
    target: str
    """Backbone whose vocabulary and embedding space it is moved to."""
    words: tuple[Word, ...]
    sample: int = 0
    seed: int = 42


def neighbours_of(document: Mapping[str, Any], path: Path) -> Neighbours:
    """The part `neighbours` of an experiment that has been checked against the schema.

    Raises:
        LexigraftError: a key beside it that is for rows, or a word that stands twice.
    """
    for key in ROWS_ONLY:
        if key in document:
            raise LexigraftError(
                f"{path}: {key}: found beside neighbours; allowed beside rows or a sweep only"
            )
    part = document["neighbours"]
    words = tuple(
        Word(
            text=entry["word"],
            sub_tokens=tuple(entry.get("sub_tokens", ())),
            anchors=tuple((str(token), float(w)) for token, w in entry.get("anchors", {}).items()),
        )
        for entry in part["words"]
    )
    word, times = Counter(word.text for word in words).most_common(1)[0]
    if times > 1:
        raise LexigraftError(f"{path}: neighbours.words: {word!r} stands twice")
    return Neighbours(
        words=words,
        deltas=part["run"],
        at=part.get("at", {}),
        sample=part.get("sample", 0),
        seed=part.get("seed", 42),
    )
