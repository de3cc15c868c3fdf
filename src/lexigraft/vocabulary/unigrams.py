"""Unigram priors: how often a text uses each entry of a vocabulary."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from transformers import PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError

TEXTS_IN_A_BATCH = 1000


@dataclass(frozen=True, eq=False)
class Unigrams:
    """Priors counted in a text."""

    log_probabilities: torch.Tensor
    """(V',) natural logarithm of (count + 1) / (tokens + V')."""
    tokens: int
    texts: int


def count_unigrams(tokenizer: PreTrainedTokenizerBase, texts: Iterable[str], size: int) -> Unigrams:
    """Log unigram frequencies of `texts` over `size` ids, each count one higher than seen.

    Raises:
        LexigraftError: there is no text.
    """
    counts: Counter[int] = Counter()
    total = 0
    for batch in _batches(iter(texts)):
        total += len(batch)
        for ids in tokenizer(batch, add_special_tokens=False, verbose=False)["input_ids"]:
            counts.update(ids)
    if not counts:
        raise LexigraftError("unigram frequencies: there is no text to count tokens in")
    tokens = counts.total()
    smoothed = torch.ones(size, dtype=torch.float64)
    seen = sorted(counts)
    smoothed[seen] += torch.tensor([counts[token_id] for token_id in seen], dtype=torch.float64)
    return Unigrams((smoothed / (tokens + size)).log().float(), tokens, total)


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    while batch := list(islice(texts, TEXTS_IN_A_BATCH)):
        yield batch
