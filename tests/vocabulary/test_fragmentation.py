"""Tokens to a word, counted by hand."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.fragmentation import count, fragmentation

PIECES = ["[UNK]", "[CLS]", "[SEP]", "benz", "##ene", "##oic", "acid", "of", ",", "the"]


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    """WordPiece with BERT's rules; it puts [CLS] and [SEP] around a text and cuts at 4 tokens."""
    ids = {piece: number for number, piece in enumerate(PIECES)}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    backend.enable_truncation(4)
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", model_max_length=4)


def test_tokens_to_a_word_by_hand(tokenizer: PreTrainedTokenizerFast) -> None:
    # benz ##ene , benz ##oic acid: six tokens of three words, the comma being of the first.
    assert count(tokenizer, ["Benzene, benzoic acid"]) == (6, 3)
    # Twice three more for `the acid of`: a text weighs by its words, not by being one text.
    texts = ["Benzene, benzoic acid", "the  acid\nof", "The acid of"]
    assert fragmentation(tokenizer, texts) == pytest.approx((6 + 3 + 3) / (3 + 3 + 3))


def test_counts_are_kept_for_one_tokenizer_and_its_texts(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    texts = ["Benzene, benzoic acid", "of"]
    assert fragmentation(tokenizer, texts, tmp_path) == pytest.approx(7 / 4)
    (kept,) = tmp_path.iterdir()
    # What is kept is what is read.
    kept.write_text('{"tokens": 8, "words": 4}')
    assert fragmentation(tokenizer, texts, tmp_path) == 2
    # Texts that are cut apart elsewhere are others, and so is another tokenizer.
    assert fragmentation(tokenizer, ["Benzene, benzoic", "acid of"], tmp_path) == pytest.approx(
        7 / 4
    )
    tokenizer.add_tokens(["benzoic"])
    assert fragmentation(tokenizer, texts, tmp_path) == pytest.approx(6 / 4)
    assert len(list(tmp_path.iterdir())) == 3
    # A file that a full disk has cut is made again.
    for path in tmp_path.iterdir():
        path.write_text("{")
    assert fragmentation(tokenizer, texts, tmp_path) == pytest.approx(6 / 4)


def test_an_empty_text_has_neither(tokenizer: PreTrainedTokenizerFast) -> None:
    assert count(tokenizer, ["", "  ", "acid"]) == (1, 1)
    with pytest.raises(LexigraftError, match="fragmentation: the texts have no word"):
        fragmentation(tokenizer, ["", " "])


def test_many_texts_are_read_in_batches(tokenizer: PreTrainedTokenizerFast) -> None:
    assert count(tokenizer, ("benzene acid" for _ in range(2345))) == (3 * 2345, 2 * 2345)
