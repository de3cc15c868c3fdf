"""A masked language model rebuilt around a vocabulary of another size and other special ids.

The model is made anew from its changed config and everything that is no vocabulary row is copied
into it. Resizing in place would leave behind what a constructor decides once: padding rows, where
RoBERTa's positions start, whether the decoder has a bias.
"""

import copy

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from lexigraft.encoders.decoder import output_parameters, output_projection
from lexigraft.encoders.output_vocabulary import CONFIG_KEY, SILENT
from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.overlap import Overlap
from lexigraft.vocabulary.pieces import ROLES, name_of

PROBED_TOKENS = 24
PROBE_TOLERANCE = 1e-4
"""Largest difference of last hidden states, relative to their largest value."""


def rebuild_for(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    size: int,
    *,
    output_size: int | None = None,
) -> PreTrainedModel:
    """A copy of `model` with `size` vocabulary rows, all zero, and `tokenizer`'s special ids.

    Its decoder has a bias even if the model's has none. Where positions are counted on from the
    padding id (the RoBERTa family), their embeddings move along with it, so that the first token
    keeps the first position.

    Args:
        output_size: terms of an output vocabulary, `size` at most; the head is untied then. None
            where the model writes what it reads.

    Raises:
        LexigraftError: the tokenizer has no padding token, the class cannot have an output bias,
            or it fixes a padding id that is not the tokenizer's.
    """
    if tokenizer.pad_token_id is None:
        raise LexigraftError(f"tokenizer {name_of(tokenizer)}: it has no padding token")
    config = copy.deepcopy(model.config)
    config.vocab_size = size
    if output_size is not None:
        config.tie_word_embeddings = False
        setattr(config, CONFIG_KEY, output_size)
    set_special_ids(config, tokenizer)
    if output_projection(model)[1] is None:
        allow_output_bias(model, config)
    for _, positions in positions_after_padding(model):
        config.max_position_embeddings += tokenizer.pad_token_id - _padding(positions)
    # Constructors draw weights that are overwritten below; torch's own generator is left as it was.
    with torch.random.fork_rng(devices=[]):
        rebuilt = type(model)(config)
    generation = copy.deepcopy(getattr(model, "generation_config", None))
    if generation is not None:
        set_special_ids(generation, tokenizer)
        rebuilt.generation_config = generation
    _copy_body(model, rebuilt, tokenizer)
    return rebuilt.to(model.device).eval()


def fill_head(
    model: PreTrainedModel, embeddings: torch.Tensor, decoder: torch.Tensor, bias: torch.Tensor
) -> None:
    """Set V input rows (V, H), V' output rows (V', H) and their bias (V',), in place; the rows that
    fill either side up become those of `lexigraft.encoders.output_vocabulary`."""
    weight, _ = output_parameters(model)
    all_bias = torch.full((len(weight),), SILENT, dtype=bias.dtype)
    all_bias[: len(bias)] = bias
    fill_vocabulary(
        model, _padded(embeddings, len(weight)), _padded(decoder, len(weight)), all_bias
    )


def _padded(rows: torch.Tensor, count: int) -> torch.Tensor:
    return nn.functional.pad(rows, (0, 0, 0, count - len(rows)))


def set_special_ids(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> None:
    """Make every special id that the config has the tokenizer's, None where that has none."""
    for role in ROLES:
        name = f"{role}_token_id"
        if hasattr(config, name):
            setattr(config, name, getattr(tokenizer, name, None))


def fill_vocabulary(
    model: PreTrainedModel, embeddings: torch.Tensor, decoder: torch.Tensor, bias: torch.Tensor
) -> None:
    """Set input rows (V', H), output rows (V', H) and output bias (V',) of a model, in place.

    With tied embeddings, both matrices are one and must be equal.
    """
    weight, output_bias = output_parameters(model)
    assert output_bias is not None
    twin = _bias_beside_decoder(model)
    with torch.no_grad():
        weight.copy_(decoder)
        model.get_input_embeddings().weight.copy_(embeddings)
        for parameter in (output_bias, twin):
            if parameter is not None:
                parameter.copy_(bias)


def allow_output_bias(model: PreTrainedModel, config: PretrainedConfig) -> None:
    """Let `config` state that the decoder has a bias.

    Raises:
        LexigraftError: it has no way to, so a saved model would lose its bias.
    """
    if not hasattr(config, "decoder_bias"):
        raise LexigraftError(
            f"{type(model).__name__}: its output decoder has no bias, and its config has no "
            "decoder_bias to give it one"
        )
    config.decoder_bias = True


def positions_after_padding(model: PreTrainedModel) -> list[tuple[str, nn.Embedding]]:
    """Position embeddings that have a row for padding, after which positions are counted."""
    return [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.Embedding)
        and name.endswith("position_embeddings")
        and module.padding_idx is not None
    ]


@torch.no_grad()
def refuse_changed_states(
    source: PreTrainedModel, rebuilt: PreTrainedModel, overlap: Overlap
) -> None:
    """Check on two padded probes that shared tokens still lead to the same hidden states.

    Raises:
        LexigraftError: they do not: the class computes something from ids that is not handled.
    """
    count = min(PROBED_TOKENS, len(overlap.target_ids))
    chosen = torch.linspace(0, len(overlap.target_ids) - 1, count).long()
    chosen = chosen[overlap.source_ids[chosen] != source.config.pad_token_id]
    mask = torch.ones(2, len(chosen), dtype=torch.int64)
    mask[1, len(chosen) // 2 :] = 0
    states = []
    for model, ids in ((source, overlap.source_ids), (rebuilt, overlap.target_ids)):
        tokens = ids[chosen].repeat(2, 1).masked_fill(mask == 0, model.config.pad_token_id)
        output = model(
            input_ids=tokens.to(model.device),
            attention_mask=mask.to(model.device),
            output_hidden_states=True,
        )
        states.append(output.hidden_states[-1].float()[mask.bool().to(model.device)])
    before, after = states
    if not (before - after).abs().max() <= PROBE_TOLERANCE * (1 + before.abs().max()):
        raise LexigraftError(
            f"{type(source).__name__}: hidden states of tokens that both vocabularies share change "
            "with the vocabulary, so this architecture cannot be transferred"
        )


def _copy_body(
    model: PreTrainedModel, rebuilt: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    weight, bias = output_parameters(rebuilt)
    rows = {id(p) for p in (rebuilt.get_input_embeddings().weight, weight, bias)}
    rows.add(id(_bias_beside_decoder(rebuilt)))
    dtype = model.get_input_embeddings().weight.dtype
    positions = {f"{name}.weight" for name, _ in positions_after_padding(model)}
    source = dict(model.named_parameters(remove_duplicate=False))
    for name, parameter in rebuilt.named_parameters():
        if id(parameter) in rows:
            parameter.data = torch.zeros_like(parameter, dtype=dtype)
        elif name in positions:
            module = name.removesuffix(".weight")
            old, new = model.get_submodule(module), rebuilt.get_submodule(module)
            _move_positions(old, new, tokenizer)
        else:
            parameter.data = source[name].detach().clone()
        parameter.requires_grad_(True)
    buffers = dict(model.named_buffers())
    persistent = rebuilt.state_dict().keys()
    for name, buffer in rebuilt.named_buffers():
        if name in persistent and name in buffers and buffers[name].shape == buffer.shape:
            buffer.copy_(buffers[name])


def _move_positions(old: nn.Module, new: nn.Module, tokenizer: PreTrainedTokenizerBase) -> None:
    assert isinstance(old, nn.Embedding)
    assert isinstance(new, nn.Embedding)
    if new.padding_idx != tokenizer.pad_token_id:
        raise LexigraftError(
            f"tokenizer {name_of(tokenizer)}: its padding id is {tokenizer.pad_token_id}, the "
            f"source's architecture fixes {new.padding_idx}"
        )
    weight = torch.zeros_like(new.weight, dtype=old.weight.dtype)
    weight[_padding(new) :] = old.weight.detach()[_padding(old) :]
    new.weight.data = weight


def _padding(embeddings: nn.Embedding) -> int:
    assert embeddings.padding_idx is not None
    return embeddings.padding_idx


def _bias_beside_decoder(model: PreTrainedModel) -> nn.Parameter | None:
    """BERT's and RoBERTa's heads own a `bias` beside `decoder.bias`. The two are one parameter if
    embeddings are tied; untied, the second is stored but never used."""
    decoder = model.get_output_embeddings()
    name = next(name for name, module in model.named_modules() if module is decoder)
    parent = model.get_submodule(name.rpartition(".")[0])
    return parent._parameters.get("bias")
