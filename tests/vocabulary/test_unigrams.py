"""Unigram priors counted by hand."""

import math

import pytest
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.training import train_tokenizer
from lexigraft.vocabulary.unigrams import count_unigrams


def tokenizer() -> PreTrainedTokenizerFast:
    return train_tokenizer("wordpiece", True, 60, ["the sea, the heat of the sea"] * 3)


def test_unigrams_are_counted_one_higher() -> None:
    uncased = tokenizer()
    found = count_unigrams(uncased, ["the sea the", "the"], len(uncased))
    vocabulary = uncased.get_vocab()
    tokens = found.tokens
    assert found.texts == 2
    assert tokens == 3 + len(uncased.tokenize("sea"))
    total = tokens + len(uncased)
    expected = {"the": 4 / total, "[PAD]": 1 / total, "[CLS]": 1 / total}
    for token, probability in expected.items():
        log_probability = float(found.log_probabilities[vocabulary[token]])
        assert math.exp(log_probability) == pytest.approx(probability, rel=1e-5)
    assert float(found.log_probabilities.exp().sum()) == pytest.approx(1, abs=1e-5)


def test_without_text_there_is_nothing_to_count() -> None:
    uncased = tokenizer()
    with pytest.raises(LexigraftError, match="no text"):
        count_unigrams(uncased, [], len(uncased))
