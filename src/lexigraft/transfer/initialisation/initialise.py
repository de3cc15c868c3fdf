"""The embedding matrix of the target vocabulary in the source space (section 4.2.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from transformers import PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError
from lexigraft.transfer.initialisation.registry import Material, Neighbours, find_strategy
from lexigraft.vocabulary.overlap import Overlap
from lexigraft.vocabulary.pieces import Pieces


@dataclass(frozen=True, eq=False)
class Initialised:
    """An embedding matrix and how its new rows came about."""

    embeddings: torch.Tensor
    """(V', H), in the type of the source."""
    fallback_ids: torch.Tensor
    """Target ids whose strategy had nothing to make a row from: they start at the centroid of the
    overlapping tokens."""
    neighbours: Neighbours | None
    """What each new token was mixed from, in the order of `overlap.new_ids`."""


def initialise_embeddings(
    strategy: str,
    source_embeddings: torch.Tensor,
    overlap: Overlap,
    *,
    target_embeddings: torch.Tensor | None = None,
    source_tokenizer: PreTrainedTokenizerBase | None = None,
    target_tokenizer: PreTrainedTokenizerBase | None = None,
    source_pieces: Mapping[int, Sequence[int]] | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Embeddings (V', H) of the target vocabulary by a registered strategy.

    semantic (equations 7-9), subtoken, random_new, random_all or mean. Rows of overlapping tokens
    are copied bit for bit, but for random_all. Means and deviations are taken over overlapping
    tokens, so rows of the source matrix that no token uses never enter them. A new token that a
    strategy has nothing to make a row from starts at their centroid.

    Args:
        source_embeddings: (V or more, H).
        target_embeddings: (V' or more, D), for semantic.
        source_tokenizer, target_tokenizer: for subtoken, which also takes their place:
        source_pieces: source ids of the sub-tokens of each new target id.
        generator: for the random ones, on the CPU; None draws from torch's own.

    Raises:
        LexigraftError: an unknown strategy, nothing overlaps, an id without a row, values that are
            not finite, or a strategy lacks what it needs.
    """
    return initialise(
        strategy,
        source_embeddings,
        overlap,
        target_embeddings=target_embeddings,
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        source_pieces=source_pieces,
        generator=generator,
    ).embeddings


@torch.no_grad()
def initialise(
    strategy: str,
    source_embeddings: torch.Tensor,
    overlap: Overlap,
    *,
    target_embeddings: torch.Tensor | None = None,
    source_tokenizer: PreTrainedTokenizerBase | None = None,
    target_tokenizer: PreTrainedTokenizerBase | None = None,
    source_pieces: Mapping[int, Sequence[int]] | None = None,
    generator: torch.Generator | None = None,
) -> Initialised:
    """As `initialise_embeddings`, with how the rows came about."""
    make = find_strategy(strategy)
    if source_pieces is None and source_tokenizer is not None and target_tokenizer is not None:
        source_pieces = sub_tokens(Pieces(source_tokenizer), Pieces(target_tokenizer), overlap)
    source_embeddings = source_embeddings.detach()
    _refuse_unusable(source_embeddings, overlap, source_pieces)
    material = Material(source_embeddings, overlap, target_embeddings, source_pieces, generator)
    new = make(material)
    centroid_H = material.anchors.mean(0)
    size = int(torch.cat((overlap.target_ids, overlap.new_ids)).max()) + 1
    # Ids that the target's tokenizer leaves out have rows, which stay at the centroid.
    embeddings = centroid_H.to(source_embeddings.dtype).repeat(size, 1)
    rows_NH = torch.where(
        new.missing[:, None].to(centroid_H.device), centroid_H, new.rows.to(centroid_H)
    )
    embeddings[overlap.new_ids] = rows_NH.to(embeddings.dtype)
    kept = source_embeddings[overlap.source_ids] if new.anchors is None else new.anchors
    embeddings[overlap.target_ids] = kept.to(embeddings.dtype)
    return Initialised(embeddings, overlap.new_ids[new.missing.cpu()], new.neighbours)


def sub_tokens(source: Pieces, target: Pieces, overlap: Overlap) -> dict[int, list[int]]:
    """Source ids of the sub-tokens of each new target token."""
    return {token_id: source.cut(target.pieces[token_id]) for token_id in overlap.new_ids.tolist()}


def _refuse_unusable(
    source_embeddings: torch.Tensor,
    overlap: Overlap,
    pieces: Mapping[int, Sequence[int]] | None,
) -> None:
    if not len(overlap.target_ids):
        raise LexigraftError(
            "initialisation: the vocabularies share no token, so there is no anchor"
        )
    used = {*overlap.source_ids.tolist(), *(i for ids in (pieces or {}).values() for i in ids)}
    if max(used) >= len(source_embeddings):
        raise LexigraftError(
            f"initialisation: the source's embeddings have {len(source_embeddings)} rows, its "
            f"vocabulary has ids up to {max(used)}"
        )
    if not torch.isfinite(source_embeddings[sorted(used)]).all():
        raise LexigraftError("initialisation: the source's embeddings hold a value not finite")
