"""Prior-aware distribution alignment of the output bias (equation 10), and its absence."""

import torch

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.overlap import Overlap


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
