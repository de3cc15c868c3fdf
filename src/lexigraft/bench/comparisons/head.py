"""The sparse head, forward and backward: `splade_pool` against SpladePooling on all logits.

Logits are standard normal; the bias is the normal quantile at which a text without padding has the
stated share of active entries. Shapes: B texts, L positions, H width, V vocabulary entries.
"""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from lexigraft.bench.comparison import Comparison, Target, Work

PER_MILLE_ACTIVE = 10
SMALL = {"texts": 2, "length": 16, "width": 32, "vocabulary": 500}


def ours(**size: int) -> Work:
    """The fused head."""
    from lexigraft.encoders.splade import splade_pool

    def represent(hidden_BLH: Any, weight_VH: Any, bias_V: Any, mask_BL: Any) -> Any:
        return splade_pool(hidden_BLH, weight_VH, bias_V, mask_BL)

    return _work(represent, **size)


def theirs(**size: int) -> Work:
    """sentence-transformers: logits of every position, then its pooling module in training mode."""
    from sentence_transformers.sparse_encoder.modules import SpladePooling
    from torch.nn.functional import linear

    pooling = SpladePooling(pooling_strategy="max").train()

    def represent(hidden_BLH: Any, weight_VH: Any, bias_V: Any, mask_BL: Any) -> Any:
        logits_BLV = linear(hidden_BLH, weight_VH, bias_V)
        features = {"token_embeddings": logits_BLV, "attention_mask": mask_BL}
        del logits_BLV
        return pooling(features)["sentence_embedding"]

    return _work(represent, **size)


def _work(represent: Any, *, texts: int, length: int, width: int, vocabulary: int) -> Work:
    import torch

    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    inactive = 1 - PER_MILLE_ACTIVE / 1000
    threshold = NormalDist().inv_cdf(inactive ** (1 / length))
    leaves = {
        "hidden": normal(texts, length, width),
        "weight": normal(vocabulary, width) / width**0.5,
        "bias": torch.full((vocabulary,), -threshold),
    }
    for leaf in leaves.values():
        leaf.requires_grad_()
    mask_BL = torch.ones(texts, length, dtype=torch.int64)
    grad_BV = normal(texts, vocabulary)

    def run() -> Mapping[str, torch.Tensor]:
        rep_BV = represent(*leaves.values(), mask_BL)
        gradients = torch.autograd.grad(rep_BV, list(leaves.values()), grad_BV)
        return {"representation": rep_BV.detach(), **dict(zip(leaves, gradients, strict=True))}

    return Work(run, lambda result: {name: value.numpy() for name, value in result.items()})


def _comparison(name: str, target: Target, **size: int) -> Comparison:
    return Comparison(
        name=name,
        title="sparse head, forward and backward, about 1 % active, "
        "B={texts} L={length} H={width} V={vocabulary}",
        peer="SpladePooling",
        ours=ours,
        theirs=theirs,
        sizes={"full": size, "small": SMALL},
        tolerance=1e-4,
        target=target,
    )


COMPARISONS = (
    _comparison(
        "head", Target(time=4.0, memory=1 / 8), texts=8, length=256, width=768, vocabulary=50_368
    ),
    _comparison(
        "head-250k",
        Target(time=3.5, memory=1 / 8),
        texts=2,
        length=256,
        width=768,
        vocabulary=250_002,
    ),
)
