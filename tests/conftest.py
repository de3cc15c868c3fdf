"""What all tests share: where the repository is, and the material that lies beside it."""

import os
from pathlib import Path

import pytest

# One thread, as a job of the workflow has: sums of floats depend on how many there are. Set before
# anything imports torch, for this process and those that tests start.
os.environ["OMP_NUM_THREADS"] = "1"
# Triton's kernels run without a GPU, in its interpreter: read when triton is first imported.
os.environ["TRITON_INTERPRET"] = "1"

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


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
