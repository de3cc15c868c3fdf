"""Time and peak memory of the head: each way, each vocabulary, forward alone and with backward."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist, median
from typing import Any, Literal

import torch
from torch import Tensor
from torch._dynamo.exc import TorchDynamoException

from lexigraft.bench.accelerator.parity import Shape
from lexigraft.bench.accelerator.ways import Material, Precision, WayName, way
from lexigraft.bench.memory import peak_of

ACTIVE = 0.01
"""Share of active entries of a text without padding."""
WARM_UP = 2

Phase = Literal["forward", "forward and backward"]
PHASES: tuple[Phase, ...] = ("forward", "forward and backward")


@dataclass(frozen=True)
class Cost:
    """Of a call."""

    milliseconds: tuple[float, ...]
    peak_bytes: int
    """Most that it held beyond what was held before."""

    @property
    def median(self) -> float:
        """Of the calls, in milliseconds."""
        return median(self.milliseconds)


@dataclass(frozen=True)
class Timing:
    """What a way costs in a case; or why there is no figure."""

    case: str
    precision: Precision
    phase: Phase
    way: WayName
    cost: Cost | None
    note: str = ""


def timings(
    case: str,
    material: Material,
    ways: tuple[WayName, ...],
    repeats: int,
    in_time: Callable[[], bool],
) -> Iterator[Timing]:
    """Each way and phase; where `in_time` says no, the rest is left out and says so."""
    for phase in PHASES:
        for name in ways:
            with way(name) as head:
                cost, note = measured(
                    partial(_call, material, head, phase),
                    material.hidden.device,
                    repeats,
                    in_time,
                )
            yield Timing(case, material.precision, phase, name, cost, note)


def measured(
    call: Callable[[], Any],
    device: torch.device,
    repeats: int,
    in_time: Callable[[], bool] = lambda: True,
) -> tuple[Cost | None, str]:
    """The cost of a call after a warm-up; None and the reason where there is none."""
    if not in_time():
        return None, "left out: time is up"
    try:
        for _ in range(WARM_UP):
            call()
        return Cost(
            milliseconds=tuple(_milliseconds(call, device) for _ in range(repeats)),
            peak_bytes=_peak(call, device),
        ), ""
    except torch.OutOfMemoryError:
        return None, "out of memory"
    except TorchDynamoException as error:
        return None, f"does not compile: {str(error).strip().splitlines()[0]}"
    finally:
        if device.type == "cuda":
            torch.cuda.empty_cache()


def speed_material(shape: Shape, shortest: int, precision: Precision, device: Any) -> Material:
    """Logits are standard normal; lengths uniform from `shortest` to the longest, padding right."""
    generator = torch.Generator(device=device).manual_seed(0)
    B, L, H, V = shape.texts, shape.length, shape.width, shape.vocabulary

    def normal(*size: int) -> Tensor:
        made = torch.randn(size, generator=generator, device=device)
        return made.to(precision.leaf_type)

    inactive = NormalDist().inv_cdf((1 - ACTIVE) ** (1 / L))
    real_B = torch.randint(shortest, L + 1, (B, 1), generator=generator, device=device)
    return Material(
        normal(B, L, H).requires_grad_(),
        (normal(V, H) / H**0.5).requires_grad_(),
        torch.full((V,), -inactive, device=device, dtype=precision.leaf_type).requires_grad_(),
        torch.arange(L, device=device)[None] < real_B,
        normal(B, V),
        precision,
    )


def _call(material: Material, head: Callable[..., Tensor], phase: Phase) -> Any:
    if phase == "forward and backward":
        return material.forward_and_backward(head)
    with torch.no_grad():
        return material.forward(head)


def _milliseconds(call: Callable[[], Any], device: torch.device) -> float:
    if device.type != "cuda":
        start = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - start)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def _peak(call: Callable[[], Any], device: torch.device) -> int:
    if device.type != "cuda":
        return peak_of(call).extra
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    call()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
