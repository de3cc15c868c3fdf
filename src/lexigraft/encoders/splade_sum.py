"""Sum pooling of the SPLADE head without a logit for every position and entry.

    w_v = sum_l log(1 + ReLU(h_l . W_v + b_v - shift))      SPLADE, Formal et al. 2021a, eq. 2

Every position above zero counts here, so the gradient is no sparse product: the logits are made
again, tile by tile, in the backward pass, and a tile is all that is ever held.

Shapes: B texts, L positions, H width, V vocabulary entries, N real tokens of all texts, T entries
of a tile.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from lexigraft.encoders.activation import activate, activation_gradient
from lexigraft.specs.options import Activation

TILE_LOGITS, ACCELERATOR_TILE_LOGITS = 1 << 22, 1 << 27
"""Logits of a tile at most, on a CPU few enough for its cache."""
LEAST_ENTRIES = 64
"""Entries of a tile at least, however many tokens there are."""


def sum_pool(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    *,
    shift: float,
    activation: Activation,
) -> Tensor:
    """Representation over the vocabulary of each text, (B, V); `splade_pool` says the rest."""
    return _SumPool.apply(hidden_BLH, weight_VH, bias_V, mask_BL.bool(), shift, activation)


class _SumPool(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_BLH: Tensor,
        weight_VH: Tensor,
        bias_V: Tensor | None,
        mask_BL: Tensor,
        shift: float,
        activation: Activation,
    ) -> Tensor:
        device = hidden_BLH.device.type
        autocast = torch.is_autocast_enabled(device)
        # Autocast leaves double precision alone.
        autocast = autocast and hidden_BLH.dtype != torch.float64
        ctx.compute = torch.get_autocast_dtype(device) if autocast else hidden_BLH.dtype
        ctx.shift, ctx.activation = shift, activation
        ctx.save_for_backward(hidden_BLH, weight_VH, bias_V, mask_BL)
        wide = torch.promote_types(ctx.compute, torch.float32)
        lengths_B = mask_BL.sum(1)
        rep_BV = hidden_BLH.new_zeros((mask_BL.shape[0], weight_VH.shape[0]), dtype=wide)
        with torch.autocast(device, enabled=False):
            hidden_NH = hidden_BLH[mask_BL].to(ctx.compute)
            for tile in _tiles(hidden_NH, weight_VH) if mask_BL.shape[0] else ():
                excess_NT = _excess(hidden_NH, weight_VH, bias_V, tile, shift)[0]
                value_NT = activate(excess_NT.to(wide), activation)
                rep_BV[:, tile] = torch.segment_reduce(value_NT, "sum", lengths=lengths_B)
        return rep_BV if autocast else rep_BV.to(ctx.compute)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BV: Tensor) -> tuple[Tensor | None, ...]:
        hidden_BLH, weight_VH, bias_V, mask_BL = ctx.saved_tensors
        needs_hidden, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        wide = torch.promote_types(ctx.compute, torch.float32)
        hidden_NH = hidden_BLH[mask_BL].to(ctx.compute)
        text_N = mask_BL.nonzero()[:, 0]
        grad_NH = torch.zeros_like(hidden_NH, dtype=wide)
        grad_weight = torch.empty_like(weight_VH) if needs_weight else None
        grad_bias = None if bias_V is None or not needs_bias else torch.empty_like(bias_V)
        for tile in _tiles(hidden_NH, weight_VH):
            excess_NT, weight_TH = _excess(hidden_NH, weight_VH, bias_V, tile, ctx.shift)
            grad_NT = activation_gradient(
                grad_BV[:, tile].to(wide)[text_N], excess_NT.to(wide), ctx.activation
            ).masked_fill_(excess_NT == 0, 0.0)
            if grad_bias is not None:
                grad_bias[tile] = grad_NT.sum(0)
            # As in the plain formula, whose logits have the type of the product.
            grad_NT = grad_NT.to(ctx.compute)
            if needs_hidden:
                grad_NH += grad_NT @ weight_TH
            if grad_weight is not None:
                grad_weight[tile] = (grad_NT.t() @ hidden_NH).to(grad_weight.dtype)
        grad_hidden = None
        if needs_hidden:
            grad_hidden = torch.zeros_like(hidden_BLH)
            grad_hidden[mask_BL] = grad_NH.to(hidden_BLH.dtype)
        return grad_hidden, grad_weight, grad_bias, None, None, None


def _excess(
    hidden_NH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, tile: slice, shift: float
) -> tuple[Tensor, Tensor]:
    """ReLU of the logits of a tile less the shift (N, T), and the tile's weight (T, H)."""
    weight_TH = weight_VH[tile].to(hidden_NH.dtype)
    bias_T = None if bias_V is None else bias_V[tile].to(hidden_NH.dtype)
    logits_NT = linear(hidden_NH, weight_TH, bias_T)
    return (logits_NT.sub_(shift) if shift else logits_NT).clamp_(min=0), weight_TH


def _tiles(hidden_NH: Tensor, weight_VH: Tensor) -> Iterator[slice]:
    V = weight_VH.shape[0]
    most = TILE_LOGITS if hidden_NH.device.type == "cpu" else ACCELERATOR_TILE_LOGITS
    size = max(LEAST_ENTRIES, most // max(1, len(hidden_NH)))
    for start in range(0, V, size):
        yield slice(start, min(start + size, V))
