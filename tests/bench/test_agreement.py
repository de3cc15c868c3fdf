"""A comparison whose results differ is an error that says so, not a number."""

from pathlib import Path

import numpy as np
import pytest

from lexigraft.bench.agreement import largest_difference, missed_share
from lexigraft.errors import LexigraftError


def save(folder: Path, **arrays: object) -> Path:
    folder.mkdir()
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", np.array(array, dtype=np.float32))
    return folder


def test_the_difference_is_a_share_of_the_peers_largest_value(tmp_path: Path) -> None:
    ours = save(tmp_path / "ours", a=[[1.0, -4.0], [2.0, 0.0]], b=3.0)
    peer = save(tmp_path / "peer", a=[[1.0, -4.0], [2.0, 1.0]], b=3.0)
    assert largest_difference("x", ours, peer, 0.3) == pytest.approx(0.25)


def test_each_array_is_judged_by_its_own_largest_value(tmp_path: Path) -> None:
    ours = save(tmp_path / "ours", large=[1000.0], small=[0.001])
    peer = save(tmp_path / "peer", large=[1000.0], small=[0.002])
    sentence = "x: small of ours and of the peer differ by 0.5 of the largest value; allowed: 0.01"
    with pytest.raises(LexigraftError, match=sentence):
        largest_difference("x", ours, peer, 0.01)


def test_a_difference_in_the_last_block_of_rows_counts(tmp_path: Path) -> None:
    one = np.ones((10_001, 2))
    other = one.copy()
    other[-1, 1] = 2
    ours, peer = save(tmp_path / "ours", a=one), save(tmp_path / "peer", a=other)
    with pytest.raises(LexigraftError, match=r"differ by 0\.5"):
        largest_difference("x", ours, peer, 1e-3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("side", ["ours", "peer"])
def test_what_is_no_number_never_agrees(tmp_path: Path, wrong: float, side: str) -> None:
    values = {"ours": [1.0, 2.0], "peer": [1.0, 2.0]}
    values[side][0] = wrong
    folders = [save(tmp_path / name, a=values[name]) for name in ("ours", "peer")]
    with pytest.raises(LexigraftError, match="x: a holds values that are not finite"):
        largest_difference("x", *folders, 1e9)


def test_other_shapes_and_missing_arrays_are_told(tmp_path: Path) -> None:
    ours = save(tmp_path / "ours", a=[1.0, 2.0])
    with pytest.raises(LexigraftError, match=r"a of ours is \(2,\), of the peer \(1,\)"):
        largest_difference("x", ours, save(tmp_path / "p1", a=[1.0]), 0.1)
    with pytest.raises(LexigraftError, match=r"ours gives \['a'\], the peer \['b'\]"):
        largest_difference("x", ours, save(tmp_path / "p2", b=[1.0, 2.0]), 0.1)


def test_recall_is_what_the_peer_finds_of_ours(tmp_path: Path) -> None:
    """By hand: 2 of 3, 1 of 1 (the place without a document counts for nothing), and no query."""
    found = {
        "ours": [[1, 2, 3], [4, -1, -1], [-1, -1, -1]],
        "peer": [[3, 9, 1], [4, -1, 7], [5, 6, 7]],
    }
    folders = []
    for side, documents in found.items():
        (tmp_path / side).mkdir()
        np.save(tmp_path / side / "documents.npy", np.array(documents))
        folders.append(tmp_path / side)
    assert missed_share("x", *folders, 0.2) == pytest.approx(1 - (2 / 3 + 1) / 2)
    sentence = "x: the peer finds 83.3% of the documents of ours; allowed: 90% or more"
    with pytest.raises(LexigraftError, match=sentence):
        missed_share("x", *folders, 0.1)
    np.save(folders[0] / "documents.npy", np.full((3, 3), -1))
    with pytest.raises(LexigraftError, match="x: ours finds no document"):
        missed_share("x", *folders, 0.1)
