"""Is the head equal to the plain formula: values, gradients, every option, and the same bits twice.

Two kinds of numbers. Whole ones add up exactly in float32, in whatever order, so values and winners
must be the same, ties (there are many, in bfloat16 most by rounding) included; gradients are the
same up to the rounding of sums. Normally distributed ones show the precision of the products, such
as TF32 in place of float32; in 16 bits an entry may then have another winner where two logits round
differently.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from lexigraft.bench.accelerator.ways import FLOAT32, PRECISIONS, Material, Precision, plain, way

Numbers = Literal["whole", "normal"]
OPTIONS: dict[str, dict[str, Any]] = {
    "a bias": {},
    "a bias and a shift": {"shift": -0.5},
    "a shift alone": {"with_bias": False},
    "double log": {"activation": "double_log"},
    "sum pooling": {"pooling": "sum"},
}
OFFSET = 1024
"""Of every logit of whole numbers: of those around it bfloat16 has every eighth."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a case."""

    texts: int
    length: int
    width: int
    vocabulary: int

    def __str__(self) -> str:
        return f"B={self.texts} L={self.length} H={self.width} V={self.vocabulary}"


@dataclass(frozen=True)
class Parity:
    """How far ours is from the plain formula in one case."""

    case: str
    precision: Precision
    numbers: Numbers
    value_error: float
    """Largest difference of the representation, as a share of its largest value."""
    gradient_error: float
    """Largest ||ours - plain|| / ||plain|| of the gradients."""
    value_allowed: float
    gradient_allowed: float
    same_twice: bool
    """Whether a second call gave the same bits."""

    @property
    def holds(self) -> bool:
        """False also where an error is not a number."""
        near = self.value_error <= self.value_allowed
        return near and self.gradient_error <= self.gradient_allowed and self.same_twice


def allowed(precision: Precision, numbers: Numbers) -> tuple[float, float]:
    """Largest error of values and of gradients.

    The plain formula's own gradients are rounded to the type of the products, so in 16 bits it is
    the plain formula that is off by up to 2^-9 in each.
    """
    if precision.dtype == torch.float32:
        return (0.0, 1e-5) if numbers == "whole" else (1e-5, 1e-4)
    # Outside autocast the representation itself is rounded.
    return (0.0, 2e-2) if numbers == "whole" else (2**-7, 0.15)


def parities(shapes: list[Shape], device: torch.device) -> Iterator[Parity]:
    """Every case: shapes, kinds of numbers, precisions, masks and options."""
    for shape in shapes:
        for numbers in ("whole", "normal"):
            for precision in PRECISIONS:
                for name, mask_BL in masks(shape.texts, shape.length).items():
                    for option, given in OPTIONS.items():
                        # Logarithms do not add up exactly.
                        if numbers == "whole" and option == "sum pooling":
                            continue
                        material = make(shape, numbers, precision, mask_BL.to(device), **given)
                        yield compare(f"{shape}, {name}, {option}", numbers, material)
        # Which of equal entries stays is unspecified, and 16 bits make many equal.
        mask_BL = masks(shape.texts, shape.length)["holes"].to(device)
        top_k = max(1, shape.vocabulary // 10)
        material = make(shape, "normal", FLOAT32, mask_BL, top_k=top_k)
        yield compare(f"{shape}, holes, top {top_k}", "normal", material)


def masks(texts: int, length: int) -> dict[str, Tensor]:
    """Padding of each kind, bool (B, L)."""
    generator = torch.Generator().manual_seed(0)
    real_B = torch.randint(1, length + 1, (texts, 1), generator=generator)
    place_L = torch.arange(length)[None]
    empty = place_L < real_B
    empty[0] = False
    return {
        "no padding": torch.ones((texts, length), dtype=torch.bool),
        "padding right": place_L < real_B,
        "padding left": place_L >= length - real_B,
        "holes": torch.rand((texts, length), generator=generator) < 0.5,
        "an empty text": empty,
    }


def make(
    shape: Shape,
    numbers: Numbers,
    precision: Precision,
    mask_BL: Tensor,
    *,
    with_bias: bool = True,
    shift: float = 0.0,
    **options: Any,
) -> Material:
    """Random material; logits two standard deviations above the mean are active.

    Without a bias the shift sees to that.
    """
    generator = torch.Generator().manual_seed(1)
    B, L, H, V = shape.texts, shape.length, shape.width, shape.vocabulary
    if numbers == "whole":
        hidden, weight = (
            torch.randint(-1, 2, size, generator=generator) for size in ((B, L, H), (V, H))
        )
        hidden[:, :, 0], weight[:, 0] = OFFSET // 32, 32
        threshold = OFFSET + round(2 * (2 / 3) * H**0.5)
        bias = torch.randint(-1, 2, (V,), generator=generator) - threshold
    else:
        hidden = torch.randn((B, L, H), generator=generator)
        weight = torch.randn((V, H), generator=generator) / H**0.5
        threshold = 2
        bias = torch.randn((V,), generator=generator) / 10 - threshold
    gradient = torch.randn((B, V), generator=generator).to(mask_BL.device)
    given = [
        one.to(mask_BL.device, precision.leaf_type).requires_grad_()
        for one in (hidden, weight, bias)
    ]
    options["shift"] = shift if with_bias else threshold
    return Material(
        given[0], given[1], given[2] if with_bias else None, mask_BL, gradient, precision, options
    )


def compare(case: str, numbers: Numbers, material: Material) -> Parity:
    """Ours against the plain formula, and against itself."""
    expected = material.forward_and_backward(plain)
    with way("ours") as ours:
        found = material.forward_and_backward(ours)
        again = material.forward_and_backward(ours)
    value_error = _largest(found[0] - expected[0]) / max(_largest(expected[0]), 1e-30)
    gradient_errors = [
        _norm(ours - plain) / max(_norm(plain), 1e-30)
        for ours, plain in zip(found[1:], expected[1:], strict=True)
    ]
    return Parity(
        case,
        material.precision,
        numbers,
        value_error,
        # Written out, since max() would lose what is not a number.
        float(torch.tensor(gradient_errors).max()),
        *allowed(material.precision, numbers),
        all(torch.equal(a, b) for a, b in zip(found, again, strict=True)),
    )


def _largest(value: Tensor) -> float:
    return float(value.double().abs().max())


def _norm(value: Tensor) -> float:
    return float(torch.linalg.vector_norm(value.double()))
