"""All that is to be known of the head on one GPU, in one run of a few minutes."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import torch

from lexigraft.bench.accelerator.parity import Parity, Shape, parities
from lexigraft.bench.accelerator.report import csv_text, markdown_text
from lexigraft.bench.accelerator.tiles import TileTiming, candidates, tile_timings
from lexigraft.bench.accelerator.timing import Timing, speed_material, timings
from lexigraft.bench.accelerator.training import Trained, train
from lexigraft.bench.accelerator.ways import BFLOAT16, FLOAT32, WAYS, WayName
from lexigraft.bench.facts import machine_facts
from lexigraft.encoders import splade
from lexigraft.errors import LexigraftError
from lexigraft.files import refuse_taken, whole_folder

log = logging.getLogger(__name__)
PAIR: tuple[WayName, ...] = ("ours", "plain")
SECONDS = 240
"""After so many, what is not timed yet is left out."""


@dataclass(frozen=True)
class Sizes:
    """Of everything that is checked and timed."""

    parity: list[Shape]
    speed: Shape
    """With the first of `vocabularies`."""
    vocabularies: tuple[int, ...]
    shortest: tuple[int, ...]
    """Shortest text of a batch; the full length first, for which all vocabularies are timed."""
    steps: int
    """Of the training, and again as many timed ones."""
    repeats: int
    """Timed calls."""


FULL = Sizes(
    parity=[Shape(8, 70, 768, 5003), Shape(33, 1, 100, 1000), Shape(5, 300, 100, 517)],
    speed=Shape(32, 256, 768, 30_522),
    vocabularies=(30_522, 50_368, 250_002),
    shortest=(256, 64),
    steps=10,
    repeats=10,
)


@dataclass
class Checked:
    """What was found."""

    facts: dict[str, str]
    parity: list[Parity] = field(default_factory=list)
    training: list[Trained] = field(default_factory=list)
    timings: list[Timing] = field(default_factory=list)
    tiles: list[TileTiming] = field(default_factory=list)


def check(
    out: Path,
    device: torch.device,
    sizes: Sizes = FULL,
    ways: tuple[WayName, ...] = tuple(WAYS),
    seconds: float = SECONDS,
) -> Checked:
    """Check and time; write accelerator.csv and accelerator.md to `out`, whole or not at all.

    Args:
        out: folder to write.
        device: a GPU (the tests take the CPU).
        sizes: of the cases.
        ways: ways to compute the head that are timed.
        seconds: after so many no further timing begins.

    Raises:
        LexigraftError: ours differs from the plain formula; the report is written all the same.
    """
    refuse_taken(out)
    started = time.perf_counter()

    def in_time() -> bool:
        return time.perf_counter() - started < seconds

    # The sums of the plain formula are to be as exact as ours.
    for kind in ("bf16", "fp16"):
        setattr(torch.backends.cuda.matmul, f"allow_{kind}_reduced_precision_reduction", False)
    checked = Checked(_facts(device))
    for one in parities(sizes.parity, device):
        checked.parity.append(one)
        if not one.holds:
            log.warning("differs: %s, %s, %s", one.case, one.precision, one.numbers)
    log.info("compared with the plain formula: %d cases", len(checked.parity))
    for precision in (BFLOAT16, FLOAT32):
        for name in PAIR:
            shape = sizes.speed
            checked.training.append(
                train(
                    name,
                    precision,
                    device,
                    texts=shape.texts,
                    length=shape.length,
                    width=shape.width,
                    vocabulary=shape.vocabulary,
                    steps=sizes.steps,
                )
            )
    log.info("trained")
    _time(checked, device, sizes, ways, in_time)
    with whole_folder(out) as partial:
        (partial / "accelerator.csv").write_text(csv_text(checked), encoding="utf-8")
        (partial / "accelerator.md").write_text(markdown_text(checked), encoding="utf-8")
    log.info("report: %s", out / "accelerator.md")
    wrong = sum(not one.holds for one in checked.parity)
    if wrong:
        raise LexigraftError(
            f"splade_pool on {device}: differs from the plain formula in {wrong} of "
            f"{len(checked.parity)} cases; {out / 'accelerator.md'} lists them"
        )
    return checked


def _time(
    checked: Checked,
    device: torch.device,
    sizes: Sizes,
    ways: tuple[WayName, ...],
    in_time: Callable[[], bool],
) -> None:
    """What takes long to compile comes last, and larger vocabularies after smaller ones."""
    at_once = tuple(name for name in ways if name != "compiled")
    for some in (at_once, tuple(name for name in ways if name not in at_once)):
        for vocabulary in sizes.vocabularies:
            shape = replace(sizes.speed, vocabulary=vocabulary)
            own = sizes.shortest if vocabulary == sizes.vocabularies[0] else (shape.length,)
            for shortest, precision in product(own, (BFLOAT16, FLOAT32)):
                case = f"{shape}, lengths {shortest} to {shape.length}"
                material = speed_material(shape, shortest, precision, device)
                for one in timings(case, material, some, sizes.repeats, in_time):
                    checked.timings.append(one)
                    shown = one.note if one.cost is None else f"{one.cost.median:.2f} ms"
                    log.info("%s, %s, %s, %s: %s", case, precision, one.phase, one.way, shown)
                kernels = splade._kernels(device, precision.dtype)
                if kernels is not None and "ours" in some and in_time():
                    checked.tiles += tile_timings(case, material, candidates(), sizes.repeats)


def _facts(device: torch.device) -> dict[str, str]:
    facts = machine_facts(torch.get_num_threads())
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        facts |= {
            "GPU": properties.name,
            "GPU's memory": f"{properties.total_memory / 2**30:.0f} GiB",
            "compute capability": f"{properties.major}.{properties.minor}",
            "multiprocessors": str(properties.multi_processor_count),
            "CUDA": str(torch.version.cuda),
        }
    kernels = splade._kernels(device, torch.bfloat16)
    return facts | {"kernels": "none: operations of torch" if kernels is None else "Triton"}
