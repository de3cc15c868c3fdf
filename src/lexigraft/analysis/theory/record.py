"""What was measured, as the theory stage writes it down."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraft.analysis.theory.measure import Theory
from lexigraft.specs.options import TheoryOptions
from lexigraft.vocabulary.pieces import Pieces

PER_DRAW = ("complexity", "complexity_pairwise", "estimation", "bound")
"""Measures that are linear in the norm, and so have a value under each draw of signs."""


def measures(theory: Theory) -> dict[str, Any]:
    """What tables read."""
    pairwise = theory.pairwise[1] if theory.pairwise else None
    return {
        "pairs": theory.curve[-1][0],
        "keys": theory.keys,
        "complexity": theory.after.mean,
        "complexity_error": theory.after.error,
        "complexity_pairwise": pairwise.mean if pairwise else None,
        "complexity_pairwise_error": pairwise.error if pairwise else None,
        "compatibility_error": theory.error,
        "compatibility_error_least": theory.least,
        "estimation": theory.bound.estimation,
        "confidence": theory.bound.confidence,
        "bound": theory.bound.total,
    }


def per_draw(theory: Theory, options: TheoryOptions) -> dict[str, dict[str, float]]:
    """Measure to draw to value, by which claims are tested."""
    norms = theory.after.norms
    estimation = 4 * options.budget * options.lipschitz * norms
    rest = theory.bound.compatibility + theory.bound.confidence
    values = {"complexity": norms, "estimation": estimation, "bound": rest + estimation}
    if theory.pairwise is not None:
        values["complexity_pairwise"] = theory.pairwise[1].norms
    return {
        name: {f"draw {number}": float(value) for number, value in enumerate(values[name])}
        for name in PER_DRAW
        if name in values
    }


def details(theory: Theory, pieces: Pieces, canonical: NDArray[np.int64]) -> Mapping[str, Any]:
    """What else there is to know: the vocabulary as it was, what fell by how much, the worst key
    and what it is merged with, the complexity over sample sizes."""
    before, drop = theory.before, theory.before.norms - theory.after.norms
    merged = np.flatnonzero(np.bincount(canonical)[canonical] > 1)
    worst = [
        int(key)
        for key in np.flatnonzero(canonical == canonical[theory.worst_key])
        if theory.error > 0
    ]
    return {
        "keys_before": len(canonical),
        "keys_merged": len(merged),
        "active_keys": len(theory.active),
        "active_keys_merged": len(np.intersect1d(theory.active, merged)),
        "largest_feature": theory.largest,
        "complexity_before": before.mean,
        "complexity_before_error": before.error,
        "complexity_pairwise_before": theory.pairwise[0].mean if theory.pairwise else None,
        "complexity_drop": float(drop.mean()),
        "complexity_drop_error": float(drop.std(ddof=1) / np.sqrt(len(drop))),
        "complexity_drop_least": float(drop.min()),
        "bound_before": theory.bound_before.total,
        "worst_key": pieces.shown(theory.worst_key) if worst else None,
        "worst_group": [pieces.shown(key) for key in worst],
        "curve": [
            {"pairs": size, "before": first, "after": second}
            for size, first, second in theory.curve
        ],
    }
