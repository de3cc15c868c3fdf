"""Prior-aware distribution alignment of the output bias (equation 10), and the priors it needs."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from transformers import PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.overlap import Overlap

TEXTS_IN_A_BATCH = 1000


def align_bias(source_bias: torch.Tensor, target_bias: torch.Tensor) -> torch.Tensor:
    """b' = mu(b_src) + sigma(b_src) * (b_tgt - mu(b_tgt)) / sigma(b_tgt)  (equation 10).

    Deviations are those of the whole vector (divided by n). A target without deviation tells
    nothing about its tokens: each gets mu(b_src).

    Args:
        source_bias: (V,) output bias of the source model, rows of real tokens only.
        target_bias: (V',) unigram priors of the target vocabulary, rows of real tokens only.

    Returns:
        (V',) in the type of `source_bias`.

    Raises:
        LexigraftError: an empty vector, or a value that is not a finite number.
    """
    for name, bias in (("source", source_bias), ("target", target_bias)):
        if bias.ndim != 1 or not bias.numel() or not torch.isfinite(bias).all():
            raise LexigraftError(
                f"{name} bias of shape {tuple(bias.shape)}: a vector of finite numbers is needed"
            )
    source, target = source_bias.double(), target_bias.double()
    deviation = target.std(correction=0)
    centred = target - target.mean()
    scores = centred / deviation if deviation > 0 else torch.zeros_like(target)
    return (source.mean() + source.std(correction=0) * scores).to(source_bias.dtype)


def own_bias(source_bias: torch.Tensor, overlap: Overlap) -> torch.Tensor:
    """Without alignment: (V',) each overlapping token's own bias, their mean for the others."""
    size = int(torch.cat([overlap.target_ids, overlap.new_ids]).max()) + 1
    kept = source_bias[overlap.source_ids]
    bias = torch.full((size,), float(kept.double().mean()), dtype=source_bias.dtype)
    bias[overlap.target_ids] = kept
    return bias


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
