"""Vocabulary transfer: a masked language model in another vocabulary (section 4.2, step 2)."""

import copy
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, get_args

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lexigraft.encoders.decoder import output_projection
from lexigraft.encoders.output_vocabulary import has_output_vocabulary
from lexigraft.errors import LexigraftError
from lexigraft.specs.options import BiasAlignment, TransferOptions
from lexigraft.transfer.bias import align_bias, own_bias
from lexigraft.transfer.initialisation import Initialised, initialise
from lexigraft.transfer.initialisation.initialise import sub_tokens
from lexigraft.transfer.initialisation.registry import find_strategy
from lexigraft.transfer.rebuild import (
    fill_head,
    fill_vocabulary,
    rebuild_for,
    refuse_changed_states,
)
from lexigraft.transfer.space import Space, space_of
from lexigraft.vocabulary.overlap import Overlap, pair_pieces
from lexigraft.vocabulary.pieces import Pieces, name_of
from lexigraft.vocabulary.unigrams import Unigrams, count_unigrams

log = logging.getLogger(__name__)
DEFAULT_SEED = 42


@dataclass(frozen=True, eq=False)
class Transfer:
    """A transferred model and how it came about."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    """A copy of the target's that reads as many tokens as the source's; the source's own where
    the head alone was moved."""
    output_tokenizer: PreTrainedTokenizerBase | None
    """The target's, where the head alone was moved."""
    strategy: str
    bias_alignment: str
    source: Pieces
    target: Pieces
    overlap: Overlap
    sub_tokens: Mapping[int, list[int]]
    """Source ids of the sub-tokens of each new target id."""
    initialised: Initialised
    source_bias: torch.Tensor
    """(V,) output bias of the source's real tokens, zero where its decoder has none."""
    bias: torch.Tensor
    """(V',) output bias of the transferred model."""
    prior: str
    """Where the target's unigram priors come from; empty if they were not asked for."""
    unigrams: Unigrams | None
    """What was counted, if the priors are counts."""
    space: Space | None
    """Where neighbours were looked for, if not in the target's own embeddings."""


def transfer_vocabulary(
    source_model: PreTrainedModel,
    source_tokenizer: PreTrainedTokenizerBase,
    target_tokenizer: PreTrainedTokenizerBase,
    target_model: PreTrainedModel | None = None,
    config: TransferOptions | Mapping[str, Any] | None = None,
    *,
    texts: Iterable[str] | None = None,
    space: tuple[PreTrainedModel | None, PreTrainedTokenizerBase] | None = None,
) -> PreTrainedModel:
    """Move a masked language model to the target's vocabulary; the source is left as it is.

    Args:
        target_model: gives the embedding space (semantic) and the unigram priors (prior_aware);
            an encoder without a head gives the first alone. None for a bare vocabulary.
        config: `initialisation`, `bias_alignment`, `part` and `seed`, as an object
            (`TransferSpec`, `TransferOptions`) or a mapping; defaults are the paper's. With part
            head, the model reads the source's tokens and writes the target's: save it with the
            target's tokenizer as `output_tokenizer`.
        texts: counted for unigram priors where the target model has no output bias.
        space: a model and its tokenizer whose input embeddings take the place of the target's own
            in semantic initialisation.

    Raises:
        LexigraftError: an unknown option, no shared token, weights that do not fit their tokenizer,
            a strategy without what it needs, priors asked for without a source of them, or an
            architecture that cannot be moved.
    """
    return transfer(
        source_model,
        source_tokenizer,
        target_tokenizer,
        target_model,
        config,
        texts=texts,
        space=space,
    ).model


def transfer(
    source_model: PreTrainedModel,
    source_tokenizer: PreTrainedTokenizerBase,
    target_tokenizer: PreTrainedTokenizerBase,
    target_model: PreTrainedModel | None = None,
    config: TransferOptions | Mapping[str, Any] | None = None,
    *,
    texts: Iterable[str] | None = None,
    space: tuple[PreTrainedModel | None, PreTrainedTokenizerBase] | None = None,
) -> Transfer:
    """As `transfer_vocabulary`, with the tokenizer and how the model came about."""
    options, seed = _options(config)
    strategy, alignment, part = options.initialisation, options.bias_alignment, options.part
    for model, reader in ((source_model, source_tokenizer), (target_model, target_tokenizer)):
        if model is not None and has_output_vocabulary(model):
            raise LexigraftError(
                f"{name_of(reader)}: its head was moved to another vocabulary before; source and "
                "target must write what they read"
            )
    source, target = Pieces(source_tokenizer), Pieces(target_tokenizer)
    shared = pair_pieces(source, target)
    log.info(
        "%s shares %d of %d tokens (%.1f %%) with the source",
        name_of(target_tokenizer),
        len(shared.target_ids),
        len(target.pieces),
        100 * shared.coverage,
    )
    if not len(shared.target_ids):
        raise LexigraftError(
            f"tokenizer {name_of(target_tokenizer)}: shares no token with the source's"
        )
    embeddings = source_model.get_input_embeddings().weight.detach()
    decoder, output_bias = output_projection(source_model)
    real = torch.tensor(list(source.pieces), dtype=torch.int64)
    source_bias = torch.zeros(len(decoder)) if output_bias is None else output_bias.detach().cpu()
    # What may be refused comes before the long part.
    bias, prior, unigrams = _new_bias(
        alignment, source_bias, real, shared, target, target_tokenizer, target_model, texts
    )
    placed = space_of(*space, target) if space is not None and strategy == "semantic" else None
    # Untied, the output rows are mixed exactly as the input rows are.
    tied = decoder.data_ptr() == embeddings.data_ptr()
    rows = embeddings if tied else torch.cat((embeddings, decoder.detach()), dim=1)
    if part == "head":
        rows = decoder.detach()
    pieces = sub_tokens(source, target, shared)
    initialised = initialise(
        strategy,
        rows,
        shared,
        target_embeddings=placed.embeddings if placed else _embeddings_of(target_model),
        source_pieces=pieces,
        generator=torch.Generator().manual_seed(seed),
    )
    if count := len(initialised.fallback_ids):
        log.info("%d new tokens have nothing to start from; they start at the centroid", count)
    if part == "head":
        size = max(len(embeddings), target.size)
        model = rebuild_for(source_model, source_tokenizer, size, output_size=target.size)
        fill_head(model, embeddings, initialised.embeddings, bias)
        refuse_changed_states(source_model, model, replace(shared, target_ids=shared.source_ids))
        tokenizer, output_tokenizer = source_tokenizer, copy.deepcopy(target_tokenizer)
    else:
        model = rebuild_for(source_model, target_tokenizer, target.size)
        _fill(model, _copied(rows, shared, target.size), bias, embeddings.shape[1])
        refuse_changed_states(source_model, model, shared)
        _fill(model, initialised.embeddings, bias, embeddings.shape[1])
        tokenizer, output_tokenizer = copy.deepcopy(target_tokenizer), None
        tokenizer.model_max_length = source_tokenizer.model_max_length
    return Transfer(
        model,
        tokenizer,
        output_tokenizer,
        strategy,
        alignment,
        source,
        target,
        shared,
        pieces,
        initialised,
        source_bias[real],
        bias,
        prior,
        unigrams,
        placed,
    )


def _options(config: TransferOptions | Mapping[str, Any] | None) -> tuple[TransferOptions, int]:
    """Options and seed, checked before any work is done."""
    names = [*(field.name for field in fields(TransferOptions)), "seed"]
    if isinstance(config, Mapping):
        if unknown := sorted(set(config) - set(names)):
            raise LexigraftError(
                f"transfer: unknown option {unknown[0]!r}; allowed: {', '.join(names)}"
            )
        values = dict(config)
    else:
        values = {name: getattr(config, name) for name in names if hasattr(config, name)}
    seed = values.pop("seed", DEFAULT_SEED)
    options = TransferOptions(**values)
    find_strategy(options.initialisation)
    if options.bias_alignment not in (allowed := get_args(BiasAlignment)):
        raise LexigraftError(
            f"bias_alignment: {options.bias_alignment!r} is not one of {', '.join(allowed)}"
        )
    if options.part not in (parts := ("vocabulary", "head")):
        raise LexigraftError(f"part: {options.part!r} is not one of {', '.join(parts)}")
    return options, seed


def _embeddings_of(model: PreTrainedModel | None) -> torch.Tensor | None:
    return None if model is None else model.get_input_embeddings().weight.detach()


def _new_bias(
    alignment: str,
    source_bias: torch.Tensor,
    real: torch.Tensor,
    shared: Overlap,
    target: Pieces,
    target_tokenizer: PreTrainedTokenizerBase,
    target_model: PreTrainedModel | None,
    texts: Iterable[str] | None,
) -> tuple[torch.Tensor, str, Unigrams | None]:
    """Output bias (V',), where the priors come from, and what was counted for them."""
    if alignment == "none":
        return own_bias(source_bias, shared), "", None
    priors, origin, unigrams = _priors(target, target_tokenizer, target_model, texts)
    ids = torch.tensor(list(target.pieces), dtype=torch.int64)
    if int(ids.max()) >= len(priors):
        raise LexigraftError(
            f"tokenizer {name_of(target_tokenizer)}: has ids up to {int(ids.max())}, the target "
            f"model's output bias has {len(priors)} entries"
        )
    bias = torch.full((target.size,), float(source_bias[real].mean()), dtype=source_bias.dtype)
    bias[ids] = align_bias(source_bias[real], priors[ids])
    return bias, origin, unigrams


def _priors(
    target: Pieces,
    target_tokenizer: PreTrainedTokenizerBase,
    target_model: PreTrainedModel | None,
    texts: Iterable[str] | None,
) -> tuple[torch.Tensor, str, Unigrams | None]:
    head = target_model.get_output_embeddings() if target_model is not None else None
    if head is not None and getattr(head, "bias", None) is not None:
        return head.bias.detach().cpu(), "output bias of the target model", None
    name = name_of(target_tokenizer)
    if texts is None:
        raise LexigraftError(
            f"{name}: the target has no output bias, and prior_aware alignment needs its tokens' "
            "priors; give text to count them in, or set bias_alignment to none"
        )
    unigrams = count_unigrams(target_tokenizer, texts, target.size)
    log.info(
        "%s has no output bias: priors are log frequencies of %d tokens in %d texts",
        name,
        unigrams.tokens,
        unigrams.texts,
    )
    return unigrams.log_probabilities, "log unigram frequencies of the text", unigrams


def _copied(rows: torch.Tensor, shared: Overlap, size: int) -> torch.Tensor:
    copied = rows.new_zeros(size, rows.shape[1])
    copied[shared.target_ids] = rows[shared.source_ids]
    return copied


def _fill(model: PreTrainedModel, rows: torch.Tensor, bias: torch.Tensor, width: int) -> None:
    """Split rows that hold input and output embeddings side by side; tied, they hold one."""
    fill_vocabulary(
        model, rows[:, :width], rows[:, width:] if rows.shape[1] > width else rows, bias
    )
