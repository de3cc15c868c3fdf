"""The generalisation bound of theorem 3.2 of Vocabulary Transfer, term by term.

L(h_G) - inf over H_V of L  <=  L eps_RC  +  4 B L R_n(W_V')  +  2 C sqrt(log(1 / delta) / n)
"""

import math
from dataclasses import dataclass

CONSTANT = 3.0
"""C_gen, which the paper leaves open: the textbook bound with the empirical complexity has
3 sqrt(log(2 / delta) / (2 n)) (Mohri et al., 2018, theorem 3.3), at most this for delta <= 1/2."""


@dataclass(frozen=True)
class Bound:
    """The three terms; losses lie in [0, 1], so a total of 1 or more says nothing."""

    compatibility: float
    """What merging may cost: L eps_RC."""
    estimation: float
    """What learning from a sample may cost: 4 B L R_n."""
    confidence: float
    """What a sample by chance may cost."""

    @property
    def total(self) -> float:
        return self.compatibility + self.estimation + self.confidence


def generalisation_bound(
    *,
    complexity: float,
    compatibility_error: float,
    pairs: int,
    budget: float,
    lipschitz: float,
    failure_probability: float,
) -> Bound:
    """Evaluate theorem 3.2.

    Args:
        complexity: R_n of the features after coarse-graining.
        compatibility_error: eps_RC under the same budget.
        pairs: n.
        budget: B, the l1 norm of the weights of keys.
        lipschitz: L, how steep the loss is.
        failure_probability: delta, in (0, 1/2].
    """
    return Bound(
        compatibility=lipschitz * compatibility_error,
        estimation=4 * budget * lipschitz * complexity,
        confidence=2 * CONSTANT * math.sqrt(math.log(1 / failure_probability) / pairs),
    )
