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

SCORES_IN_A_BLOCK = 1 << 22
"""Cosines held at once: 16 MiB, which the allocator keeps and need not ask for again. All of 13,000
new tokens to 17,000 anchors would be 900 MiB."""
DENSE_SHARE = 0.02
"""Share of weights above zero from which they are multiplied as a dense matrix (equation 9): few
are where target embeddings spread in all directions; where they share one, most cosines are close
to each other and a plain product is faster."""


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
        row, anchor = alpha_NM.nonzero(as_tuple=True)
        lengths = row.bincount(minlength=len(rows))
        if len(row) > DENSE_SHARE * alpha_NM.numel():
            rows_NH[rows] = alpha_NM.to(anchors_MH.dtype) @ anchors_MH
        else:
            rows_NH[rows] = weighted_rows(anchors_MH, anchor, alpha_NM[row, anchor], lengths)
        anchors, weights = _heaviest(row, anchor, alpha_NM[row, anchor], lengths, kept)
        support_N[rows.cpu()] = lengths.cpu()
        nearest_NK[rows.cpu()] = overlap.source_ids[anchors.cpu()]
        weights_NK[rows.cpu()] = weights.float().cpu()
    neighbours = Neighbours(support_N, nearest_NK, weights_NK)
    return NewRows(rows_NH, support_N == 0, neighbours)


def _heaviest(
    row: torch.Tensor, anchor: torch.Tensor, alpha: torch.Tensor, lengths_N: torch.Tensor, kept: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The `kept` heaviest anchors of each row and their weights, (N, kept), anchor 0 and weight 0
    where there are fewer, from the coordinates of the weights above zero in the order of rows."""
    place = torch.arange(len(row), device=row.device) - (lengths_N.cumsum(0) - lengths_N)[row]
    shape = (len(lengths_N), max([kept, *lengths_N.tolist()]))
    anchors, weights = anchor.new_zeros(shape), alpha.new_zeros(shape)
    anchors[row, place], weights[row, place] = anchor, alpha
    heaviest = weights.topk(kept, dim=1)
    return anchors.gather(1, heaviest.indices), heaviest.values


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
