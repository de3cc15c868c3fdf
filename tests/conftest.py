"""What all tests share: where the repository is, and the material that lies beside it."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# One thread, as a job of the workflow has: sums of floats depend on how many there are. Set before
# anything imports torch, for this process and those that tests start.
os.environ["OMP_NUM_THREADS"] = "1"
# Triton's kernels run without a GPU, in its interpreter: read when triton is first imported.
os.environ["TRITON_INTERPRET"] = "1"

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile` the tests of a file run in one process; those of the two files that
    read the smoke run too, so that it is made once."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = str(super()._split_scope(nodeid))
            return "smoke" if file.endswith(("/test_smoke.py", "/test_restart.py")) else file

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real tokenizers and judged collections beside the repository; skips where they are absent."""
    if not SHARED.is_dir():
        pytest.skip(
            f"{SHARED} is absent: no real tokenizers and judged collections to check against"
        )
    return SHARED


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The kernels, used by `splade_pool` on the CPU, with the smallest tile there is."""
    reason = "triton is not installed: pip install -e '.[gpu]'"
    triton = pytest.importorskip("triton", reason=reason)
    import torch
    from triton.runtime import interpreter

    from lexigraft.encoders import splade, splade_triton

    assert isinstance(splade_triton._pool, interpreter.InterpretedFunction)
    # The interpreter multiplies bfloat16 as the bits it keeps them in, and cuts off where a GPU
    # rounds to the nearest.
    multiply, cast = (
        getattr(interpreter.InterpreterBuilder, name) for name in ("create_dot", "cast_impl")
    )
    bfloat16, float32 = triton.language.bfloat16, triton.language.float32

    def multiply_values(builder: Any, a: Any, b: Any, *rest: Any) -> Any:
        if a.dtype.scalar == bfloat16:
            a, b = (cast(builder, one, float32) for one in (a, b))
        return multiply(builder, a, b, *rest)

    def cast_to_nearest(builder: Any, value: Any, kind: Any) -> Any:
        if (value.dtype.scalar, kind.scalar) != (float32, bfloat16):
            return cast(builder, value, kind)
        nearest = torch.as_tensor(value.data).bfloat16().view(torch.uint16)
        return interpreter.TensorHandle(nearest.numpy(), bfloat16)

    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_dot", multiply_values)
    monkeypatch.setattr(interpreter.InterpreterBuilder, "cast_impl", cast_to_nearest)
    smallest = splade_triton.Tile(16, 16, warps=4, stages=1)
    monkeypatch.setattr(splade_triton, "tile_for", lambda hidden: smallest)
    monkeypatch.setattr(splade, "_kernels", lambda device, compute: splade_triton)
    return splade_triton
