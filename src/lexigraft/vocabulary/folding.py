"""Folding of surface variants: one canonical id for all ids that a normaliser makes the same.

A normaliser induces a many-to-one map pi: V -> V' (Vocabulary Transfer, section 3.1); SPARSEUP's
vocabulary folding is the one that ignores case and whether a token starts a word.
"""

import torch
from tokenizers import normalizers
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.pieces import Piece, Pieces, name_of

LOWERCASE = (normalizers.Lowercase(), normalizers.NFC())
WITHOUT_ACCENTS = (normalizers.NFD(), normalizers.StripAccents(), *LOWERCASE)


def fold_map(
    tokenizer: PreTrainedTokenizerBase,
    *,
    positions: bool = True,
    accents: bool = False,
    size: int = 0,
) -> Tensor:
    """Canonical id of each id: int64 (V,), its own id where nothing folds onto another.

    Tokens fold together whose texts are equal once lower-cased. The canonical one is that which is
    written in this form and starts a word (`Ġheat`), else one written so inside a word (`heat`),
    else the first of those left. Special and added tokens, and bytes that are no text, stay alone.
    SPARSEUP folds ModernBERT's 50k entries to around 34k in this way.

    Args:
        tokenizer: a fast tokenizer.
        positions: whether a token that starts a word folds with one that goes on with a word
            (SPARSEUP); if not, only case folds.
        accents: whether accents are taken off too, as BERT-uncased's normaliser does.
        size: V, where a model has more rows than its tokenizer has ids; 0 for the latter.

    Raises:
        LexigraftError: a slow tokenizer, one whose tokens do not tell where words start, or a size
            below its highest id.
    """
    pieces = Pieces(tokenizer)
    size = size or pieces.size
    if size < pieces.size:
        raise LexigraftError(
            f"tokenizer {name_of(tokenizer)}: has ids up to {pieces.size - 1}, which a vocabulary "
            f"of {size} rows does not hold"
        )
    normalizer = normalizers.Sequence(list(WITHOUT_ACCENTS if accents else LOWERCASE))
    groups: dict[tuple[str, str], list[int]] = {}
    for token_id, piece in pieces.pieces.items():
        if piece.place in ("initial", "inside") and (form := normalizer.normalize_str(piece.text)):
            place = "" if positions else piece.place
            groups.setdefault((form, place), []).append(token_id)
    canonical = torch.arange(size)
    for (form, _), members in groups.items():
        best = min(members, key=lambda i: (*_rank(pieces.pieces[i], form), i))
        canonical[members] = best
    return canonical


def _rank(piece: Piece, form: str) -> tuple[bool, bool]:
    return piece.text != form, piece.place != "initial"
