"""Ranking losses, as pure functions of tensors.

Shapes: B queries, N documents of each query (the positive first, then its negatives), M documents
of a step together, D dimensions of a representation (the vocabulary or the hidden width).
"""

import torch
from torch import Tensor
from torch.nn import functional


def margin_mse(scores_BN: Tensor, teacher_BN: Tensor) -> Tensor:
    """MarginMSE: the student's margins approach the teacher's.

    The mean over queries and negatives of `((s_pos - s_neg) - (t_pos - t_neg))^2`.

    Source: Hofstätter et al. 2020, "Improving Efficient Neural Ranking Models with
    Cross-Architecture Knowledge Distillation" (the Margin-MSE loss).

    Args:
        scores_BN: student scores, the positive in column 0, at least one negative.
        teacher_BN: teacher scores in the same places.
    """
    _same_shape_with_negatives("margin_mse", scores_BN, teacher_BN)
    student_margin = scores_BN[:, :1] - scores_BN[:, 1:]
    teacher_margin = teacher_BN[:, :1] - teacher_BN[:, 1:]
    return functional.mse_loss(student_margin, teacher_margin)


def info_nce(
    query_BD: Tensor,
    document_MD: Tensor,
    target_B: Tensor,
    *,
    scale: float = 1.0,
    excluded_BM: Tensor | None = None,
) -> Tensor:
    """InfoNCE over every document of the step: cross entropy of `scale * q·d` at the positive.

    Documents of other queries are in-batch negatives, a query's own negatives are hard ones. Those
    marked in `excluded_BM` (a further positive of the query) take no part in its denominator.

    Source: van den Oord et al. 2018, "Representation Learning with Contrastive Predictive Coding",
    equation 4; in-batch negatives as in Karpukhin et al. 2020.

    Args:
        query_BD: query representations.
        document_MD: representations of all documents of the step.
        target_B: row of each query's positive in `document_MD`.
        scale: inverse temperature.
        excluded_BM: true where document m must not count as a negative of query b.
    """
    logits_BM = scale * (query_BD @ document_MD.T)
    if excluded_BM is not None:
        logits_BM = logits_BM.masked_fill(excluded_BM, float("-inf"))
    return functional.cross_entropy(logits_BM, target_B)


def kl_distillation(scores_BN: Tensor, teacher_BN: Tensor, *, scale: float = 1.0) -> Tensor:
    """Kullback-Leibler divergence of the student's distribution from the teacher's.

    The mean over queries of `KL(softmax(scale * t) || softmax(scale * s))`, in nats, over the
    documents of each query.

    Source: Lin et al. 2020, "Distilling Dense Representations for Ranking using Tightly-Coupled
    Teachers"; used for SPLADE by Lassance et al. 2024, "SPLADE-v3".

    Args:
        scores_BN: student scores.
        teacher_BN: teacher scores in the same places.
        scale: inverse temperature of both distributions.
    """
    _same_shape_with_negatives("kl_distillation", scores_BN, teacher_BN)
    return functional.kl_div(
        torch.log_softmax(scale * scores_BN, dim=1),
        torch.log_softmax(scale * teacher_BN, dim=1),
        reduction="batchmean",
        log_target=True,
    )


def _same_shape_with_negatives(name: str, scores_BN: Tensor, teacher_BN: Tensor) -> None:
    # Broadcasting (B, N) against (B,) or (B, 1) would train on the wrong margins without a word.
    if scores_BN.shape != teacher_BN.shape or scores_BN.ndim != 2 or scores_BN.shape[1] < 2:
        raise ValueError(
            f"{name} needs two (B, N) tensors with N >= 2, "
            f"not {tuple(scores_BN.shape)} and {tuple(teacher_BN.shape)}"
        )
