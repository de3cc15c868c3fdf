"""Peak memory sees what a call holds at once, not what it returns or what was held before."""

import numpy as np

from lexigraft.bench.memory import peak_of

MIB = 2**20
SLACK = 4 * MIB


def test_an_allocation_of_known_size_is_seen() -> None:
    held = np.ones(32 * MIB, dtype=np.uint8)

    def call() -> int:
        freed = np.ones(64 * MIB, dtype=np.uint8)
        del freed
        return int(np.ones(48 * MIB, dtype=np.uint8)[0])

    peak = peak_of(call)
    assert abs(peak.extra - 64 * MIB) < SLACK
    assert peak.total > peak.extra + held.nbytes


def test_each_call_has_its_own_peak() -> None:
    peak_of(lambda: np.ones(64 * MIB, dtype=np.uint8))
    assert peak_of(lambda: np.ones(8 * MIB, dtype=np.uint8)).extra < 8 * MIB + SLACK
    assert peak_of(lambda: None).extra < SLACK
