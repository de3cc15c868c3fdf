"""Peak memory of one call, as the kernel counts it: all threads and libraries, not Python alone."""

import ctypes
import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError

STATUS = Path("/proc/self/status")
CLEAR_REFS = Path("/proc/self/clear_refs")
RESET_PEAK = "5"
"""Written to clear_refs, it sets the peak (VmHWM) to what is resident now (man 5 proc)."""


@dataclass(frozen=True)
class Peak:
    """Memory of a call, in bytes."""

    extra: int
    """At its peak, beyond what the process held before."""
    total: int
    """At its peak, of the whole process."""


def peak_of(call: Callable[[], Any]) -> Peak:
    """Call once and measure.

    What freed blocks the allocator keeps is given back first, so that it does not serve the call
    unseen.

    Raises:
        LexigraftError: the kernel does not let the peak be reset (it is Linux's to do).
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    try:
        CLEAR_REFS.write_text(RESET_PEAK, encoding="ascii")
        before = _status("VmRSS")
        value = call()
        peak = _status("VmHWM")
    except OSError as error:
        raise LexigraftError(
            f"{error.filename}: peak memory cannot be measured ({error})"
        ) from None
    del value
    return Peak(max(0, peak - before), peak)


def _status(name: str) -> int:
    lines = STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    line = next(line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
