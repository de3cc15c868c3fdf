"""Masked language models of transformers' own classes, small enough to pre-train here.

Dropout is 0 in all of them. ModernBERT has none by its own default, a short pre-training passes
over its text a few times at most and does not overfit, and backbones can be compared only if they
are trained alike.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import (
    AutoModelForMaskedLM,
    BertConfig,
    ModernBertConfig,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from lexigraft.errors import LexigraftError

Architecture = Literal["bert", "roberta", "modernbert"]
GLOBAL_EVERY = 3
LOCAL_WINDOW = 128
"""ModernBERT's own pattern: every third layer attends to all tokens, from the first on; the others
to 64 on either side, which for inputs of up to 64 tokens is all of them too."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Size of a model."""

    layers: int
    hidden_size: int
    heads: int
    intermediate_size: int
    positions: int


def new_masked_lm(
    architecture: Architecture, shape: Shape, tokenizer: PreTrainedTokenizerFast, seed: int
) -> PreTrainedModel:
    """A masked language model with random weights, its vocabulary and special ids the tokenizer's.

    Raises:
        LexigraftError: the architecture is unknown.
    """
    if architecture not in ("bert", "roberta", "modernbert"):
        raise LexigraftError(
            f"architecture: {architecture!r} found, bert, roberta and modernbert are allowed"
        )
    common: dict[str, Any] = {
        "vocab_size": max(tokenizer.get_vocab().values()) + 1,
        "hidden_size": shape.hidden_size,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.intermediate_size,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
    }
    config = _config(architecture, common, shape.positions, tokenizer)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        return AutoModelForMaskedLM.from_config(config, attn_implementation="sdpa").eval()


def _config(
    architecture: Architecture,
    common: dict[str, Any],
    positions: int,
    tokenizer: PreTrainedTokenizerFast,
) -> PretrainedConfig:
    if architecture == "modernbert":
        return ModernBertConfig(
            **common,
            max_position_embeddings=positions,
            cls_token_id=tokenizer.cls_token_id,
            sep_token_id=tokenizer.sep_token_id,
            global_attn_every_n_layers=GLOBAL_EVERY,
            local_attention=LOCAL_WINDOW,
        )
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if architecture == "roberta":
        # RoBERTa counts positions from the id after padding on.
        rows = positions + common["pad_token_id"] + 1
        return RobertaConfig(
            **common,
            **dropout,
            max_position_embeddings=rows,
            type_vocab_size=1,
            layer_norm_eps=1e-5,
        )
    return BertConfig(**common, **dropout, max_position_embeddings=positions)
