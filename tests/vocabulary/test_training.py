"""Trained tokenizers behave as the real ones do."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.training import train_tokenizer

TEXTS = [
    "The heat of the Heat equation, heated and reheat: heat heat heat preheat reheat.",
    "Return the array; the DataFrame's values are heated. A café in the array!",
    "heat flows, heat stays. The values of the array, the values of the DataFrame.",
] * 3


def train(kind: str, lowercase: bool, size: int = 400, **options: str) -> PreTrainedTokenizerFast:
    return train_tokenizer(kind, lowercase, size, TEXTS, **options)  # type: ignore[arg-type]


def test_wordpiece_uncased() -> None:
    tokenizer = train("wordpiece", True)
    assert tokenizer.tokenize("Heat, CAFÉ") == ["heat", ",", "cafe"]
    assert "##heat" in tokenizer.get_vocab()
    assert tokenizer.tokenize("coheat") == ["c", "##o", "##heat"]
    assert tokenizer.convert_ids_to_tokens(range(5)) == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    assert all(token == token.lower() for token in list(tokenizer.get_vocab()) if token[0] != "[")


def test_wordpiece_cased() -> None:
    tokenizer = train("wordpiece", False)
    vocabulary = tokenizer.get_vocab()
    assert {"the", "The", "heat", "DataFrame"} <= set(vocabulary)
    assert tokenizer.tokenize("café") == ["café"]


def test_byte_bpe_marks_the_start_of_words() -> None:
    tokenizer = train("byte_bpe", False)
    vocabulary = tokenizer.get_vocab()
    assert {"heat", "Ġheat", "Ġthe", "The"} <= set(vocabulary)
    assert tokenizer.tokenize("heat heat") == ["heat", "Ġheat"]
    text = "Unseen ☃ symbols, kept: naïve."
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


def test_byte_bpe_lowercase_strips_case_and_accents() -> None:
    tokenizer = train("byte_bpe", True)
    assert tokenizer.tokenize("The CAFÉ") == tokenizer.tokenize("the cafe")


@pytest.mark.parametrize(
    ("kind", "lowercase", "specials"),
    [
        ("wordpiece", True, "bert"),
        ("wordpiece", False, "bert"),
        ("byte_bpe", False, "bert"),
        ("byte_bpe", False, "roberta"),
        ("byte_bpe", True, "bert"),
    ],
)
def test_training_is_repeatable_and_survives_saving(
    kind: str, lowercase: bool, specials: str, tmp_path: Path
) -> None:
    tokenizer = train(kind, lowercase, specials=specials)
    # The trainers use hash tables whose order differs between any two of them.
    assert all(
        train(kind, lowercase, specials=specials).get_vocab() == tokenizer.get_vocab()
        for _ in range(3)
    )
    assert len(tokenizer) <= 400
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = "The DataFrame's Heat, reheated: café 12"
    assert dict(loaded(text)) == dict(tokenizer(text))
    assert loaded.model_max_length == 512
    assert loaded.mask_token_id == tokenizer.mask_token_id


@pytest.mark.parametrize(
    ("name", "kind", "lowercase", "specials"),
    [
        ("bert-base-uncased", "wordpiece", True, "bert"),
        ("bert-base-cased", "wordpiece", False, "bert"),
        ("modernbert-base", "byte_bpe", False, "bert"),
        ("roberta-base", "byte_bpe", False, "roberta"),
    ],
)
def test_conventions_are_those_of_the_real_tokenizers(
    name: str, kind: str, lowercase: bool, specials: str, shared: Path
) -> None:
    real = AutoTokenizer.from_pretrained(shared / "tokenizers" / name)
    tokenizer = train(kind, lowercase, specials=specials)
    text = "The  array's\n HEAT, cafe\u0301!"
    for backend in ("normalizer", "pre_tokenizer"):
        ours, theirs = (getattr(t.backend_tokenizer, backend) for t in (tokenizer, real))
        method = "normalize_str" if backend == "normalizer" else "pre_tokenize_str"
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert getattr(ours, method)(text) == getattr(theirs, method)(text)
    for role in ("cls_token", "sep_token", "pad_token", "mask_token", "unk_token"):
        assert getattr(tokenizer, role) == getattr(real, role)
    for inputs in (("heat",), ("heat", "the")):
        ours, theirs = tokenizer(*inputs), real(*inputs)
        assert ours.tokens()[0] == theirs.tokens()[0]
        # As many special tokens, in the same places.
        assert ours.word_ids() == theirs.word_ids()
        assert ours.sequence_ids() == theirs.sequence_ids()
    assert set(tokenizer.model_input_names) == set(real.model_input_names)


def test_roberta_ids_come_first_where_positions_need_them() -> None:
    tokenizer = train("byte_bpe", False, specials="roberta")
    assert [tokenizer.cls_token_id, tokenizer.pad_token_id, tokenizer.sep_token_id] == [0, 1, 2]


@pytest.mark.parametrize(("kind", "needed"), [("wordpiece", r"\d+"), ("byte_bpe", "261")])
def test_size_below_the_alphabet(kind: str, needed: str) -> None:
    with pytest.raises(LexigraftError, match=rf"vocabulary_size: 20 .*need {needed}"):
        train(kind, False, size=20)


@pytest.mark.parametrize("texts", [[], ["", "  "]])
def test_no_text(texts: list[str]) -> None:
    with pytest.raises(LexigraftError, match="no text"):
        train_tokenizer("wordpiece", True, 100, texts)


def test_unknown_kind() -> None:
    with pytest.raises(LexigraftError, match="'unigram' found"):
        train("unigram", True)
