"""Overlap of vocabularies: the paper's three figures, and each rule on a vocabulary made for it."""

from pathlib import Path

import pytest
from tiny_tokenizers import BPE_ROLES, WORDPIECE_ROLES, byte_level, sentencepiece, wordpiece
from tokenizers import AddedToken, Tokenizer, models, normalizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary import overlap
from lexigraft.vocabulary.pieces import Piece, Pieces


def pairs(source: PreTrainedTokenizerFast, target: PreTrainedTokenizerFast) -> dict[str, str]:
    """Target token to source token, special tokens left out."""
    shared = overlap(source, target)
    named = zip(
        target.convert_ids_to_tokens(shared.target_ids.tolist()),
        source.convert_ids_to_tokens(shared.source_ids.tolist()),
        strict=True,
    )
    return {t: s for t, s in named if t not in WORDPIECE_ROLES + BPE_ROLES}


@pytest.fixture(scope="module")
def real(shared: Path) -> dict[str, PreTrainedTokenizerFast]:
    folder = shared / "tokenizers"
    names = ("modernbert-base", "roberta-base", "bert-base-cased", "bert-base-uncased")
    return {name: AutoTokenizer.from_pretrained(folder / name) for name in names}


@pytest.mark.parametrize(
    ("source", "percent"),
    [("modernbert-base", 56.4), ("roberta-base", 59.6), ("bert-base-cased", 60.9)],
)
def test_the_papers_figures(source: str, percent: float, real) -> None:
    found = overlap(real[source], real["bert-base-uncased"])
    assert round(100 * found.coverage, 1) == percent
    ids = found.target_ids.tolist() + found.new_ids.tolist()
    assert sorted(ids) == list(range(30522))
    assert found.target_ids.tolist() == sorted(found.target_ids.tolist())


def test_position_decides_between_two_forms_of_a_word() -> None:
    source = byte_level("heat", " heat", " sun", "sea")
    assert pairs(source, wordpiece("heat", "##heat", "sun", "##sun", "sea", "##sea")) == {
        "heat": "Ġheat",
        "##heat": "heat",
        "sun": "Ġsun",
        "##sea": "sea",
    }


def test_case_is_part_of_a_token() -> None:
    assert pairs(byte_level(" Heat", " heat"), wordpiece("heat")) == {"heat": "Ġheat"}
    assert pairs(byte_level(" Heat"), wordpiece("heat")) == {}


def test_a_symbol_may_pair_with_either_form_and_a_digit_may_not() -> None:
    source = byte_level(".", " .", " (", "7", " 8", "…")
    assert pairs(source, wordpiece(".", "##.", "(", "##(", "7", "##7", "8", "##8", "…")) == {
        ".": ".",
        "##.": ".",
        "(": "Ġ(",
        "##(": "Ġ(",
        "##7": "7",
        "8": "Ġ8",
        "…": "âĢ¦",
    }


def test_where_both_mark_positions_alike_a_symbol_prefers_its_own_form() -> None:
    assert pairs(byte_level(".", " ."), byte_level(".", " .")) == {".": ".", "Ġ.": "Ġ."}
    assert pairs(wordpiece("-", "##-"), wordpiece("-", "##-")) == {"-": "-", "##-": "##-"}
    assert pairs(wordpiece("-", "##-"), byte_level("-", " -")) == {"-": "-", "Ġ-": "-"}


def test_a_vowel_sign_is_part_of_a_word() -> None:
    assert pairs(byte_level("ा"), wordpiece("ा", "##ा")) == {"##ा": "à¤¾"}


def test_bytes_that_are_no_text_never_pair() -> None:
    source = byte_level(b"\xe2", b"\xc3", b" \xc3", " é", "日"[:1])
    assert pairs(source, byte_level(b"\xe2", b"\xc3", b" \xc3", " é", "日")) == {
        "ĠÃ©": "ĠÃ©",
        "æĹ¥": "æĹ¥",
    }


def test_accents_pair_composed_or_decomposed() -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    for ours in (composed, decomposed):
        for theirs in (composed, decomposed):
            source = byte_level(" " + ours, ours, " cafe")
            shared = overlap(source, wordpiece(theirs, "##" + theirs))
            assert shared.source_ids.tolist()[-2:] == [5, 6]


def test_of_two_spellings_the_one_written_alike_pairs() -> None:
    source = wordpiece("caf\u00e9", "cafe\u0301")
    assert pairs(source, wordpiece("cafe\u0301")) == {"cafe\u0301": "cafe\u0301"}


def test_special_tokens_pair_by_role() -> None:
    source, target = byte_level(" heat"), wordpiece("heat")
    shared = overlap(source, target)
    assert dict(zip(shared.target_ids.tolist(), shared.source_ids.tolist(), strict=True)) == {
        target.pad_token_id: source.pad_token_id,
        target.unk_token_id: source.unk_token_id,
        target.cls_token_id: source.cls_token_id,
        target.sep_token_id: source.sep_token_id,
        target.mask_token_id: source.mask_token_id,
        5: 5,
    }
    assert shared.coverage == 1


def test_tokens_added_beside_the_model_pair_among_themselves() -> None:
    unused = AddedToken("[unused0]", special=False)
    other = AddedToken("<|end|>", special=True)
    source = byte_level(" heat", add=(unused, other))
    assert pairs(source, wordpiece("[unused0]", "<|end|>")) == {}
    assert pairs(source, byte_level(" heat", add=(unused, other))) == {
        "Ġheat": "Ġheat",
        "[unused0]": "[unused0]",
        "<|end|>": "<|end|>",
    }


def test_sentencepiece_marks_words_too() -> None:
    source = sentencepiece("▁heat", "heat", "▁.", "<0x41>", "<0xE9>", "▁")
    assert pairs(source, wordpiece("heat", "##heat", ".", "##A", "##é")) == {
        "heat": "▁heat",
        "##heat": "heat",
        ".": "▁.",
        "##A": "<0x41>",
    }
    assert pairs(wordpiece("heat", "##heat"), source) == {"▁heat": "heat", "heat": "##heat"}


def test_wordpiece_to_wordpiece() -> None:
    source = wordpiece("Heat", "heat", "##ing", "##er")
    target = wordpiece("heat", "##ing", "##s", "heater")
    assert pairs(source, target) == {"heat": "heat", "##ing": "##ing"}


def test_what_a_piece_is_cut_into() -> None:
    words = Pieces(wordpiece("heat", "##ing", "##s", "sun", "'", "s"))
    assert words.cut(Piece("heating", "initial")) == [5, 6]
    assert words.cut(Piece("ings", "inside")) == [6, 7]
    assert words.cut(Piece("'s", "initial")) == [9, 10]
    assert words.cut(Piece("moon", "initial")) == []
    assert words.cut(Piece("moon", "special")) == []
    marked = Pieces(sentencepiece("▁heat", "heat", "ing"))
    assert marked.cut(Piece("heating", "initial")) == [5, 7]
    assert marked.cut(Piece("heating", "inside")) == [6, 7]


def test_the_papers_sub_tokens(real) -> None:
    """Table 4, from ModernBERT's own tokenizer."""
    pieces = Pieces(real["modernbert-base"])
    for word, expected in {
        "collaborations": ["Ġcollabor", "ations"],
        "nationalists": ["Ġnational", "ists"],
        "clears": ["Ġcle", "ars"],
        "centimetres": ["Ġcent", "imet", "res"],
    }.items():
        assert [pieces.tokens[i] for i in pieces.cut(Piece(word, "initial"))] == expected


def test_pieces_are_cut_as_the_tokenizer_cuts_text(real) -> None:
    words = ["heat", "symmetric", "Überraschung", "don", "1984", "naïveté", "x"]
    for name, tokenizer in real.items():
        pieces = Pieces(tokenizer)
        for word in words:
            expected = tokenizer(" " + word, add_special_tokens=False)["input_ids"]
            assert pieces.cut(Piece(word, "initial")) == expected, (name, word)


def test_a_token_is_shown_with_its_mark_and_its_text() -> None:
    pieces = Pieces(byte_level(" é", "é", b"\xc3", " ", "\n"))
    assert [pieces.shown(i) for i in range(5, 10)] == ["Ġé", "é", "Ã", "Ġ", "Ċ"]


def test_tokenizers_that_do_not_tell_where_words_start_are_refused() -> None:
    suffixed = Tokenizer(models.BPE({"a</w>": 0}, merges=[], end_of_word_suffix="</w>"))
    bare = Tokenizer(models.BPE({"a": 0}, merges=[]))
    bare.normalizer = normalizers.NFC()
    for backend, message in ((suffixed, "where words end"), (bare, "does not tell")):
        with pytest.raises(LexigraftError, match=message):
            overlap(PreTrainedTokenizerFast(tokenizer_object=backend), wordpiece("a"))
