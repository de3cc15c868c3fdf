"""Sparsity regularisers, as pure functions of non-negative representations.

Shapes: N representations, V vocabulary; B queries of a step with P documents each (the positive
first, then its negatives).
"""

from typing import get_args

import torch
from torch import Tensor

from lexigraft.errors import LexigraftError
from lexigraft.specs.options import FlopsConvention


def flops(rep_NV: Tensor) -> Tensor:
    """FLOPS: the sum over the vocabulary of the squared mean activation.

    `sum_v (mean_n |w_nv|)^2`, a smooth form of the expected number of multiplications that scoring
    a pair takes.

    Source: Paria et al. 2020, "Minimizing FLOPs to Learn Efficient Sparse Representations";
    Formal et al. 2021, "SPLADE", equation 4.
    """
    return rep_NV.abs().mean(dim=0).square().sum()


def document_flops(rep_BPV: Tensor, convention: FlopsConvention, l0_threshold: int = 0) -> Tensor:
    """FLOPS of a step's documents under a named convention, l0-masked if the threshold is above 0.

    Public code bases differ here, and so does what the same lambda_d means:

    - `mean_positive_negative`: the mean of F(positives) and of F of each position of negatives, as
      in naver/splade;
    - `all_documents`: F over all documents of the step together, as in sentence-transformers;
    - `per_position_sum`: F of each position, summed: P times the first, as in the code of Shen et
      al. 2025.

    Args:
        rep_BPV: representations of the documents of each query, the positive at position 0.
        convention: one of the names above.
        l0_threshold: documents with at most so many active terms are left alone (`l0_flops`).

    Raises:
        LexigraftError: the convention has another name.
    """
    rep_BPV = l0_masked(rep_BPV, l0_threshold)
    if convention == "all_documents":
        return flops(rep_BPV.flatten(0, 1))
    per_position_P = rep_BPV.abs().mean(dim=0).square().sum(dim=1)
    if convention == "mean_positive_negative":
        return per_position_P.mean()
    if convention == "per_position_sum":
        return per_position_P.sum()
    allowed = ", ".join(get_args(FlopsConvention))
    raise LexigraftError(f"flops_convention: found {convention!r}, allowed are {allowed}")


def l0_flops(rep_NV: Tensor, threshold: int) -> Tensor:
    """FLOPS that leaves representations with at most `threshold` active terms alone.

    They count as zeros in the mean, so the number of representations still divides. A threshold of
    0 is plain FLOPS.

    Source: Shen et al. 2025, "Exploring l0 Sparsification for Inference-free Sparse Retrievers"
    (the l0 mask loss).
    """
    return flops(l0_masked(rep_NV, threshold))


def l0_masked(rep: Tensor, threshold: int) -> Tensor:
    """Representations (..., V), those with at most `threshold` active terms replaced by zeros."""
    if threshold == 0:
        return rep
    penalised = (rep != 0).sum(dim=-1, keepdim=True) > threshold
    return torch.where(penalised, rep, 0.0)


def l1(rep_NV: Tensor) -> Tensor:
    """The mean over representations of their summed activation, `mean_n sum_v |w_nv|`.

    Source: Zamani et al. 2018 (SNRM); the alternative to FLOPS in Formal et al. 2021, "SPLADE".
    """
    return rep_NV.abs().sum(dim=1).mean()
