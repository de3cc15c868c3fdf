"""From the tokens of a step to representations, with a graph: the two heads as functions.

Shapes: N texts, L tokens, H width, V vocabulary.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import PreTrainedModel

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.encoders.dense import last_states, mean_pool
from lexigraft.encoders.splade import splade_pool
from lexigraft.specs.options import Activation, Head, Pooling
from lexigraft.training.gradient_cache import Tokens

BUCKET = 16
"""On a CPU, texts whose lengths round up to the same multiple share a pass of the Transformer."""
WORTH = 0.8
"""Share of the padded size below which several passes beat one."""


def text_encoder(
    model: PreTrainedModel,
    head: Head,
    activation: Activation = "log1p",
    pooling: Pooling = "max",
) -> Callable[[Tokens], Tensor]:
    """The function from tokens (N, L) to representations: (N, V) sparse or (N, H) dense."""

    def sparse(tokens: Tokens) -> Tensor:
        hidden_NLH = by_length(lambda *texts: project_states(model, *texts), tokens)
        weight_VH, bias_V = output_projection(model)
        return splade_pool(
            *(hidden_NLH, weight_VH, bias_V, tokens["attention_mask"]),
            activation=activation,
            pooling=pooling,
        )

    def dense(tokens: Tokens) -> Tensor:
        hidden_NLH = by_length(lambda *texts: last_states(model, *texts), tokens)
        return mean_pool(hidden_NLH, tokens["attention_mask"])

    return sparse if head == "splade" else dense


def by_length(states: Callable[[Tensor, Tensor], Tensor], tokens: Tokens) -> Tensor:
    """`states(input_ids, attention_mask)` of right-padded texts, (N, L, H), zero after their end.

    One long query makes a batch of short ones several times as expensive, and a CPU pays for each
    padded position: there, texts of like length go through the Transformer together. On an
    accelerator, or where little would be saved, all texts go at once and padded positions hold
    whatever the model gives.
    """
    ids_NL, mask_NL = tokens["input_ids"], tokens["attention_mask"]
    count, longest = ids_NL.shape
    lengths_N = mask_NL.sum(dim=1)
    if ids_NL.device.type != "cpu" or longest <= BUCKET:
        return states(ids_NL, mask_NL)
    bucket_N = (lengths_N + BUCKET - 1) // BUCKET
    if int(bucket_N.sum()) * BUCKET > WORTH * count * longest:
        return states(ids_NL, mask_NL)
    parts, rows = [], []
    for bucket in bucket_N.unique():
        own = (bucket_N == bucket).nonzero().squeeze(1)
        length = int(lengths_N[own].max())
        hidden = states(ids_NL[own, :length], mask_NL[own, :length])
        parts.append(pad(hidden, (0, 0, 0, longest - length)))
        rows.append(own)
    return torch.cat(parts)[torch.cat(rows).argsort()]
