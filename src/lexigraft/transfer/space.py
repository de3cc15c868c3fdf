"""The target's tokens in the embedding space of another model (an option that the paper lacks)."""

from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError
from lexigraft.transfer.initialisation.initialise import sub_tokens
from lexigraft.vocabulary.overlap import pair_pieces
from lexigraft.vocabulary.pieces import Pieces, name_of


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of the target's tokens in a space that semantic initialisation may compare them in."""

    embeddings: torch.Tensor
    """(V', D) float32; zero for a token that cannot be written in the other vocabulary."""
    own: int
    """Tokens that are tokens of the other vocabulary too."""
    written: int
    """Tokens that are the mean of the rows of their sub-tokens."""
    absent: int
    """Tokens without a row."""


@torch.no_grad()
def space_of(
    model: PreTrainedModel | None, tokenizer: PreTrainedTokenizerBase, target: Pieces
) -> Space:
    """Place the target's tokens in the input embeddings of another model.

    A token that both vocabularies have (`overlap`) has its row there; another one has the mean of
    the rows of the sub-tokens that write it.

    Raises:
        LexigraftError: a vocabulary without a model, rows that are too few or not finite, or no
            token in common.
    """
    name = name_of(tokenizer)
    if model is None:
        raise LexigraftError(f"{name}: a vocabulary without a model has no embedding space")
    known = Pieces(tokenizer)
    shared = pair_pieces(known, target)
    if not len(shared.target_ids):
        raise LexigraftError(f"{name}: shares no token with the target, so it is no space for it")
    rows = model.get_input_embeddings().weight.detach().float()
    if max(known.pieces) >= len(rows):
        raise LexigraftError(
            f"{name}: its embeddings have {len(rows)} rows, its vocabulary has ids up to "
            f"{max(known.pieces)}"
        )
    if not torch.isfinite(rows[list(known.pieces)]).all():
        raise LexigraftError(f"{name}: its embeddings hold a value not finite")
    embeddings = rows.new_zeros(target.size, rows.shape[1])
    embeddings[shared.target_ids] = rows[shared.source_ids]
    pieces = {new: ids for new, ids in sub_tokens(known, target, shared).items() if ids}
    for new, ids in pieces.items():
        embeddings[new] = rows[ids].mean(0)
    return Space(
        embeddings=embeddings,
        own=len(shared.target_ids),
        written=len(pieces),
        absent=len(shared.new_ids) - len(pieces),
    )
