"""Semantic initialisation: the target's neighbourhoods, rebuilt in the source space (eq. 7-9)."""

import torch

from lexigraft.errors import LexigraftError
from lexigraft.progress import track
from lexigraft.transfer.initialisation.registry import (
    NEIGHBOURS,
    Material,
    Neighbours,
    NewRows,
    at_least_float32,
    strategy,
    weighted_rows,
)
from lexigraft.transfer.sparsemax import sparsemax

SCORES_IN_A_BLOCK = 1 << 24
"""Cosines held at once: 64 MiB. All of 13,000 new tokens to 17,000 anchors would be 900 MiB."""
DENSE_SHARE = 0.02
"""Share of weights above zero from which they are multiplied as a dense matrix."""


@strategy("semantic")
def semantic(material: Material) -> NewRows:
    """E'_t = sum_u alpha_tu E_u over all anchors u, alpha_t = sparsemax(cos(E~_t, E~_.)).

    A new token whose target row is zero has no direction and no neighbourhood: it is missing.

    Raises:
        LexigraftError: there are no target embeddings, or they lack rows or hold a value that is
            not finite.
    """
    overlap = material.overlap
    target = _checked_target(material)
    anchors_DM = torch.nn.functional.normalize(target[overlap.target_ids], dim=1).T.contiguous()
    new_ND = target[overlap.new_ids]
    anchors_MH = material.anchors
    M = len(anchors_MH)
    N, kept = len(new_ND), min(NEIGHBOURS, M)
    rows_NH = anchors_MH.new_zeros(N, anchors_MH.shape[1])
    support_N = torch.zeros(N, dtype=torch.int64)
    nearest_NK = torch.zeros(N, kept, dtype=torch.int64)
    weights_NK = torch.zeros(N, kept)
    directed = torch.nonzero(new_ND.norm(dim=1) > 0).squeeze(1)
    for rows in track(
        directed.split(max(1, SCORES_IN_A_BLOCK // M)), "semantic initialisation", unit="blocks"
    ):
        cosine_NM = torch.nn.functional.normalize(new_ND[rows], dim=1) @ anchors_DM
        alpha_NM = sparsemax(cosine_NM)
        # No weight is negative, so signs count those above zero; booleans sum half as fast.
        lengths = alpha_NM.sign().sum(1).long()
        rows_NH[rows] = _barycentres(alpha_NM, anchors_MH, lengths)
        heaviest = alpha_NM.topk(kept, dim=1)
        support_N[rows.cpu()] = lengths.cpu()
        nearest_NK[rows.cpu()] = overlap.source_ids[heaviest.indices.cpu()]
        weights_NK[rows.cpu()] = heaviest.values.float().cpu()
    neighbours = Neighbours(support_N, nearest_NK, weights_NK)
    return NewRows(rows_NH, support_N == 0, neighbours)


def _barycentres(
    alpha_NM: torch.Tensor, anchors_MH: torch.Tensor, lengths_N: torch.Tensor
) -> torch.Tensor:
    """Equation 9. Weights are few where target embeddings spread in all directions; where they
    share one, most cosines are close to each other and a plain product is faster."""
    if int(lengths_N.sum()) > DENSE_SHARE * alpha_NM.numel():
        return alpha_NM.to(anchors_MH.dtype) @ anchors_MH
    row, anchor = alpha_NM.nonzero(as_tuple=True)
    return weighted_rows(anchors_MH, anchor, alpha_NM[row, anchor], lengths_N)


def _checked_target(material: Material) -> torch.Tensor:
    embeddings = material.target_embeddings
    if embeddings is None:
        raise LexigraftError(
            "initialisation: semantic needs the target's embeddings; give a target model, or use "
            "subtoken for a vocabulary without one"
        )
    needed = torch.cat((material.overlap.target_ids, material.overlap.new_ids))
    if int(needed.max()) >= len(embeddings):
        raise LexigraftError(
            f"initialisation: the target's embeddings have {len(embeddings)} rows, its vocabulary "
            f"has ids up to {int(needed.max())}"
        )
    embeddings = at_least_float32(embeddings.detach()).to(material.source_embeddings.device)
    if not torch.isfinite(embeddings[needed]).all():
        raise LexigraftError("initialisation: the target's embeddings hold a value not finite")
    return embeddings
