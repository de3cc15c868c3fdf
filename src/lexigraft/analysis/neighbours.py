"""What became of a word in a transfer: its sub-tokens, its nearest anchors (table 4).

Read from the table of all target tokens that the transfer stage writes; nothing is computed again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from lexigraft.errors import LexigraftError

TOKENS = "tokens.parquet"
"""File of the transfer stage with one record for each target token."""
COLUMNS = (
    "id",
    "token",
    "text",
    "place",
    "partner",
    "sub_tokens",
    "anchors",
    "weights",
    "support",
)
"""Id and form in the target; text and place (as of a `Piece`); the source token that an overlapping
one is copied from; of a new one the source's sub-tokens, its heaviest anchors with their weights in
order, and how many anchors have weight. Null or empty where there is none."""
SHORTEST_SAMPLE = 4
"""Sampled new tokens start a word and have at least so many letters, so that they read well."""

Fate = Literal["new", "overlapping", "no token"]


@dataclass(frozen=True)
class Neighbourhood:
    """A word in the target's vocabulary, and what its row was made from."""

    word: str
    fate: Fate
    """No token: the target's vocabulary has no token that is the whole word and starts it."""
    token: str = ""
    """As the target writes it."""
    partner: str = ""
    """The source's token that an overlapping one is copied from."""
    sub_tokens: tuple[str, ...] = ()
    """Of a new token, in the source's vocabulary."""
    anchors: tuple[tuple[str, float], ...] = ()
    """Of a new token: (source token, weight), the heaviest first."""
    support: int | None = None
    """How many anchors have weight."""


def read_tokens(folder: Path) -> pd.DataFrame:
    """The target's tokens in the order of their ids, from a folder of the transfer stage.

    Raises:
        LexigraftError: the file is missing, unreadable or has other columns.
    """
    path = folder / TOKENS
    remedy = f"remove {folder} and make it again"
    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise LexigraftError(f"{path}: no such file; {remedy}") from None
    except (OSError, ValueError) as error:
        raise LexigraftError(f"{path}: not readable as Parquet ({error}); {remedy}") from None
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        raise LexigraftError(f"{path}: no column {missing[0]!r}; {remedy}")
    return frame


def neighbourhood(tokens: pd.DataFrame, word: str) -> Neighbourhood:
    """Look a word up among the tokens that start a word.

    Args:
        tokens: as `read_tokens` gives them.
        word: as the target's vocabulary writes it.
    """
    found = tokens[(tokens["text"] == word) & (tokens["place"] == "initial")]
    if found.empty:
        return Neighbourhood(word, "no token")
    return _of_record(word, found.iloc[0])


def sampled(
    tokens: pd.DataFrame, count: int, seed: int, without: Sequence[str] = ()
) -> list[Neighbourhood]:
    """New tokens drawn at random, in the order of their ids; all where there are fewer.

    Args:
        tokens: as `read_tokens` gives them.
        count: how many.
        seed: which.
        without: words that are not drawn.
    """
    words = tokens[tokens["partner"].isna() & (tokens["place"] == "initial")]
    text = words["text"]
    words = words[text.str.isalpha() & (text.str.len() >= SHORTEST_SAMPLE) & ~text.isin(without)]
    chosen = np.random.default_rng(seed).choice(len(words), min(count, len(words)), replace=False)
    return [_of_record(words.iloc[i]["text"], words.iloc[i]) for i in sorted(chosen)]


def _of_record(word: str, record: Any) -> Neighbourhood:
    if isinstance(record["partner"], str):
        return Neighbourhood(word, "overlapping", record["token"], partner=record["partner"])
    pairs = zip(record["anchors"], record["weights"], strict=True)
    return Neighbourhood(
        word,
        "new",
        record["token"],
        sub_tokens=tuple(record["sub_tokens"]),
        anchors=tuple((anchor, float(weight)) for anchor, weight in pairs),
        support=None if pd.isna(record["support"]) else int(record["support"]),
    )
