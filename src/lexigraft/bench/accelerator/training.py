"""A training in little: texts of varied lengths, a tied weight, a ranking loss, FLOPS, AdamW.

The encoder is the embeddings and one dense layer, so what is learned depends on the head alone.
Both ways start from the same weights and see the same batches; their losses must stay together.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, layer_norm

from lexigraft.bench.accelerator.timing import Cost, measured
from lexigraft.bench.accelerator.ways import BFLOAT16, FLOAT32, Precision, WayName, way
from lexigraft.training.regularisers import flops

QUERY_SHARE = 8
"""A query is at most so many times shorter than a document."""
TEMPERATURE, FLOPS_WEIGHT = 100.0, 1e-3
LEARNING_RATE = 1e-3
ALLOWED = {FLOAT32: 1e-3, BFLOAT16: 3e-2}
"""Largest difference of two losses, as a share."""


@dataclass(frozen=True)
class Trained:
    """Losses of one way and what a step costs."""

    precision: Precision
    way: WayName
    losses: tuple[float, ...]
    cost: Cost | None
    note: str = ""


def difference(ours: Trained, peer: Trained) -> float:
    """The largest difference of two losses of the same step, as a share of the peer's."""
    pairs = zip(ours.losses, peer.losses, strict=True)
    return float(torch.tensor([abs(a - b) / abs(b) for a, b in pairs]).max())


def train(
    name: WayName,
    precision: Precision,
    device: torch.device,
    *,
    texts: int,
    length: int,
    width: int,
    vocabulary: int,
    steps: int,
) -> Trained:
    """Train for some steps, then time further ones."""
    torch.manual_seed(0)
    weight_VH = nn.Parameter(torch.randn(vocabulary, width, device=device) / width**0.5)
    bias_V = nn.Parameter(torch.full((vocabulary,), -3.0, device=device))
    dense = nn.Linear(width, width).to(device)
    optimiser = torch.optim.AdamW([weight_VH, bias_V, *dense.parameters()], lr=LEARNING_RATE)
    batches = torch.Generator().manual_seed(1)

    def represent(ids_BL: Tensor, mask_BL: Tensor) -> Tensor:
        hidden_BLH = layer_norm(gelu(dense(weight_VH[ids_BL])), (width,))
        return head(hidden_BLH, weight_VH, bias_V, mask_BL)

    def step() -> Tensor:
        document_ids, document_mask = _texts(texts, length, vocabulary, batches, device)
        query_length = max(1, length // QUERY_SHARE)
        # A query is the beginning of its document.
        query_ids, query_mask = document_ids[:, :query_length], document_mask[:, :query_length]
        with torch.autocast(device.type, precision.dtype, enabled=precision.autocast):
            queries_BV = represent(query_ids, query_mask)
            documents_BV = represent(document_ids, document_mask)
        scores_BB = queries_BV.float() @ documents_BV.float().T / TEMPERATURE
        loss = cross_entropy(scores_BB, torch.arange(texts, device=device))
        loss = loss + FLOPS_WEIGHT * (flops(queries_BV) + flops(documents_BV))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss.detach()

    with way(name) as head:
        losses = torch.stack([step() for _ in range(steps)]).tolist()
        cost, note = measured(step, device, steps)
    return Trained(precision, name, tuple(losses), cost, note)


def _texts(
    texts: int, length: int, vocabulary: int, generator: torch.Generator, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Ids and mask of texts of a quarter of the longest length and above, padded right."""
    ids_BL = torch.randint(vocabulary, (texts, length), generator=generator)
    real_B = torch.randint(max(1, length // 4), length + 1, (texts, 1), generator=generator)
    return ids_BL.to(device), (torch.arange(length)[None] < real_B).to(device)
