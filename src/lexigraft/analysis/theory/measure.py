"""Everything that section 3 says about one encoder, one normaliser and one sample of pairs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraft.analysis.theory.bound import Bound, generalisation_bound
from lexigraft.analysis.theory.coarse_graining import row_of
from lexigraft.analysis.theory.compatibility import key_errors, least_error
from lexigraft.analysis.theory.pairs import Features
from lexigraft.analysis.theory.rademacher import Complexity, rademacher_complexity
from lexigraft.specs.options import TheoryOptions

FEWEST = 16
"""Pairs at which the curve over samples begins."""
SOLVED = 8
"""Keys, worst first, whose error is bounded from below too."""


@dataclass(frozen=True)
class Theory:
    """Before and after coarse-graining, under the same signs."""

    before: Complexity
    after: Complexity
    pairwise: tuple[Complexity, Complexity] | None
    """Of differences, before and after."""
    errors: NDArray[np.float64]
    """(V,) error of each key, from above, under the budget."""
    least: float
    """eps_RC from below, under the budget."""
    bound_before: Bound
    bound: Bound
    largest: float
    """R: the largest feature."""
    keys: int
    """V': keys after coarse-graining."""
    active: NDArray[np.int64]
    """Keys of V that are active in some pair."""
    curve: list[tuple[int, float, float]]
    """Pairs, and the complexity before and after on the first so many of the sample."""

    @property
    def worst_key(self) -> int:
        return int(self.errors.argmax())

    @property
    def error(self) -> float:
        """eps_RC from above."""
        return float(self.errors.max())


def measure_theory(
    features: Features,
    graining: Any,
    canonical: NDArray[np.int64],
    options: TheoryOptions,
    seed: int,
) -> Theory:
    """Measure one coarse-graining.

    Args:
        features: of N pairs, sparse (N, V).
        graining: G, sparse (V', V).
        canonical: (V,) the map that G respects.
        options: budget, Lipschitz constant, draws and delta.
        seed: the signs.
    """
    own, merged = features.pointwise, (features.pointwise @ graining.T).tocsr()
    pairs = own.shape[0]

    def complexities(before: Any, after: Any) -> tuple[Complexity, Complexity]:
        first, second = (rademacher_complexity([u], options.draws, seed) for u in (before, after))
        return first, second

    before, after = complexities(own, merged)
    differences = features.pairwise
    errors = key_errors(own, merged, row_of(canonical))
    worst = [int(key) for key in errors.argsort(kind="stable")[::-1][:SOLVED] if errors[key] > 0]
    least = max((least_error(own, merged, key) for key in worst), default=0.0)

    def bound(complexity: Complexity, error: float) -> Bound:
        return generalisation_bound(
            complexity=complexity.mean,
            compatibility_error=options.budget * error,
            pairs=pairs,
            budget=options.budget,
            lipschitz=options.lipschitz,
            failure_probability=options.failure_probability,
        )

    return Theory(
        before=before,
        after=after,
        pairwise=None
        if differences is None
        else complexities(differences, differences @ graining.T),
        errors=options.budget * errors,
        least=options.budget * least,
        bound_before=bound(before, 0.0),
        bound=bound(after, float(errors.max())),
        largest=float(own.max()) if own.nnz else 0.0,
        keys=graining.shape[0],
        active=np.unique(own.indices),
        curve=_curve(own, merged, options.draws, seed),
    )


def _curve(own: Any, merged: Any, draws: int, seed: int) -> list[tuple[int, float, float]]:
    sizes = [own.shape[0]]
    while sizes[-1] // 2 >= FEWEST:
        sizes.append(sizes[-1] // 2)
    points = []
    for size in reversed(sizes):
        first = [rademacher_complexity([u[:size]], draws, seed).mean for u in (own, merged)]
        points.append((size, first[0], first[1]))
    return points
