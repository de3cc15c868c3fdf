"""The check of a GPU, run on the CPU at tiny sizes: what it finds, and what it says of it."""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import which
from types import ModuleType
from typing import Any

import pytest
import torch
import typer
from torch import Tensor
from torch._dynamo.exc import TorchDynamoException
from typer.testing import CliRunner

from lexigraft.bench.accelerator import check as checking
from lexigraft.bench.accelerator import parity, tiles, ways
from lexigraft.bench.accelerator.__main__ import accelerator
from lexigraft.bench.accelerator.check import FULL, Sizes, check
from lexigraft.bench.accelerator.parity import Shape, compare, make, masks
from lexigraft.bench.accelerator.timing import Cost, measured, speed_material
from lexigraft.bench.accelerator.training import Trained, difference
from lexigraft.bench.accelerator.ways import BFLOAT16, FLOAT32, PRECISIONS, Precision, plain, way
from lexigraft.errors import LexigraftError

CPU = torch.device("cpu")
TINY = Sizes(
    parity=[Shape(3, 9, 20, 50)],
    speed=Shape(3, 8, 16, 60),
    vocabularies=(60, 90),
    shortest=(8, 2),
    steps=3,
    repeats=2,
)


def read(out: Path, part: str) -> list[dict[str, str]]:
    with (out / "accelerator.csv").open(newline="") as stream:
        return [line for line in csv.DictReader(stream) if line["part"] == part]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_everything_is_checked_and_timed(tmp_path: Path) -> None:
    out = tmp_path / "report"
    for seconds in (0, 600):  # The second run takes the place of the first.
        check(out, CPU, TINY, ways=("ours", "torch", "plain"), seconds=seconds)
    assert sorted(path.name for path in out.iterdir()) == ["accelerator.csv", "accelerator.md"]
    # 4 precisions, 5 masks, 4 options for whole numbers and 5 for normal ones; top-k once.
    found = read(out, "parity")
    assert len(found) == 4 * 5 * (4 + 5) + 1
    assert {line["same_twice"] for line in found} == {"True"}
    assert [line["way"] for line in read(out, "training")] == ["ours", "plain"] * 2
    for line in read(out, "training"):
        assert len(line["losses"].split()) == 3
    # 2 + 1 batches, 2 precisions, 2 phases, 3 ways.
    timed = read(out, "speed")
    assert len(timed) == 3 * 2 * 2 * 3
    assert all(len(line["all_milliseconds"].split()) == 2 for line in timed)
    text = (out / "accelerator.md").read_text()
    assert "All 181 cases hold." in text
    assert "✗" not in text
    assert "B=3 L=8 H=16 V=90, lengths 8 to 8, bfloat16 autocast" in text
    assert "| kernels " in text


def test_the_sizes_are_those_that_are_asked_about() -> None:
    assert (FULL.speed.texts, FULL.speed.length, FULL.speed.width) == (32, 256, 768)
    assert FULL.vocabularies == (30_522, 50_368, 250_002)


@pytest.mark.slow
def test_kernels_are_checked_and_their_tiles_timed(
    kernels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = kernels.Tile(32, 16, warps=4, stages=1)
    chosen = kernels.tile_for(None)
    monkeypatch.setattr(checking, "candidates", lambda: [chosen, wide])
    monkeypatch.setattr(parity, "PRECISIONS", (FLOAT32, BFLOAT16))
    sizes = replace(
        TINY,
        parity=[Shape(2, 3, 8, 20)],
        speed=Shape(2, 4, 8, 20),
        vocabularies=(20,),
        shortest=(4, 2),
    )
    checked = check(tmp_path / "report", CPU, sizes, ways=("ours",))
    assert checked.facts["kernels"] == "Triton"
    assert [(one.tile, one.chosen) for one in checked.tiles[:2]] == [(chosen, True), (wide, False)]
    assert len(checked.tiles) == 2 * 2 * 2
    assert "## Tiles of the kernel" in (tmp_path / "report" / "accelerator.md").read_text()


def last_of_ties(hidden: Tensor, *words: Any, **options: Any) -> Tensor:
    """Wrong: the last of several positions that tie gets the gradient."""
    *others, mask = words
    return plain(hidden.flip(1), *others, mask.flip(1), **options)


def coarse(hidden: Tensor, *words: Any, **options: Any) -> Tensor:
    """Wrong: 10 bits of the hidden states, as TF32 has them."""
    return plain(hidden + (hidden.half().float() - hidden).detach(), *words, **options)


def not_a_number(*words: Any, **options: Any) -> Tensor:
    return plain(*words, **options) * torch.nan


@pytest.mark.parametrize(
    ("head", "numbers", "holds"),
    [
        (plain, "whole", True),
        (plain, "normal", True),
        (last_of_ties, "whole", False),
        (last_of_ties, "normal", True),  # nothing ties
        (coarse, "whole", True),  # they have fewer bits
        (coarse, "normal", False),
        (not_a_number, "whole", False),
        (not_a_number, "normal", False),
    ],
)
def test_what_is_wrong_is_found(
    head: Callable[..., Tensor], numbers: parity.Numbers, holds: bool, monkeypatch: Any
) -> None:
    @contextmanager
    def wrong(name: str) -> Iterator[Callable[..., Tensor]]:
        yield head

    monkeypatch.setattr(parity, "way", wrong)
    mask = masks(4, 40)["holes"]
    found = compare("", numbers, make(Shape(4, 40, 32, 300), numbers, FLOAT32, mask))
    assert found.holds is holds


def test_what_differs_is_reported_and_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "splade_pool", last_of_ties)
    out = tmp_path / "report"
    with pytest.raises(LexigraftError, match=r"differs from the plain formula in \d+ of 181 cases"):
        check(out, CPU, TINY, ways=("ours",), seconds=0)
    text = (out / "accelerator.md").read_text()
    assert "**✗ differs**" in text
    assert "- B=3 L=9 H=20 V=50, no padding, a bias, float32, whole numbers: values" in text


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
@pytest.mark.parametrize("with_bias", [True, False])
def test_whole_numbers_tie_and_some_entries_are_active(
    precision: Precision, with_bias: bool
) -> None:
    mask = masks(4, 60)["no padding"]
    material = make(Shape(4, 60, 200, 900), "whole", precision, mask, with_bias=with_bias)
    assert {one.dtype for one in material.leaves} == {precision.leaf_type}
    with torch.no_grad():
        active = material.forward(plain) > 0
    assert 0.2 < active.float().mean() < 0.95
    logits = (material.hidden @ material.weight.T).to(precision.dtype)
    ties = (logits == logits.amax(1, keepdim=True)).sum(1) > 1
    rounded = precision.dtype == torch.bfloat16 and not with_bias
    assert ties[active].float().mean() > (0.2 if rounded else 0.02)


def test_about_one_per_cent_of_the_entries_is_active_where_time_is_taken() -> None:
    material = speed_material(Shape(4, 64, 256, 4000), 64, FLOAT32, CPU)
    assert bool(material.mask.all())
    with torch.no_grad():
        active = (material.forward(plain) > 0).float().mean()
    assert 0.007 < active < 0.013
    short = speed_material(Shape(400, 64, 8, 10), 16, BFLOAT16, CPU).mask.sum(1)
    assert (int(short.min()), int(short.max())) == (16, 64)


def test_a_way_without_kernels_has_none() -> None:
    from lexigraft.encoders import splade

    with way("torch") as head:
        assert head is splade.splade_pool
        assert splade._kernels(torch.device("cuda"), torch.float32) is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
@pytest.mark.skipif(which("gcc") is None, reason="torch.compile needs a C++ compiler here: gcc")
def test_the_plain_formula_is_compiled() -> None:
    material = speed_material(Shape(2, 8, 16, 40), 8, FLOAT32, CPU)
    with way("plain") as eager, way("compiled") as compiled:
        assert compiled is not eager
        for expected, found in zip(
            material.forward_and_backward(eager),
            material.forward_and_backward(compiled),
            strict=True,
        ):
            torch.testing.assert_close(found, expected)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")
def test_a_way_that_does_not_compile_is_told() -> None:
    def broken() -> None:
        raise TorchDynamoException("no compiler\nand more lines")

    assert measured(broken, CPU, 2) == (None, "does not compile: no compiler")


def test_out_of_memory_and_out_of_time_are_told() -> None:
    def too_much() -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    assert measured(too_much, CPU, 2) == (None, "out of memory")
    assert measured(too_much, CPU, 2, lambda: False) == (None, "left out: time is up")
    with pytest.raises(ZeroDivisionError):
        measured(lambda: 1 // 0, CPU, 2)
    cost, note = measured(lambda: None, CPU, 3)
    assert note == ""
    assert cost is not None
    assert len(cost.milliseconds) == 3


def test_figures_that_are_lacking_leave_their_place_in_the_report(tmp_path: Path) -> None:
    checked = check(tmp_path / "report", CPU, TINY, ways=("ours", "plain"), seconds=0)
    assert all(one.cost is None for one in checked.timings)
    text = (tmp_path / "report" / "accelerator.md").read_text()
    assert text.count("left out: time is up") == 2 * len(checked.timings) / 2


def test_ratios_by_hand() -> None:
    assert Cost((3.0, 1.0, 2.0), 0).median == 2.0
    ours, peer = (
        Trained(FLOAT32, "ours", losses, None) for losses in ((1.0, 2.2, 3.0), (1.0, 2.0, 2.0))
    )
    assert difference(ours, peer) == pytest.approx(0.5)


def test_a_machine_without_a_gpu_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    app = typer.Typer()
    app.command()(accelerator)
    done = CliRunner().invoke(app, ["--out", str(tmp_path / "report")])
    assert done.exit_code == 2
    assert "bench.accelerator: torch finds no GPU; one that runs CUDA is needed" in done.output
    assert not (tmp_path / "report").exists()


def test_candidates_are_tiles_of_their_own() -> None:
    pytest.importorskip("triton")
    found = tiles.candidates()
    assert len(set(found)) == len(found)
    # Hopper's 227 KiB of shared memory for a program.
    assert all(one.shared_bytes <= 227 << 10 for one in found)
