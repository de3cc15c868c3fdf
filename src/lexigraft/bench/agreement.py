"""Whether two sides gave the same result: without it their times say nothing."""

from pathlib import Path

import numpy as np

from lexigraft.errors import LexigraftError

ROWS_AT_ONCE = 4096


def largest_difference(name: str, ours: Path, peer: Path, tolerance: float) -> float:
    """The largest difference of two folders of .npy files, as a share of the peer's largest value.

    Each array is judged by its own largest value; a gradient far smaller than another counts as
    much. Files are read in blocks of rows.

    Raises:
        LexigraftError: a side lacks an array, shapes differ, a value is not finite, or a difference
            is above `tolerance`. The message names the comparison and the array.
    """
    found = [sorted(path.stem for path in folder.glob("*.npy")) for folder in (ours, peer)]
    if found[0] != found[1] or not found[0]:
        raise LexigraftError(f"{name}: ours gives {found[0]}, the peer {found[1]}; not comparable")
    return max(_difference(name, ours, peer, array, tolerance) for array in found[0])


def missed_share(name: str, ours: Path, peer: Path, tolerance: float) -> float:
    """Share of our documents that an approximate peer missed: 1 - recall, the mean over queries.

    Both folders hold documents.npy, (Q, K) numbers of documents, negative where there is none.

    Raises:
        LexigraftError: it is above `tolerance`, or ours found nothing.
    """
    a, b = (np.load(folder / "documents.npy") for folder in (ours, peer))
    recalls = [
        np.isin(wanted[wanted >= 0], found).mean()
        for wanted, found in zip(a, b, strict=True)
        if (wanted >= 0).any()
    ]
    if not recalls:
        raise LexigraftError(f"{name}: ours finds no document, so there is no recall")
    missed = 1 - float(np.mean(recalls))
    if missed > tolerance:
        raise LexigraftError(
            f"{name}: the peer finds {1 - missed:.1%} of the documents of ours; "
            f"allowed: {1 - tolerance:.0%} or more"
        )
    return missed


def _difference(name: str, ours: Path, peer: Path, array: str, tolerance: float) -> float:
    a, b = (np.load(folder / f"{array}.npy", mmap_mode="r") for folder in (ours, peer))
    if a.shape != b.shape:
        raise LexigraftError(f"{name}: {array} of ours is {a.shape}, of the peer {b.shape}")
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    apart = largest = 0.0
    for start in range(0, len(b), ROWS_AT_ONCE):
        of_ours, of_peer = (side[start : start + ROWS_AT_ONCE] for side in (a, b))
        if not (np.isfinite(of_ours).all() and np.isfinite(of_peer).all()):
            raise LexigraftError(f"{name}: {array} holds values that are not finite")
        apart = max(apart, float(np.abs(of_ours - of_peer).max(initial=0.0)))
        largest = max(largest, float(np.abs(of_peer).max(initial=0.0)))
    share = apart / largest if largest else apart
    if share > tolerance:
        raise LexigraftError(
            f"{name}: {array} of ours and of the peer differ by {share:.2g} of the largest value; "
            f"allowed: {tolerance:.2g}"
        )
    return share
