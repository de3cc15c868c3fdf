"""Double log and sum pooling: against sentence-transformers, by hand, by differences."""

import math
from types import ModuleType
from typing import Any

import pytest
import torch
from sentence_transformers.sparse_encoder.modules import SpladePooling
from torch import Tensor
from torch.nn.functional import linear
from torch.utils._python_dispatch import TorchDispatchMode

from lexigraft.encoders import splade_sum
from lexigraft.encoders.splade import splade_pool
from lexigraft.specs.options import Activation, Pooling

B, L, H, V = 4, 7, 5, 11
OPTIONS: list[tuple[Activation, Pooling]] = [
    ("double_log", "max"),
    ("log1p", "sum"),
    ("double_log", "sum"),
]
MASKS = {
    "none": torch.ones(B, L),
    "right": torch.arange(L)[None] < torch.tensor([7, 3, 1, 5])[:, None],
    "holes": torch.tensor([[1, 0] * 3 + [1], [0, 1] * 3 + [0], [0] * 6 + [1], [1] * 7]),
    "an empty text": torch.arange(L)[None] < torch.tensor([7, 0, 2, 0])[:, None],
}


@pytest.fixture(autouse=True, params=["one tile", "tiles"])
def tile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "tiles":
        monkeypatch.setattr(splade_sum, "TILE_LOGITS", 1)
        monkeypatch.setattr(splade_sum, "LEAST_ENTRIES", 4)


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(
        torch.randn(shape, generator=generator, dtype=dtype).requires_grad_()
        for shape in ((B, L, H), (V, H), (V,))
    )


def peer(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor,
    *,
    activation: Activation,
    pooling: Pooling,
    shift: float = 0.0,
) -> Tensor:
    """sentence-transformers: logits of every position, then its module in training mode."""
    names = {"log1p": "relu", "double_log": "log1p_relu"}
    module = SpladePooling(pooling_strategy=pooling, activation_function=names[activation])
    logits = linear(hidden, weight, bias) - shift
    features = {"token_embeddings": logits, "attention_mask": mask}
    return module.train()(features)["sentence_embedding"]


@pytest.mark.parametrize(("activation", "pooling"), OPTIONS)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(("with_bias", "shift"), [(True, 0.0), (False, 0.75), (True, -0.5)])
def test_equals_sentence_transformers(
    activation: Activation, pooling: Pooling, mask: str, with_bias: bool, shift: float
) -> None:
    upstream = torch.randn(B, V, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    results = []
    options: dict[str, Any] = {"activation": activation, "pooling": pooling, "shift": shift}
    for head in (peer, splade_pool):
        hidden, weight, bias = inputs()
        rep = head(hidden, weight, bias if with_bias else None, MASKS[mask], **options)
        leaves = (hidden, weight, bias) if with_bias else (hidden, weight)
        results.append([rep.detach(), *torch.autograd.grad((rep * upstream).sum(), leaves)])
    torch.testing.assert_close(results[1], results[0], rtol=1e-12, atol=1e-12)


def test_by_hand() -> None:
    """Logits [2, -1] and [3, 1]: sums log 3 + log 4 and log 2, a double log of log(1 + log 4)."""
    words = (torch.tensor([[[2.0, -1.0], [3.0, 1.0]]]), torch.eye(2), None, torch.ones(1, 2))
    log = math.log
    for options, expected in (
        ({"pooling": "sum"}, [log(3) + log(4), log(2)]),
        ({"activation": "double_log"}, [log(1 + log(4)), log(1 + log(2))]),
        (
            {"activation": "double_log", "pooling": "sum"},
            [log(1 + log(3)) + log(1 + log(4)), log(1 + log(2))],
        ),
    ):
        assert splade_pool(*words, **options).tolist() == [pytest.approx(expected)]


@pytest.mark.parametrize(("activation", "pooling"), OPTIONS)
def test_gradcheck(activation: Activation, pooling: Pooling) -> None:
    def head(*leaves: Tensor) -> Tensor:
        return splade_pool(
            *leaves, MASKS["right"], shift=0.1, activation=activation, pooling=pooling
        )

    assert torch.autograd.gradcheck(head, inputs(), raise_exception=True)


def test_double_log_of_the_largest_entries_of_each_position() -> None:
    hidden, weight, bias = inputs()
    once, twice = (
        splade_pool(hidden, weight, bias, MASKS["holes"], top_k=3, activation=activation)
        for activation in ("log1p", "double_log")
    )
    assert 0 < once.count_nonzero() < once.numel()
    torch.testing.assert_close(twice, torch.log(1 + once))


@pytest.mark.parametrize(("activation", "pooling"), OPTIONS)
def test_under_autocast(activation: Activation, pooling: Pooling) -> None:
    """float32 from bfloat16 logits: each within 2^-8 of itself, as is a weight's derivative."""
    hidden, weight, bias = inputs(torch.float32)
    words = (hidden, weight, bias, MASKS["right"])
    expected = peer(*words, activation=activation, pooling=pooling)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = splade_pool(*words, activation=activation, pooling=pooling)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=3e-2, atol=3e-2)
    for a, b in zip(
        *(torch.autograd.grad(rep.sum(), (hidden, weight, bias)) for rep in (found, expected)),
        strict=True,
    ):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 3e-2 * b.norm()


@pytest.mark.parametrize("frozen", [0, 1, 2])
def test_what_is_frozen_gets_no_gradient(frozen: int) -> None:
    leaves = inputs()
    leaves[frozen].requires_grad_(False)
    splade_pool(*leaves, MASKS["none"], pooling="sum").sum().backward()
    assert [leaf.grad is None for leaf in leaves] == [i == frozen for i in range(3)]


def test_what_is_not_a_number_is_not_hidden_from_a_sum() -> None:
    hidden, weight, bias = (one.detach() for one in inputs())
    hidden[1, 2, 0] = torch.nan
    rep = splade_pool(hidden, weight, bias, MASKS["none"], pooling="sum")
    assert rep[1].isnan().all()
    assert rep[[0, 2, 3]].isfinite().all()
    rep = splade_pool(hidden, weight, bias, MASKS["holes"], pooling="sum")
    assert rep.isfinite().all()


def test_nothing_but_padding() -> None:
    hidden, weight, bias = inputs()
    rep = splade_pool(hidden, weight, bias, torch.zeros(B, L), pooling="sum")
    rep.sum().backward()
    assert rep.shape == (B, V)
    assert rep.count_nonzero() == 0
    assert hidden.grad is not None
    assert weight.grad is not None
    assert hidden.grad.count_nonzero() == weight.grad.count_nonzero() == 0


def test_a_sum_holds_no_tensor_as_large_as_all_logits() -> None:
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            for tensor in out if isinstance(out, tuple | list) else (out,):
                if isinstance(tensor, Tensor):
                    largest = max(largest, tensor.numel())
            return out

    texts, length, width, entries = 64, 256, 4, 1000
    hidden = torch.randn(texts, length, width, requires_grad=True)
    weight = torch.randn(entries, width, requires_grad=True)
    with Watch():
        rep = splade_pool(hidden, weight, None, torch.ones(texts, length), pooling="sum")
        rep.sum().backward()
    tile = max(splade_sum.TILE_LOGITS, splade_sum.LEAST_ENTRIES * texts * length)
    assert largest <= tile < texts * length * entries / 3


def test_double_log_of_the_kernels(kernels: ModuleType) -> None:
    results = []
    for head in (peer, splade_pool):
        hidden, weight, bias = inputs(torch.float32)
        rep = head(hidden, weight, bias, MASKS["holes"], activation="double_log", pooling="max")
        leaves = (hidden, weight, bias)
        results.append([rep.detach(), *torch.autograd.grad(rep.square().sum(), leaves)])
    torch.testing.assert_close(results[1], results[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"activation": "relu"}, "activation is 'relu'; it must be log1p or double_log"),
        ({"activation": "log", "pooling": "sum"}, "activation is 'log'; it must be"),
        ({"pooling": "mean"}, "pooling is 'mean'; it must be max or sum"),
        ({"pooling": "sum", "top_k": 3}, "top_k goes with max pooling only"),
        ({"pooling": "sum", "top_k": 10**6}, "top_k goes with max pooling only"),
    ],
)
def test_what_there_is_not_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        splade_pool(*inputs(), MASKS["none"], **options)
