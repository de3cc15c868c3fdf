"""The SPLADE head, fused: max-pooled log(1 + ReLU(logits)) without a logit for every position.

    w_v = log(1 + ReLU(max_l (h_l . W_v + b_v - shift)))      SPLADE-max, Formal et al. 2021, eq. 6

ReLU and log are monotone, so the maximum over positions may come first: it is taken tile by tile
over the vocabulary and only the position that won is remembered. A gradient flows through the
winning positions of active entries alone, as in the plain formula, which makes the backward pass a
product with a matrix as sparse as the representation.

Shapes: B texts, L positions, H width, V vocabulary entries, N real tokens of a group of texts, K
entries kept at each position.
"""

import os
import sysconfig
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from types import ModuleType
from typing import Any, get_args

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

from lexigraft.encoders.activation import activate, activation_gradient
from lexigraft.encoders.splade_cpu import TILE_ENTRIES, pool, untouched_zeros
from lexigraft.encoders.splade_sum import sum_pool
from lexigraft.specs.options import Activation, Pooling

ACCELERATOR_TILE_LOGITS = 1 << 28
"""On an accelerator a tile holds at most so many logits."""


def splade_pool(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    *,
    shift: float = 0.0,
    top_k: int | None = None,
    activation: Activation = "log1p",
    pooling: Pooling = "max",
) -> Tensor:
    """Representation over the vocabulary of each text, rep_BV, all entries >= 0.

    Equal to `(log1p(relu(hidden @ W.T + b - shift)) * mask).amax(1)` in values and gradients, but
    B x L x V logits are never held. Where several positions tie for an entry, the first one gets
    its gradient. A text with no real position is a zero vector. Under autocast the logits are
    made in the autocast type, and from there on everything is float32.

    Args:
        hidden_BLH: what goes into the output decoder (`project_states`).
        weight_VH: the decoder's rows.
        bias_V: its bias, or None.
        mask_BL: 1 (or True) for real positions, 0 for padding, which may be anywhere.
        shift: subtracted from every logit before the ReLU: a positive shift makes the
            representation sparser (b' <- b' - c in Vocabulary Transfer, section 4.2.4;
            log(1 + ReLU(x - theta)) in SPARSEUP).
        top_k: keep only the K largest entries of each position before pooling (SPARSEUP); which
            of several equal entries at the K-th place stays is unspecified. None keeps all.
        activation: log1p, or double_log for log(1 + log(1 + x)) (`encoders.activation`).
        pooling: max, or sum over positions (the first SPLADE; `encoders.splade_sum`).

    Raises:
        ValueError: `top_k` is not positive or given with sum pooling, or an unknown name.
    """
    if pooling not in get_args(Pooling):
        raise ValueError(f"pooling is {pooling!r}; it must be {' or '.join(get_args(Pooling))}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k is {top_k}; it must be at least 1")
    if pooling == "sum":
        if top_k is not None:
            raise ValueError("top_k goes with max pooling only")
        return sum_pool(hidden_BLH, weight_VH, bias_V, mask_BL, shift=shift, activation=activation)
    if top_k is not None and top_k >= weight_VH.shape[0]:
        top_k = None
    if not torch.is_grad_enabled():
        # Parameters ask for a gradient where none is made, and its positions would be looked for.
        hidden_BLH, weight_VH = hidden_BLH.detach(), weight_VH.detach()
        bias_V = None if bias_V is None else bias_V.detach()
    return _SpladePool.apply(
        hidden_BLH, weight_VH, bias_V, mask_BL.bool(), shift, top_k, activation
    )


class _SpladePool(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden_BLH: Tensor,
        weight_VH: Tensor,
        bias_V: Tensor | None,
        mask_BL: Tensor,
        shift: float,
        top_k: int | None,
        activation: Activation,
    ) -> Tensor:
        device = hidden_BLH.device.type
        # Autocast leaves double precision alone.
        autocast = torch.is_autocast_enabled(device) and hidden_BLH.dtype != torch.float64
        compute = torch.get_autocast_dtype(device) if autocast else hidden_BLH.dtype
        hidden, weight = hidden_BLH.to(compute), weight_VH.to(compute)
        bias = None if bias_V is None else bias_V.to(compute)
        with_gradient = any(ctx.needs_input_grad)
        with torch.autocast(device, enabled=False):
            if top_k is not None:
                best_BV, position_BV = _pool_top_k(hidden, weight, bias, mask_BL, shift, top_k)
            elif device == "cpu":
                best_BV, position_BV = pool(hidden, weight, bias, mask_BL, shift, with_gradient)
            elif (kernels := _kernels(hidden.device, compute)) is not None:
                best_BV, position_BV = kernels.pool(hidden, weight, bias, mask_BL, with_gradient)
            else:
                best_BV, position_BV = _pool_padded(hidden, weight, bias, mask_BL)
            excess_BV = (best_BV.sub_(shift) if shift else best_BV).clamp_(min=0)
            # The plain formula's log1p runs in float32 under autocast.
            rep_BV = activate(excess_BV.float() if autocast else excess_BV, activation)
        if with_gradient:
            ctx.save_for_backward(hidden_BLH, weight_VH, bias_V, excess_BV, position_BV)
            ctx.compute, ctx.activation = compute, activation
        return rep_BV

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BV: Tensor) -> tuple[Tensor | None, ...]:
        hidden_BLH, weight_VH, bias_V, excess_BV, position_BV = ctx.saved_tensors
        B, L, H = hidden_BLH.shape
        V = weight_VH.shape[0]
        wide = torch.promote_types(ctx.compute, torch.float32)
        coefficient_BV = torch.where(
            excess_BV > 0,
            activation_gradient(grad_BV.to(wide), excess_BV.to(wide), ctx.activation),
            grad_BV.new_zeros((), dtype=wide),
        )
        needs_hidden, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        grad_hidden = grad_weight = grad_bias = None
        if bias_V is not None and needs_bias:
            grad_bias = coefficient_BV.sum(0).to(bias_V.dtype)
        if (kernels := _kernels(hidden_BLH.device, ctx.compute)) is not None:
            grad_hidden, grad_weight = kernels.gradients(
                *(coefficient_BV, position_BV, hidden_BLH, weight_VH),
                *(ctx.compute, needs_hidden, needs_weight),
            )
            return grad_hidden, grad_weight, grad_bias, None, None, None, None
        text, entry = coefficient_BV.nonzero(as_tuple=True)
        coefficient = coefficient_BV[text, entry]
        row = text * L + position_BV[text, entry].long()
        if needs_hidden:
            weight = weight_VH.to(ctx.compute).to(wide)
            grad_hidden = _sparse_product(row, entry, coefficient, (B * L, V), weight)
            grad_hidden = grad_hidden.view(B, L, H).to(hidden_BLH.dtype)
        if needs_weight:
            hidden = hidden_BLH.reshape(B * L, H).to(ctx.compute).to(wide)
            grad_weight = _sparse_product(entry, row, coefficient, (V, B * L), hidden)
            grad_weight = grad_weight.to(weight_VH.dtype)
        return grad_hidden, grad_weight, grad_bias, None, None, None, None


@cache
def _kernels(device: torch.device, compute: torch.dtype) -> ModuleType | None:
    """`encoders.splade_triton` where it can be used, else None.

    It needs an NVIDIA GPU of compute capability 8.0 or above and Triton, which itself needs a C
    compiler and Python's headers to start a kernel.
    """
    usable = (
        device.type == "cuda"
        and torch.version.cuda is not None
        and compute in (torch.float32, torch.bfloat16, torch.float16)
        and torch.cuda.get_device_capability(device) >= (8, 0)
        and find_spec("triton") is not None
        and any(map(which, (os.environ.get("CC", ""), "gcc", "clang")))
        and Path(sysconfig.get_path("include"), "Python.h").is_file()
    )
    return import_module("lexigraft.encoders.splade_triton") if usable else None


def _sparse_product(
    row: Tensor, column: Tensor, value: Tensor, shape: tuple[int, int], dense: Tensor
) -> Tensor:
    """Product of a sparse matrix, given by coordinates that may repeat, and a dense one."""
    matrix = torch.sparse_coo_tensor(
        torch.stack((row, column)), value, shape, check_invariants=False
    )
    if dense.device.type != "cpu":
        return torch.sparse.mm(matrix, dense)
    return untouched_zeros(shape[0], dense).addmm_(matrix, dense)


def _pool_padded(
    hidden_BLH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, mask_BL: Tensor
) -> tuple[Tensor, Tensor]:
    """The same with few large kernels instead of many small ones, for accelerators.

    `encoders.splade_triton` does it without writing logits; this is what it is tested against and
    what runs where it cannot.
    """
    B, L, _ = hidden_BLH.shape
    V = weight_VH.shape[0]
    best_BV = hidden_BLH.new_empty((B, V))
    position_BV = torch.empty((B, V), dtype=torch.int32, device=hidden_BLH.device)
    tile = max(64, min(TILE_ENTRIES * 4, ACCELERATOR_TILE_LOGITS // max(1, B * L)))
    padding_BL1 = ~mask_BL[:, :, None]
    for start in range(0, V, tile):
        stop = min(start + tile, V)
        bias = None if bias_V is None else bias_V[start:stop]
        logits = linear(hidden_BLH, weight_VH[start:stop], bias)
        logits.masked_fill_(padding_BL1, -torch.inf)
        best, position = logits.max(dim=1)
        best_BV[:, start:stop] = best
        position_BV[:, start:stop] = position
    return best_BV, position_BV


def _pool_top_k(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    shift: float,
    top_k: int,
) -> tuple[Tensor, Tensor]:
    """The same over the K largest entries of each position: N x K candidates, pooled at the end."""
    B, L, _ = hidden_BLH.shape
    V = weight_VH.shape[0]
    text, position = mask_BL.nonzero(as_tuple=True)
    packed_NH = hidden_BLH[text, position]
    value_NK = packed_NH.new_empty((len(text), 0))
    entry_NK = torch.empty((len(text), 0), dtype=torch.long, device=packed_NH.device)
    for start in range(0, V, TILE_ENTRIES):
        stop = min(start + TILE_ENTRIES, V)
        bias = None if bias_V is None else bias_V[start:stop]
        logits = linear(packed_NH, weight_VH[start:stop], bias)
        value, entry = logits.topk(min(top_k, stop - start), dim=1)
        value_NK = torch.cat((value_NK, value), dim=1)
        entry_NK = torch.cat((entry_NK, entry + start), dim=1)
        value_NK, kept = value_NK.topk(min(top_k, value_NK.shape[1]), dim=1)
        entry_NK = entry_NK.gather(1, kept)
    cell = (text[:, None] * V + entry_NK).reshape(-1)
    value = value_NK.reshape(-1)
    best = packed_NH.new_full((B * V,), shift)
    best.scatter_reduce_(0, cell, value, reduce="amax")
    first = torch.where(value == best[cell], position[:, None].expand_as(entry_NK).reshape(-1), L)
    winner = torch.full((B * V,), L, dtype=torch.long, device=packed_NH.device)
    winner.scatter_reduce_(0, cell, first, reduce="amin")
    return best.view(B, V), winner.clamp_(max=max(L - 1, 0)).int().view(B, V)
