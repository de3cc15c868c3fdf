"""What a fine-tuning step minimises: a ranking loss and, for sparse heads, FLOPS of both sides.

Shapes: B queries, P documents of each (the positive first), M = B * P, D dimensions.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from lexigraft.specs.options import DISTILLING, FinetuneOptions
from lexigraft.training.losses import info_nce, kl_distillation, margin_mse
from lexigraft.training.regularisers import document_flops, flops
from lexigraft.training.schedules import quadratic_ramp


@dataclass(frozen=True)
class StepLoss:
    """The loss of a step and the parts that it is the weighted sum of."""

    total: Tensor
    parts: dict[str, Tensor]
    """Unweighted losses and penalties by name."""
    weights: dict[str, float]
    """Weight of each part at this step."""


def step_loss(
    options: FinetuneOptions,
    step: int,
    query_BD: Tensor,
    document_MD: Tensor,
    *,
    target_B: Tensor,
    excluded_BM: Tensor | None = None,
    teacher_BP: Tensor | None = None,
) -> StepLoss:
    """Loss of one step over all its texts.

    Args:
        options: objective, weights, convention and ramp.
        step: optimiser step, from 1.
        query_BD: representations of all queries.
        document_MD: representations of all documents, those of a query side by side.
        target_B: row of each query's positive in `document_MD`.
        excluded_BM: further positives, which are no negatives of the query.
        teacher_BP: teacher scores; needed by the distilling objectives.
    """
    query_BD, document_MD = query_BD.float(), document_MD.float()
    document_BPD = document_MD.view(len(query_BD), -1, document_MD.shape[1])
    parts: dict[str, Tensor] = {}
    weights: dict[str, float] = {}
    if options.objective in DISTILLING:
        assert teacher_BP is not None
        scores_BP = torch.einsum("bd,bpd->bp", query_BD, document_BPD)
        if options.objective == "kl":
            parts["kl"] = kl_distillation(scores_BP, teacher_BP, scale=options.score_scale)
            weights["kl"] = 1.0
        else:
            parts["margin_mse"] = margin_mse(scores_BP, teacher_BP)
            weights["margin_mse"] = 1.0
    if options.objective in ("info_nce", "margin_mse+info_nce"):
        parts["info_nce"] = info_nce(
            query_BD, document_MD, target_B, scale=options.score_scale, excluded_BM=excluded_BM
        )
        weights["info_nce"] = 1.0 if options.objective == "info_nce" else options.info_nce_weight
    if options.head == "splade":
        penalties = {}
        # A bag of tokens is as long as its query is: there is nothing to regularise.
        if options.query_encoder == "model":
            penalties["flops_query"] = flops(query_BD)
        penalties["flops_document"] = document_flops(
            document_BPD, options.flops_convention, options.l0_threshold
        )
        for name, penalty in penalties.items():
            parts[name] = penalty
            weights[name] = quadratic_ramp(step, getattr(options, name), options.flops_ramp_steps)
    total = torch.stack([weights[name] * part for name, part in parts.items()]).sum()
    return StepLoss(total, parts, weights)
