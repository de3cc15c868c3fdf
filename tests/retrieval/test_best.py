"""The best of blocks of scores, against sorting all of them."""

import numpy as np
import pytest

from lexigraft.retrieval.best import Best, string_order


def taken_in(ids: list[str], blocks: list[list[float]], depth: int, floor: float) -> Best:
    best = Best(depth, string_order(ids), 1)
    first = 0
    for block in blocks:
        best.add(0, np.array(block, dtype=np.float32), first, floor)
        first += len(block)
    return best


def test_by_hand() -> None:
    best = taken_in(["c", "b", "a", "z"], [[1.0, 2.0], [2.0, 0.0]], 3, 0.0)
    assert best.documents()[0].tolist() == [2, 1, 0]
    assert best.scores()[0].tolist() == [2.0, 2.0, 1.0]


def test_scores_keep_every_bit_and_sign() -> None:
    values = [-np.float32(1e-38), 3.4e38, -3.4e38, 1.0000001, 1.0, -1.0, 0.0, 1e-45]
    ids = [str(i) for i in range(len(values))]
    best = taken_in(ids, [values], 100, -np.inf)
    expected = np.sort(np.array(values, dtype=np.float32))[::-1]
    assert best.scores()[0].tobytes() == expected.tobytes()


def test_zero_and_minus_zero_tie() -> None:
    assert taken_in(["b", "a"], [[0.0, -0.0]], 2, -np.inf).documents()[0].tolist() == [1, 0]


def test_what_is_at_the_floor_is_no_hit() -> None:
    assert taken_in(["a", "b"], [[0.0, 0.0]], 5, 0.0).documents()[0].tolist() == []
    assert taken_in(["a", "b"], [[-np.inf, -1.0]], 5, -np.inf).documents()[0].tolist() == [1]


@pytest.mark.parametrize("depth", [1, 50, 3000])
@pytest.mark.parametrize("kind", ["ties", "sparse", "rising", "falling", "all equal"])
def test_against_sorting_everything(kind: str, depth: int) -> None:
    """Blocks large enough to be sampled, some of which the sample misjudges."""
    rng = np.random.default_rng(0)
    scores = {
        "ties": rng.integers(0, 5, 20_000),
        "sparse": rng.random(20_000) * (rng.random(20_000) < 0.01),
        "rising": np.arange(20_000),
        "falling": np.arange(20_000)[::-1],
        "all equal": np.ones(20_000),
    }[kind].astype(np.float32)
    # Every 64th document is what a sample sees: make those unlike the others.
    scores[::64] *= 3
    ids = [str(i) for i in rng.permutation(20_000)]
    best = taken_in(ids, [scores[:9_000].tolist(), scores[9_000:].tolist()], depth, 0.0)
    ranked = sorted((i for i in range(20_000) if scores[i] > 0), key=lambda i: (-scores[i], ids[i]))
    assert best.documents()[0].tolist() == ranked[:depth]
    assert best.scores()[0].tolist() == scores[ranked[:depth]].tolist()
