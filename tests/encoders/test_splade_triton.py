"""The head's kernels in Triton's interpreter against the plain formula, and compiled for GPUs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint

from lexigraft.encoders import splade
from lexigraft.encoders.splade import splade_pool

pytest.importorskip("triton", reason="triton is not installed: pip install -e '.[gpu]'")

# No size is a multiple of a block: 16 entries, 16 positions, 32 or 64 of the width.
B, L, H, V = 3, 21, 70, 37


def plain(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor, shift: float = 0.0
) -> Tensor:
    logits = linear(hidden, weight, bias)
    return (torch.log1p(torch.relu(logits - shift).float()) * mask[:, :, None]).max(dim=1).values


def inputs(length: int = L, texts: int = B) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(shape, generator=generator).requires_grad_()
        for shape in ((texts, length, H), (V, H), (V,))
    )


MASKS = {
    "none": torch.ones(B, L),
    "right": torch.arange(L)[None] < torch.tensor([[21], [3], [16]]),
    "left": torch.arange(L)[None] >= torch.tensor([[0], [19], [4]]),
    "holes": torch.rand(B, L, generator=torch.Generator().manual_seed(1)) < 0.3,
    "an empty text": (torch.arange(L)[None] < torch.tensor([[18], [0], [2]])).long(),
}


def result_and_gradients(
    head: Callable[..., Tensor], mask: Tensor, with_bias: bool = True, **options: Any
) -> list[Tensor]:
    hidden, weight, bias = inputs(mask.shape[1], mask.shape[0])
    leaves = (hidden, weight, bias) if with_bias else (hidden, weight)
    rep = head(hidden, weight, bias if with_bias else None, mask, **options)
    upstream = torch.randn(rep.shape, generator=torch.Generator().manual_seed(9))
    return [rep.detach(), *torch.autograd.grad((rep * upstream).sum(), leaves)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("with_bias", "shift"), [(True, 0.0), (False, 2.5), (True, -0.5)])
def test_equals_the_plain_formula(
    kernels: ModuleType, mask: str, with_bias: bool, shift: float
) -> None:
    expected, found = (
        result_and_gradients(head, MASKS[mask], with_bias, shift=shift)
        for head in (plain, splade_pool)
    )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("texts", "length"), [(1, 1), (19, 1), (5, 3), (2, 16), (1, 33)])
def test_short_texts_share_a_tile(kernels: ModuleType, texts: int, length: int) -> None:
    generator = torch.Generator().manual_seed(2)
    mask = torch.rand(texts, length, generator=generator) < 0.8
    expected, found = (result_and_gradients(head, mask) for head in (plain, splade_pool))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_halves_are_rounded_before_they_are_compared(
    kernels: ModuleType, dtype: torch.dtype
) -> None:
    """Whole numbers: sums are exact in float32, and many of them are the same once rounded."""
    generator = torch.Generator().manual_seed(3)
    hidden_0, weight_0 = (200, 40) if dtype == torch.bfloat16 else (2000, 16)
    hidden = torch.randint(-4, 5, (B, L, H), generator=generator).to(dtype)
    hidden[:, :, 0] = hidden_0
    weight = torch.randint(-4, 5, (V, H), generator=generator).to(dtype)
    weight[:, 0] = weight_0
    bias = torch.randint(-4, 5, (V,), generator=generator).to(dtype)
    logits = (hidden.double() @ weight.double().T + bias.double()).to(dtype)
    logits.masked_fill_(~MASKS["right"][:, :, None], -torch.inf)
    ties = (logits == logits.amax(1, keepdim=True)).sum(1)
    assert (ties > 1).float().mean() > 0.05
    best, position = kernels.pool(hidden, weight, bias, MASKS["right"], True)
    assert best.dtype == dtype
    assert torch.equal(best, logits.amax(1))
    # numpy's argmax is the first one, by its documentation.
    assert position.tolist() == logits.float().numpy().argmax(1).tolist()


def test_bfloat16_autocast_equals_the_plain_formula_under_it(kernels: ModuleType) -> None:
    results = []
    for head in (plain, splade_pool):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            results.append(result_and_gradients(head, MASKS["holes"]))
    expected, found = results
    assert [one.dtype for one in found] == [torch.float32] * 4
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=0)
    torch.testing.assert_close(found[1:], expected[1:], rtol=3e-2, atol=3e-2)


def test_the_first_of_tied_positions_gets_the_gradient(kernels: ModuleType) -> None:
    hidden = torch.zeros(1, 40, 1)
    hidden[0, [5, 18, 39]] = 1.0  # in different blocks, the first one padding
    hidden.requires_grad_()
    mask = torch.ones(1, 40)
    mask[0, 5] = 0
    splade_pool(hidden, torch.tensor([[2.0]]), None, mask).sum().backward()
    assert hidden.grad is not None
    # d log(1 + x) / dx at x = 2, times the weight 2.
    assert hidden.grad.flatten().nonzero().tolist() == [[18]]
    assert hidden.grad[0, 18].item() == pytest.approx(2 / 3)


def test_what_is_not_a_number_is_not_hidden(kernels: ModuleType) -> None:
    for place in (0, 20):
        hidden, weight, bias = (one.detach() for one in inputs())
        hidden[1, place, 3] = torch.nan
        rep = splade_pool(hidden, weight, bias, MASKS["none"])
        assert rep[1].isnan().all()
        assert rep[[0, 2]].isfinite().all()
        hidden[1, place] = 0.0
        mask = MASKS["none"].clone()
        mask[1, place] = 0
        expected = splade_pool(hidden, weight, bias, mask)
        hidden[1, place] = torch.nan
        assert torch.equal(splade_pool(hidden, weight, bias, mask), expected)


def test_a_tied_weight_under_gradient_checkpointing(kernels: ModuleType) -> None:
    """Embeddings that are the decoder too: both gradients add up in one weight."""
    ids = torch.randint(V, (B, L), generator=torch.Generator().manual_seed(4))
    gradients = []
    for head in (plain, lambda *words: checkpoint(splade_pool, *words, use_reentrant=False)):
        _, weight, bias = inputs()
        rep = head(torch.tanh(weight[ids]), weight, bias, MASKS["right"])
        gradients.append(torch.autograd.grad(rep.square().sum(), (weight, bias)))
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-5, atol=1e-4)


def test_gradients_of_the_largest_entries_of_each_position(kernels: ModuleType) -> None:
    def kept_alone(hidden: Tensor, weight: Tensor, bias: Tensor, mask: Tensor) -> Tensor:
        logits = linear(hidden, weight, bias)
        kept = torch.zeros_like(logits).scatter(2, logits.topk(3, dim=2).indices, 1.0)
        return (torch.log1p(torch.relu(logits)) * kept * mask[:, :, None]).max(dim=1).values

    expected = result_and_gradients(kept_alone, MASKS["holes"])
    found = result_and_gradients(splade_pool, MASKS["holes"], top_k=3)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_only_what_is_needed_is_computed(kernels: ModuleType) -> None:
    hidden, weight, bias = (one.detach() for one in inputs())
    best, position = kernels.pool(hidden, weight, bias, MASKS["right"], False)
    assert position.shape == (0, V)
    torch.testing.assert_close(
        best.clamp(min=0).log1p(), plain(hidden, weight, bias, MASKS["right"])
    )
    weight.requires_grad_()
    splade_pool(hidden, weight, bias, MASKS["right"]).sum().backward()
    assert weight.grad is not None


@pytest.mark.parametrize("items", [1, 8])
def test_product_of_a_sparse_matrix_by_hand(kernels: ModuleType, items: int) -> None:
    """Row 0 takes twice the first and thrice the second row, row 2 that twice; row 1 is empty."""
    dense = torch.tensor([[1.0, 10.0], [2.0, 20.0]])
    row, column = torch.tensor([0, 0, 2, 2]), torch.tensor([0, 1, 1, 1])
    value = torch.tensor([2.0, 3.0, 1.0, 1.0])
    product = kernels.sparse_product(row, column, value, dense, 3, out=torch.float32, items=items)
    assert product.tolist() == [[8.0, 80.0], [0.0, 0.0], [4.0, 40.0]]


def test_nothing_in_nothing_out(kernels: ModuleType) -> None:
    hidden, weight, bias = inputs()
    rep = splade_pool(hidden, weight, bias, torch.zeros(B, L))
    rep.sum().backward()
    assert rep.count_nonzero() == 0
    assert hidden.grad is not None
    assert hidden.grad.shape == hidden.shape
    assert hidden.grad.count_nonzero() == 0
    best, position = kernels.pool(hidden[:, :0], weight, bias, torch.ones(B, 0).bool(), True)
    assert best.isneginf().all()
    assert position.shape == (B, V)


@pytest.mark.parametrize(
    ("change", "usable"),
    [
        ({}, True),
        ({"device": "cpu"}, False),
        ({"compute": torch.float64}, False),
        ({"capability": (7, 5)}, False),
        ({"cuda": None}, False),  # a build of torch for another maker's GPUs
        ({"triton": None}, False),
        ({"compiler": None}, False),
        ({"headers": "/nowhere"}, False),
    ],
)
def test_where_kernels_can_be_used(
    change: dict[str, Any], usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Python.h").touch()
    given = {"device": "cuda:0", "compute": torch.bfloat16, "capability": (8, 0), "cuda": "13.0"}
    given |= {"triton": "a spec", "compiler": "/bin/gcc", "headers": str(tmp_path)} | change
    monkeypatch.setattr(torch.version, "cuda", given["cuda"])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: given["capability"])
    monkeypatch.setattr(splade, "find_spec", lambda name: given["triton"])
    monkeypatch.setattr(splade, "which", lambda name: given["compiler"])
    monkeypatch.setattr(splade.sysconfig, "get_path", lambda name: given["headers"])
    found = splade._kernels.__wrapped__(torch.device(given["device"]), given["compute"])
    assert (found is not None) == usable


@pytest.mark.slow
def test_kernels_compile_for_gpus_without_spilling_registers(tmp_path: Path) -> None:
    """The compiler needs no GPU. Limits are those of the CUDA programming guide, less 1 KiB."""
    environment = {name: text for name, text in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / "compile_kernels.py", tmp_path],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(made) == 9
    for one in made:
        assert one["stack"] == 0, one
        assert one["shared"] <= {80: 99, 90: 227}[one["capability"]] << 10, one
        if one["kernel"] == "pool fp32":
            assert one["ptx"] == {"wgmma": False, "mma.sync": False, "fma.rn.f32": True}
        elif one["kernel"].startswith("pool"):
            assert one["ptx"]["wgmma" if one["capability"] == 90 else "mma.sync"]
