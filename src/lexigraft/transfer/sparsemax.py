"""Sparsemax: Euclidean projection of scores onto the probability simplex (equation 8).

Source: Martins and Astudillo, 2016, "From Softmax to Sparsemax", algorithm 1. N rows, M scores.
"""

import torch

from lexigraft.errors import LexigraftError

SORTED = (128, 1024)
"""How many of the largest scores are sorted, first of all rows, then of those for which it was too
few. Cosines to thousands of anchors leave some tens."""


def sparsemax(scores_NM: torch.Tensor) -> torch.Tensor:
    """argmin_p ||p - s||^2 over the simplex, for each row: p_i = max(s_i - tau, 0), sum(p) = 1.

    Exact: the largest scores are sorted, and where the threshold tau is not seen to lie above all
    the others, the row is solved by elimination. Rows are differentiable.
    `sparsemax([0, .5, 1]) = [0, .25, .75]`.

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
    least_N1, most_N1 = (f(scores_NM.detach(), -1, keepdim=True) for f in (torch.amin, torch.amax))
    # Both are NaN where a score of the row is: two fast passes instead of one of each score's own.
    if not (torch.isfinite(least_N1).all() and torch.isfinite(most_N1).all()):
        raise LexigraftError("sparsemax: a score is not a finite number")
    # The projection does not change when a row moves by a constant; sums stay small this way.
    scores_NM = scores_NM - most_N1
    return (scores_NM - _threshold(scores_NM)).clamp_min(0)


def _threshold(scores_NM: torch.Tensor) -> torch.Tensor:
    """tau of each row, (N, 1)."""
    flat_NM = scores_NM.reshape(-1, scores_NM.shape[-1])
    tau_N, certain_N = _threshold_among_largest(flat_NM, SORTED[0])
    for solve in (lambda rows_NM: _threshold_among_largest(rows_NM, SORTED[1]), _by_elimination):
        rest = torch.nonzero(~certain_N).squeeze(1)
        if len(rest):
            tau, certain = solve(flat_NM[rest])
            tau_N, certain_N = (
                tau_N.index_copy(0, rest, tau),
                certain_N.index_copy(0, rest, certain),
            )
    return tau_N.reshape(*scores_NM.shape[:-1], 1)


def _threshold_among_largest(
    scores_NM: torch.Tensor, kept: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """tau (N,) from the `kept` largest scores, and whether no other score can exceed it (N,)."""
    kept = min(kept, scores_NM.shape[-1])
    largest_NK = scores_NM.topk(kept, dim=-1).values
    ranks_K = torch.arange(1, kept + 1, device=scores_NM.device, dtype=scores_NM.dtype)
    sums_NK = largest_NK.cumsum(-1) - 1
    support_N1 = (largest_NK * ranks_K > sums_NK).sum(-1, keepdim=True)
    tau_N = (sums_NK.gather(-1, support_N1 - 1) / support_N1).squeeze(-1)
    if kept == scores_NM.shape[-1]:
        return tau_N, torch.ones_like(tau_N, dtype=torch.bool)
    return tau_N, largest_NK.detach()[:, -1] <= tau_N.detach()


def _by_elimination(scores_NM: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """tau (N,) for rows with many active scores, without sorting: those at or below the threshold
    of the scores still in play drop out until none does (Michelot, 1986). It is certain."""
    active_NM = torch.ones_like(scores_NM, dtype=torch.bool)
    count_N = active_NM.sum(-1)
    while True:
        kept_NM = torch.where(active_NM, scores_NM, 0)
        tau_N = (kept_NM.sum(-1, dtype=torch.float64) - 1) / count_N
        active_NM = scores_NM > tau_N[:, None].detach().to(scores_NM.dtype)
        left_N = active_NM.sum(-1)
        # Rounding could empty a row whose scores are all equal: its threshold stands.
        if bool(((left_N >= count_N) | (left_N == 0)).all()):
            return tau_N.to(scores_NM.dtype), torch.ones_like(tau_N, dtype=torch.bool)
        active_NM |= (left_N == 0)[:, None]
        count_N = active_NM.sum(-1)
