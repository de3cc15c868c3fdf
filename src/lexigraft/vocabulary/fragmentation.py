"""Fragmentation rate: tokens to a word (Vocabulary Transfer, section 6.6 and table 9)."""

from collections.abc import Iterable
from itertools import islice

from transformers import PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError

TEXTS_IN_A_BATCH = 1000


def fragmentation(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]) -> float:
    """Tokens of all texts, whole and without special tokens, divided by their words.

    A word is a run of characters between white space, so that punctuation belongs to the word that
    it stands at and every tokenizer is measured against the same words.

    Raises:
        LexigraftError: there is no word.
    """
    tokens, words = count(tokenizer, texts)
    if not words:
        raise LexigraftError("fragmentation: the texts have no word to count tokens of")
    return tokens / words


def count(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str]) -> tuple[int, int]:
    """Tokens, without special ones, and words of all texts."""
    tokens = words = 0
    stream = iter(texts)
    while batch := list(islice(stream, TEXTS_IN_A_BATCH)):
        found = tokenizer(batch, add_special_tokens=False, truncation=False, verbose=False)
        tokens += sum(map(len, found["input_ids"]))
        words += sum(len(text.split()) for text in batch)
    return tokens, words
