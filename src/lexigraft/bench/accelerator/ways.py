"""Ways to compute the sparse head, by name: ours, ours without its kernels, and the plain formula.

Shapes: B texts, L positions, H width, V vocabulary entries.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn.functional import linear

from lexigraft.encoders import splade
from lexigraft.encoders.splade import splade_pool
from lexigraft.specs.options import Activation, Pooling

WayName = Literal["ours", "torch", "plain", "compiled"]
WAYS: Mapping[WayName, str] = {
    "ours": "`splade_pool`",
    "torch": "`splade_pool` without its kernels",
    "plain": "the plain formula",
    "compiled": "`torch.compile` of it",
}


def plain(
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
    """max_l log(1 + ReLU(h_l . W_v + b_v - shift)) with all logits in memory, (B, V)."""
    logits_BLV = linear(hidden_BLH, weight_VH, bias_V)
    excess_BLV = torch.relu(logits_BLV - shift if shift else logits_BLV)
    if torch.is_autocast_enabled(logits_BLV.device.type):
        # As autocast does by itself on a GPU.
        excess_BLV = excess_BLV.float()
    terms_BLV = torch.log1p(excess_BLV)
    if activation == "double_log":
        terms_BLV = torch.log1p(terms_BLV)
    if top_k is not None:
        kept = logits_BLV.topk(top_k, dim=2).indices
        terms_BLV = terms_BLV * torch.zeros_like(terms_BLV).scatter(2, kept, 1.0)
    terms_BLV = terms_BLV * mask_BL[:, :, None]
    return terms_BLV.sum(dim=1) if pooling == "sum" else terms_BLV.max(dim=1).values


@contextmanager
def way(name: WayName) -> Iterator[Callable[..., Tensor]]:
    """The head in this way, forward and backward, within the block."""
    if name == "torch":
        with patch.object(splade, "_kernels", lambda device, compute: None):
            yield splade_pool
    elif name == "compiled":
        # After some compilations of one function torch gives up and runs it as it is.
        torch._dynamo.reset()
        yield torch.compile(plain, dynamic=False)
    else:
        yield splade_pool if name == "ours" else plain


@dataclass(frozen=True)
class Precision:
    """A type, and whether it is that of the model or of autocast."""

    dtype: torch.dtype
    autocast: bool

    def __str__(self) -> str:
        return f"{str(self.dtype).removeprefix('torch.')}{' autocast' if self.autocast else ''}"

    @property
    def leaf_type(self) -> torch.dtype:
        """Type of hidden states, weight and bias."""
        return torch.float32 if self.autocast else self.dtype


FLOAT32 = Precision(torch.float32, False)
BFLOAT16 = Precision(torch.bfloat16, True)
PRECISIONS = (FLOAT32, BFLOAT16, Precision(torch.float16, True), Precision(torch.bfloat16, False))


@dataclass(frozen=True)
class Material:
    """What a head is given, and the gradient that comes back."""

    hidden: Tensor
    """(B, L, H)."""
    weight: Tensor
    """(V, H)."""
    bias: Tensor | None
    """(V,)."""
    mask: Tensor
    """(B, L)."""
    gradient: Tensor
    """Of the representation, (B, V)."""
    precision: Precision
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def leaves(self) -> list[Tensor]:
        """What gets a gradient."""
        return [one for one in (self.hidden, self.weight, self.bias) if one is not None]

    def forward(self, head: Callable[..., Tensor]) -> Tensor:
        """The representation (B, V), with a graph where gradients are on."""
        precision = self.precision
        with torch.autocast(self.hidden.device.type, precision.dtype, enabled=precision.autocast):
            return head(self.hidden, self.weight, self.bias, self.mask, **self.options)

    def forward_and_backward(self, head: Callable[..., Tensor]) -> list[Tensor]:
        """The representation and the gradient of each leaf."""
        rep_BV = self.forward(head)
        gradient_BV = self.gradient.to(rep_BV.dtype)
        return [rep_BV.detach(), *torch.autograd.grad(rep_BV, self.leaves, gradient_BV)]
