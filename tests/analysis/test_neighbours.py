"""Words are looked up in a table of tokens that was written by hand."""

from pathlib import Path

import pandas as pd
import pytest

from lexigraft.analysis.neighbours import (
    TOKENS,
    Neighbourhood,
    neighbourhood,
    read_tokens,
    sampled,
)
from lexigraft.errors import LexigraftError
from tiny_tokens import write_tokens


@pytest.fixture
def tokens(tmp_path: Path) -> pd.DataFrame:
    return read_tokens(write_tokens(tmp_path, "moved"))


def test_a_new_token_has_sub_tokens_and_anchors(tokens: pd.DataFrame) -> None:
    assert neighbourhood(tokens, "clears") == Neighbourhood(
        "clears",
        "new",
        "clears",
        sub_tokens=("Ġcle", "ars"),
        anchors=(("Ġcleared", 0.5), ("clear", 0.3), ("a|b", 0.2)),
        support=3,
    )


def test_other_words_are_said_to_be_what_they_are(tokens: pd.DataFrame) -> None:
    found = neighbourhood(tokens, "heat")
    assert found == Neighbourhood("heat", "overlapping", "heat", partner="Ġheat")
    assert neighbourhood(tokens, "collaborations") == Neighbourhood("collaborations", "no token")
    # `##ears` goes on with a word and starts none; a special token is no word.
    assert neighbourhood(tokens, "ears").fate == "no token"
    assert neighbourhood(tokens, "[CLS]").fate == "no token"
    assert neighbourhood(tokens, "lost").support == 0


def test_a_sample_is_of_new_words_that_read_well(tokens: pd.DataFrame) -> None:
    # Not: overlapping, inside a word, of fewer than four letters, or left out.
    assert [drawn.word for drawn in sampled(tokens, 10, seed=1)] == ["clears", "metres", "lost"]
    others = sampled(tokens, 10, seed=1, without=["clears", "heat"])
    assert [drawn.word for drawn in others] == ["metres", "lost"]
    assert sampled(tokens, 0, seed=1) == []
    one = {sampled(tokens, 1, seed=seed)[0].word for seed in range(20)}
    assert one == {"clears", "metres", "lost"}
    assert sampled(tokens, 2, seed=3) == sampled(tokens, 2, seed=3)


def test_a_table_that_is_not_there_or_another_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "transfer" / "old"
    folder.mkdir(parents=True)
    with pytest.raises(LexigraftError, match=r"tokens\.parquet: no such file; remove .*old and"):
        read_tokens(folder)
    (folder / TOKENS).write_bytes(b"PAR")
    with pytest.raises(LexigraftError, match="not readable as Parquet"):
        read_tokens(folder)
    pd.DataFrame({"id": [1]}).to_parquet(folder / TOKENS)
    with pytest.raises(LexigraftError, match="no column 'token'"):
        read_tokens(folder)
