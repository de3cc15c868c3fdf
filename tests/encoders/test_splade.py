"""The fused head against the plain formula, values and gradients."""

import math

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from lexigraft.bench.memory import peak_of
from lexigraft.encoders import splade, splade_cpu
from lexigraft.encoders.splade import splade_pool

B, L, H, V = 4, 7, 5, 11


def plain(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, mask: Tensor, shift: float = 0.0
) -> Tensor:
    logits = hidden @ weight.T if bias is None else hidden @ weight.T + bias
    terms = torch.log1p(torch.relu(logits - shift)) * mask[:, :, None]
    return terms.max(dim=1).values


def inputs(seed: int = 0, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()
        for shape in ((B, L, H), (V, H), (V,))
    )


MASKS = {
    "none": torch.ones(B, L),
    "right": (torch.arange(L)[None] < torch.tensor([7, 3, 1, 5])[:, None]).long(),
    "left": (torch.arange(L)[None] >= torch.tensor([0, 6, 2, 4])[:, None]).long(),
    "holes": torch.tensor([[1, 0] * 3 + [1], [0, 1] * 3 + [0], [0] * 6 + [1], [1] * 7]),
    "an empty text": (torch.arange(L)[None] < torch.tensor([7, 0, 2, 0])[:, None]).bool(),
}


@pytest.fixture(params=["packed", "tiles", "screened", "padded"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The CPU's ways in one tile, in many tiles and groups, rounded first; the accelerator's."""
    if request.param == "screened":
        monkeypatch.setattr(splade, "pool", splade_cpu._pool_screened)
    if request.param in ("tiles", "screened"):
        monkeypatch.setattr(splade_cpu, "TILE_ENTRIES", 4)
        monkeypatch.setattr(splade_cpu, "GROUP_TOKENS", 8)
    if request.param == "padded":
        monkeypatch.setattr(splade, "pool", lambda *a: splade._pool_padded(*a[:4]))
    return str(request.param)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("shift", [0.0, 0.75, -0.5])
def test_equals_the_plain_formula(path: str, mask: str, with_bias: bool, shift: float) -> None:
    upstream = torch.randn(B, V, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    results = []
    for pool in (plain, splade_pool):
        hidden, weight, bias = inputs()
        rep = pool(hidden, weight, bias if with_bias else None, MASKS[mask], shift=shift)
        (rep * upstream).sum().backward()
        results.append([rep.detach(), hidden.grad, weight.grad, *([bias.grad] * with_bias)])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_by_hand() -> None:
    """Logits [2, -1], [3, -4] with a bias of 1 on the second entry: log 4 and a dead entry."""
    hidden = torch.tensor([[[2.0, -1.0], [3.0, -4.0]]])
    rep = splade_pool(hidden, torch.eye(2), torch.tensor([0.0, 1.0]), torch.ones(1, 2))
    assert rep.tolist() == [[pytest.approx(math.log(4)), 0.0]]
    shifted = splade_pool(
        hidden, torch.eye(2), torch.tensor([0.0, 1.0]), torch.ones(1, 2), shift=2.0
    )
    assert shifted.tolist() == [[pytest.approx(math.log(2)), 0.0]]


def test_a_positive_shift_is_subtracted_like_a_bias() -> None:
    hidden, weight, bias = inputs()
    mask = MASKS["right"]
    shifted = splade_pool(hidden, weight, bias, mask, shift=0.4)
    torch.testing.assert_close(shifted, splade_pool(hidden, weight, bias - 0.4, mask))


def test_the_first_of_tied_positions_gets_the_gradient(path: str) -> None:
    hidden = torch.ones(1, 3, 1, requires_grad=True)
    mask = torch.tensor([[0, 1, 1]])
    splade_pool(hidden, torch.tensor([[2.0]]), None, mask).sum().backward()
    # d log(1 + x) / dx at x = 2, times the weight 2, at the first real position only.
    assert hidden.grad is not None
    assert hidden.grad.flatten().tolist() == [0.0, pytest.approx(2 / 3), 0.0]


def test_texts_of_a_single_position(path: str) -> None:
    hidden, weight, bias = inputs()
    mask = torch.ones(B, 1)
    rep = splade_pool(hidden[:, :1], weight, bias, mask)
    torch.testing.assert_close(rep, plain(hidden[:, :1], weight, bias, mask))


def test_gradcheck(path: str) -> None:
    mask = MASKS["right"]
    assert torch.autograd.gradcheck(
        lambda h, w, b: splade_pool(h, w, b, mask, shift=0.1), inputs(3), raise_exception=True
    )


@pytest.mark.parametrize("k", [1, 3, V, V + 5])
@pytest.mark.parametrize("tile", [2, 4, 2048])
def test_top_k_of_each_position(k: int, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splade, "TILE_ENTRIES", tile)
    mask = MASKS["an empty text"]
    upstream = torch.randn(B, V, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    hidden, weight, bias = inputs()
    logits = hidden @ weight.T + bias
    kept = torch.zeros_like(logits).scatter(2, logits.topk(min(k, V), dim=2).indices, 1.0)
    expected = (torch.log1p(torch.relu(logits)) * kept * mask[:, :, None]).max(1).values
    gradients = torch.autograd.grad((expected * upstream).sum(), (hidden, weight, bias))
    rep = splade_pool(hidden, weight, bias, mask, top_k=k)
    found = torch.autograd.grad((rep * upstream).sum(), (hidden, weight, bias))
    torch.testing.assert_close(rep, expected)
    torch.testing.assert_close(found, gradients)


def test_top_k_keeps_what_is_above_zero_only() -> None:
    hidden = torch.tensor([[[1.0, -1.0, -2.0]]])
    rep = splade_pool(hidden, torch.eye(3), None, torch.ones(1, 1), top_k=2)
    assert rep.tolist() == [[pytest.approx(math.log(2)), 0.0, 0.0]]


@pytest.mark.parametrize("k", [0, -1])
def test_a_top_k_that_keeps_nothing_is_refused(k: int) -> None:
    hidden, weight, bias = inputs()
    with pytest.raises(ValueError, match="at least 1"):
        splade_pool(hidden, weight, bias, MASKS["none"], top_k=k)


def test_bfloat16_autocast_equals_the_plain_formula_under_it(path: str) -> None:
    results = []
    for pool in (
        lambda h, w, b, m: (
            (torch.log1p(torch.relu(torch.nn.functional.linear(h, w, b)).float()) * m[:, :, None])
            .max(1)
            .values
        ),
        splade_pool,
    ):
        hidden, weight, bias = inputs(dtype=torch.float32)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rep = pool(hidden, weight, bias, MASKS["right"])
        rep.sum().backward()
        assert rep.dtype == torch.float32
        results.append((rep.detach(), hidden.grad, weight.grad, bias.grad))
    torch.testing.assert_close(results[1][0], results[0][0], rtol=0, atol=0)
    for expected, found in zip(*(r[1:] for r in results), strict=True):
        torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_under_gradient_checkpointing() -> None:
    mask = MASKS["right"]
    gradients = []
    for pool in (
        splade_pool,
        lambda *a: checkpoint(splade_pool, *a, use_reentrant=False),
    ):
        hidden, weight, bias = inputs()
        pool(hidden, weight, bias, mask).square().sum().backward()
        gradients.append((hidden.grad, weight.grad, bias.grad))
    torch.testing.assert_close(*gradients)


def test_frozen_weights_get_no_gradient() -> None:
    hidden, weight, bias = inputs()
    weight.requires_grad_(False)
    splade_pool(hidden, weight, bias, MASKS["none"]).sum().backward()
    assert weight.grad is None
    assert hidden.grad is not None


def test_what_is_not_a_number_is_not_hidden(path: str) -> None:
    hidden, weight, bias = inputs()
    broken = hidden.detach().clone()
    broken[1, 0, 0] = torch.nan
    rep = splade_pool(broken, weight, bias, MASKS["none"])
    assert rep[1].isnan().all()
    assert rep[[0, 2, 3]].isfinite().all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_rounding_hides_no_active_entry(scale: float) -> None:
    """Entries a hair above and below the shift: found exactly as in the plain formula."""
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(3, 9, 300, generator=generator) * scale
    weight = torch.randn(5000, 300, generator=generator)
    mask = torch.ones(3, 9, dtype=torch.bool)
    best = (hidden @ weight.T).amax(1)[0]
    hair = torch.finfo(torch.float32).eps * best.abs().max()
    bias = -best + hair * torch.randn(5000, generator=generator).sign() * 8
    found, position = splade_cpu._pool_screened(hidden, weight, bias, mask, 0.0, True)
    expected, first = splade_cpu._pool_packed(hidden, weight, bias, mask, 0.0, True)
    assert 2000 < int((expected[0] > 0).sum()) < 3000
    assert torch.equal(found > 0, expected > 0)
    assert torch.equal(position[expected > 0], first[expected > 0])
    torch.testing.assert_close(found, expected, rtol=0, atol=float(hair) * 4)


@pytest.mark.parametrize(("of_hidden", "of_weight"), [(1e-24, 1.0), (1.0, 1e-24), (1e18, 1e-24)])
def test_numbers_whose_squares_vanish_are_not_lost(of_hidden: float, of_weight: float) -> None:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(2, 4, 32, generator=generator) * of_hidden
    weight = torch.randn(104, 32, generator=generator) * of_weight
    mask = torch.ones(2, 4, dtype=torch.bool)
    found, position = splade_cpu._pool_screened(hidden, weight, None, mask, 0.0, True)
    expected, first = splade_cpu._pool_packed(hidden, weight, None, mask, 0.0, True)
    assert torch.equal(found > 0, expected > 0)
    assert torch.equal(position[expected > 0], first[expected > 0])


@pytest.mark.parametrize("pooling", ["max", "sum"])
@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_nothing_has_gradients_of_nothing(pooling: str, shape: tuple[int, int, int]) -> None:
    texts, length, entries = shape
    hidden = torch.ones(texts, length, 5, requires_grad=True)
    weight = torch.ones(entries, 5, requires_grad=True)
    rep = splade_pool(hidden, weight, None, torch.ones(texts, length), pooling=pooling)
    assert rep.shape == (texts, entries)
    rep.sum().backward()
    assert hidden.grad is not None
    assert weight.grad is not None
    assert hidden.grad.shape == hidden.shape


def test_autocast_leaves_double_precision_alone() -> None:
    hidden, weight, bias = inputs()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rep = splade_pool(hidden, weight, bias, MASKS["right"])
    assert rep.dtype == torch.float64
    torch.testing.assert_close(rep, plain(hidden, weight, bias, MASKS["right"]))


def test_rounding_rules_out_most_of_what_is_inactive() -> None:
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(2, 64, 768, generator=generator)
    weight = torch.randn(4096, 768, generator=generator) / 768**0.5
    bias = torch.full((4096,), -3.6)
    mask = torch.ones(2, 64, dtype=torch.bool)
    active = ((hidden @ weight.T + bias).amax(1) > 0).float().mean()
    kept = splade_cpu._not_surely_inactive(hidden, weight, bias, mask, 0.0).float().mean()
    assert 0.005 < active <= kept < 3 * active


@pytest.mark.parametrize(
    ("bias", "width", "texts", "dtype", "expected"),
    [
        (-5.0, 256, 8, torch.float32, True),
        (-1.0, 256, 8, torch.float32, False),  # too much is active
        (-5.0, 128, 8, torch.float32, False),  # too narrow
        (-5.0, 256, 2, torch.float32, False),  # too few tokens
        (-5.0, 256, 8, torch.float64, False),
    ],
)
def test_when_logits_are_rounded_first(
    bias: float,
    width: int,
    texts: int,
    dtype: torch.dtype,
    expected: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(splade_cpu, "_fast_bfloat16", lambda: True)
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(texts, 40, width, generator=generator, dtype=dtype)
    weight = torch.randn(1000, width, generator=generator, dtype=dtype) / width**0.5
    biases = torch.full((1000,), bias, dtype=dtype)
    mask = torch.ones(texts, 40, dtype=torch.bool)
    assert splade_cpu._worth_screening(hidden, weight, biases, mask, 0.0) is expected
    monkeypatch.setattr(splade_cpu, "_fast_bfloat16", lambda: False)
    assert splade_cpu._worth_screening(hidden, weight, biases, mask, 0.0) is False


def test_no_tensor_is_as_large_as_all_logits() -> None:
    """The whole forward and backward pass allocates nothing of B x L x V values."""
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, tuple | list) else (out,):
                if isinstance(tensor, Tensor) and not tensor.is_sparse:
                    largest = max(largest, tensor.numel())
            return out

    texts, length, width, entries = 64, 64, 8, 4000
    hidden = torch.randn(texts, length, width, requires_grad=True)
    weight = torch.randn(entries, width, requires_grad=True)
    with Watch():
        splade_pool(hidden, weight, None, torch.ones(texts, length)).sum().backward()
    assert (
        largest <= splade_cpu.GROUP_TOKENS * splade_cpu.TILE_ENTRIES < texts * length * entries / 4
    )


def test_inactive_entries_cost_no_memory_in_the_backward_pass() -> None:
    entries, width = 200_000, 64
    hidden = torch.ones(1, 2, width, requires_grad=True)
    weight = torch.full((entries, width), -1.0)
    weight[7] = 1.0
    weight.requires_grad_()
    gradients = []

    def step() -> None:
        rep = splade_pool(hidden, weight, None, torch.ones(1, 2))
        gradients.extend(torch.autograd.grad(rep.sum(), (hidden, weight)))

    # The dense gradient is 51 MB, of which one row is not zero.
    assert peak_of(step).extra < entries * width * 4 / 2
    # d log(1 + x) / dx at x = 64, times the hidden state of ones.
    assert gradients[1][7].tolist() == pytest.approx([1 / 65] * width)
    gradients[1][7] = 0
    assert gradients[1].count_nonzero() == 0


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_positions_are_looked_for_only_where_there_is_a_gradient(
    mode: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracked = []

    def spy(*arguments: object) -> tuple[Tensor, Tensor]:
        tracked.append(arguments[-1])
        return splade_cpu.pool(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(splade, "pool", spy)
    hidden, weight, bias = inputs()
    mask = torch.ones(hidden.shape[:2])
    weight.requires_grad_()
    with_gradient = splade_pool(hidden, weight, bias, mask)
    with mode():
        assert torch.equal(splade_pool(hidden, weight, bias, mask), with_gradient)
    assert tracked == [True, False]
