"""Which tokens fold onto which: SPARSEUP's rules, and its figure on the real tokenizer."""

from pathlib import Path

import pytest
import torch
from tiny_tokenizers import WORDPIECE_ROLES, byte_level, sentencepiece, wordpiece
from transformers import AutoTokenizer

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary import fold_map


def folded(tokenizer, **options) -> dict[str, str]:
    """Token to canonical token, for those that fold onto another."""
    names = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    found = fold_map(tokenizer, **options).tolist()
    return {names[i]: names[j] for i, j in enumerate(found) if i != j}


def test_case_and_word_starts_fold_onto_the_marked_lower_case() -> None:
    tokenizer = byte_level("Heat", "heat", " Heat", " heat", "sun")
    wanted = {"Heat": "Ġheat", "heat": "Ġheat", "ĠHeat": "Ġheat"}
    assert folded(tokenizer) == wanted


def test_without_the_marked_form_the_bare_one_and_then_a_cased_one() -> None:
    assert folded(byte_level("NASA", " Sun", "sun", " NASA")) == {"ĠSun": "sun", "NASA": "ĠNASA"}


def test_case_alone_keeps_word_starts_apart() -> None:
    tokenizer = byte_level("Heat", "heat", " Heat", " heat")
    assert folded(tokenizer, positions=False) == {"Heat": "heat", "ĠHeat": "Ġheat"}


def test_accents_fold_only_where_they_are_asked_for() -> None:
    tokenizer = byte_level(" café", " cafe", " Café", " cafe\u0301")
    assert folded(tokenizer) == {"ĠCafÃ©": "ĠcafÃ©", "ĠcafeÌģ": "ĠcafÃ©"}
    assert set(folded(tokenizer, accents=True).values()) == {"Ġcafe"}
    assert len(folded(tokenizer, accents=True)) == 3


def test_other_families_fold_too() -> None:
    assert folded(wordpiece("Heat", "heat", "##heat")) == {"Heat": "heat", "##heat": "heat"}
    assert folded(sentencepiece("▁Heat", "heat", "▁heat")) == {"▁Heat": "▁heat", "heat": "▁heat"}


def test_special_tokens_and_bytes_stay_alone() -> None:
    assert folded(byte_level("<S>", b"\xc3", b"\xe2")) == {}
    assert folded(wordpiece("[cls]")) == {}
    combining = wordpiece("\u0301", "\u0300")
    assert folded(combining, accents=True) == {}


def test_rows_beyond_the_tokenizer_are_their_own() -> None:
    tokenizer = wordpiece("Heat", "heat")
    first = len(WORDPIECE_ROLES)
    found = fold_map(tokenizer, size=first + 4)
    assert found.dtype == torch.int64
    assert found.tolist()[first:] == [first + 1, first + 1, first + 2, first + 3]
    with pytest.raises(LexigraftError, match="a vocabulary of 3 rows does not hold"):
        fold_map(tokenizer, size=3)


@pytest.mark.parametrize("name", ["modernbert-base", "roberta-base", "bert-base-cased"])
def test_a_map_is_stable_under_itself(name: str, shared: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(shared / "tokenizers" / name)
    found = fold_map(tokenizer)
    assert torch.equal(found[found], found)
    case = fold_map(tokenizer, positions=False)
    # What case alone merges is merged with word starts, too.
    assert torch.equal(found[case], found)


def test_sparseups_figure(shared: Path) -> None:
    """It folds ModernBERT's 50k entries to around 34k; 33,702 here."""
    tokenizer = AutoTokenizer.from_pretrained(shared / "tokenizers" / "modernbert-base")
    assert round(len(fold_map(tokenizer).unique()), -3) == 34000


def test_an_uncased_vocabulary_has_no_case_to_fold(shared: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(shared / "tokenizers" / "bert-base-uncased")
    assert fold_map(tokenizer, positions=False).tolist() == list(range(30522))
