"""Fragmentation rate: tokens to a word (Vocabulary Transfer, section 6.6 and table 9)."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object, write_json
from lexigraft.vocabulary.token_cache import tokenizer_state, uncut_backend

TEXTS_IN_A_BATCH = 1000
FORMAT = "fragmentation 1"
"""Raised when what is counted changes."""


def fragmentation(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], cache: Path | None = None
) -> float:
    """Tokens of all texts, whole and without special tokens, divided by their words.

    A word is a run of characters between white space, so that punctuation belongs to the word that
    it stands at and every tokenizer is measured against the same words.

    Args:
        cache: folder where the counts are kept: many models share a tokenizer and a collection.

    Raises:
        LexigraftError: there is no word.
    """
    tokens, words = count(tokenizer, texts) if cache is None else _kept(tokenizer, texts, cache)
    if not words:
        raise LexigraftError("fragmentation: the texts have no word to count tokens of")
    return tokens / words


def _kept(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], cache: Path) -> tuple[int, int]:
    digest = hashlib.sha256(FORMAT.encode())
    digest.update(tokenizer_state(uncut_backend(tokenizer)).encode())
    for text in texts:
        digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
    path = cache / f"fragmentation-{digest.hexdigest()[:20]}.json"
    try:
        found = read_object(path)
        return int(found["tokens"]), int(found["words"])
    except (LexigraftError, KeyError, TypeError, ValueError):
        tokens, words = count(tokenizer, texts)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, {"tokens": tokens, "words": words})
    return tokens, words


def count(tokenizer: PreTrainedTokenizerFast, texts: Iterable[str]) -> tuple[int, int]:
    """Tokens, without special ones, and words of all texts."""
    tokens = words = 0
    stream = iter(texts)
    while batch := list(islice(stream, TEXTS_IN_A_BATCH)):
        found = tokenizer(batch, add_special_tokens=False, truncation=False, verbose=False)
        tokens += sum(map(len, found["input_ids"]))
        words += sum(len(text.split()) for text in batch)
    return tokens, words
