"""Sparsemax: Euclidean projection of scores onto the probability simplex (equation 8).

Source: Martins and Astudillo, 2016, "From Softmax to Sparsemax", algorithm 1. N rows, M scores.
"""

import torch

from lexigraft.errors import LexigraftError

FIRST_TRY = 256
"""Largest scores that are sorted at first. Cosines to thousands of anchors leave some tens."""


def sparsemax(scores_NM: torch.Tensor) -> torch.Tensor:
    """argmin_p ||p - s||^2 over the simplex, for each row: p_i = max(s_i - tau, 0), sum(p) = 1.

    Exact: the largest scores of a row are sorted until the threshold tau is seen to lie above all
    that were not. Rows are differentiable. `sparsemax([0, .5, 1]) = [0, .25, .75]`.

    Args:
        scores_NM: finite scores, any leading shape; the last axis is projected. Half precision
            and integers are computed, and returned, in float32.

    Raises:
        LexigraftError: no scores, or a score that is not a number.
    """
    scores_NM = torch.as_tensor(scores_NM)
    if scores_NM.dtype != torch.float64:
        scores_NM = scores_NM.float()
    if scores_NM.ndim == 0 or scores_NM.shape[-1] == 0:
        raise LexigraftError(f"sparsemax: {tuple(scores_NM.shape)} has no row to project")
    if not torch.isfinite(scores_NM).all():
        raise LexigraftError("sparsemax: a score is not a finite number")
    # The projection does not change when a row moves by a constant; sums stay small this way.
    scores_NM = scores_NM - scores_NM.detach().amax(-1, keepdim=True)
    return (scores_NM - _threshold(scores_NM)).clamp_min(0)


def _threshold(scores_NM: torch.Tensor) -> torch.Tensor:
    """tau of each row, (N, 1)."""
    flat_NM = scores_NM.reshape(-1, scores_NM.shape[-1])
    count = flat_NM.shape[-1]
    kept = min(FIRST_TRY, count)
    tau_N, whole_N = _threshold_among_largest(flat_NM, kept)
    while not whole_N.all():
        kept = min(kept * 4, count)
        rows = torch.nonzero(~whole_N).squeeze(1)
        tau_of_rows, whole_of_rows = _threshold_among_largest(flat_NM[rows], kept)
        tau_N = tau_N.index_copy(0, rows, tau_of_rows)
        whole_N = whole_N.index_copy(0, rows, whole_of_rows)
    return tau_N.reshape(*scores_NM.shape[:-1], 1)


def _threshold_among_largest(
    scores_NM: torch.Tensor, kept: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """tau (N,) from the `kept` largest scores, and whether no other score can exceed it (N,)."""
    largest_NK = scores_NM.topk(kept, dim=-1).values
    ranks_K = torch.arange(1, kept + 1, device=scores_NM.device, dtype=scores_NM.dtype)
    sums_NK = largest_NK.cumsum(-1) - 1
    support_N1 = (largest_NK * ranks_K > sums_NK).sum(-1, keepdim=True)
    tau_N = (sums_NK.gather(-1, support_N1 - 1) / support_N1).squeeze(-1)
    whole_N = largest_NK[:, -1] <= tau_N.detach()
    return tau_N, whole_N | torch.full_like(whole_N, kept == scores_NM.shape[-1])
