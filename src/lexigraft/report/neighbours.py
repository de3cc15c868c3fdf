"""A table of words: sub-tokens and nearest anchors, ours beside the reported ones (table 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lexigraft.analysis.neighbours import Neighbourhood, neighbourhood, read_tokens, sampled
from lexigraft.report import text
from lexigraft.specs.experiments import PlannedExperiment
from lexigraft.specs.neighbours import Word

SAMPLED = "Sampled new tokens"


@dataclass(frozen=True)
class WordRow:
    """One word."""

    ours: Neighbourhood
    reported: Word
    """Without sub-tokens and anchors where nothing is reported."""
    in_common: int | None = None
    """How many of the reported anchors are among ours, marks of word starts aside; None where one
    side has none."""
    overlapping: int | None = None
    """How many of the reported anchors overlap here, so that they could be."""

    @property
    def compared(self) -> str:
        """`4 of 5`: in common, of those that overlap."""
        if self.in_common is None:
            return text.MISSING
        return f"{self.in_common} of {self.overlapping}"

    @property
    def remark(self) -> str:
        """Why a word has no anchors; empty where it has."""
        if self.ours.fate == "no token":
            return "no single token of the target's vocabulary"
        if self.ours.fate == "overlapping":
            return f"overlapping token, copied from {self.ours.partner}"
        return "" if self.ours.anchors else "without a direction in the target's space: the mean"


@dataclass(frozen=True)
class NeighboursTable:
    """A whole table, ready to be printed in any form."""

    name: str
    title: str
    source: Mapping[str, object]
    scale: str
    transfer: str
    """Id of the transfer that the words were looked up in."""
    moved: str
    words: tuple[WordRow, ...]
    sample: tuple[WordRow, ...]
    note: str = ""

    @property
    def caption(self) -> str:
        return (
            f"Ours at scale {self.scale} ({self.moved}), beside {text.source_name(self.source)} of "
            "the paper. Anchors: overlapping tokens with the largest sparsemax weights, five at "
            "most; with weight: how many have any; in common: how many of the paper's are among "
            "ours, of those that overlap here, marks of word starts aside."
        )

    def groups(self) -> dict[str, tuple[WordRow, ...]]:
        """Rows by group; those of the experiment's own words have no heading."""
        groups = {"": self.words, SAMPLED: self.sample}
        return {name: rows for name, rows in groups.items() if rows}


def build_neighbours(experiment: PlannedExperiment, results: Path) -> NeighboursTable:
    """Look the words of an experiment up, and draw its sample.

    Raises:
        LexigraftError: what the transfer stage wrote is missing or not what was written.
    """
    planned = experiment.neighbours
    assert planned is not None, "an experiment about words"
    tokens = read_tokens(results / "transfer" / planned.transfer)
    overlapping = {_unmarked(token) for token in tokens["partner"].dropna()}
    texts = [word.text for word in planned.words]
    return NeighboursTable(
        name=experiment.name,
        title=experiment.title,
        source=experiment.source,
        scale=experiment.scale,
        transfer=planned.transfer,
        moved=f"{planned.source} to {planned.target}",
        words=tuple(_row(neighbourhood(tokens, w.text), w, overlapping) for w in planned.words),
        sample=tuple(
            WordRow(drawn, Word(drawn.word))
            for drawn in sampled(tokens, planned.sample, planned.seed, without=texts)
        ),
        note=experiment.note,
    )


def _row(ours: Neighbourhood, reported: Word, overlapping: set[str]) -> WordRow:
    if not ours.anchors or not reported.anchors:
        return WordRow(ours, reported)
    papers = {_unmarked(token) for token, _ in reported.anchors}
    own = {_unmarked(token) for token, _ in ours.anchors}
    return WordRow(ours, reported, len(papers & own), len(papers & overlapping))


def _unmarked(token: str) -> str:
    return token.removeprefix("##").lstrip("Ġ▁")
