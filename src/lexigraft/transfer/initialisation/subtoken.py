"""Sub-token initialisation: the mean of a new token's pieces in the source vocabulary."""

import torch

from lexigraft.errors import LexigraftError
from lexigraft.transfer.initialisation.registry import (
    Material,
    NewRows,
    at_least_float32,
    strategy,
    weighted_rows,
)


@strategy("subtoken")
def subtoken(material: Material) -> NewRows:
    """E'_t = mean of E over the source tokenizer's pieces of t (section 4.2.2).

    A token that the source cannot write is missing.

    Raises:
        LexigraftError: the pieces are not known.
    """
    if material.pieces is None:
        raise LexigraftError(
            "initialisation: subtoken needs source_tokenizer and target_tokenizer, or source_pieces"
        )
    pieces = [list(material.pieces.get(int(token), ())) for token in material.overlap.new_ids]
    lengths_N = torch.tensor([len(ids) for ids in pieces], dtype=torch.int64)
    ids = torch.tensor([token for ids in pieces for token in ids], dtype=torch.int64)
    used, indices = ids.unique(return_inverse=True)
    if not len(used):
        width = material.source_embeddings.shape[1]
        return NewRows(torch.zeros(len(pieces), width), lengths_N == 0)
    rows_UH = at_least_float32(material.source_embeddings[used]).cpu()
    rows_NH = weighted_rows(rows_UH, indices, torch.ones(len(ids)), lengths_N)
    return NewRows(rows_NH / lengths_N.clamp_min(1)[:, None], lengths_N == 0)
