"""The registered initialisation strategies and what each of them is given and gives back.

M overlapping tokens (anchors), N new tokens, H width of the source, D width of the target.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from lexigraft.errors import LexigraftError
from lexigraft.vocabulary.overlap import Overlap

NEIGHBOURS = 5
"""How many of the heaviest anchors of a new token are kept for the report, as in table 4."""


@dataclass(frozen=True, eq=False)
class Material:
    """What a strategy may use. Statistics are taken over the anchors, never over rows of the
    source matrix that no token uses."""

    source_embeddings: torch.Tensor
    """(V or more, H) embedding matrix of the source, as it is, unused rows included."""
    overlap: Overlap
    target_embeddings: torch.Tensor | None
    """(V' or more, D) embedding matrix of the target."""
    pieces: Mapping[int, Sequence[int]] | None
    """Source ids of each new target id's sub-tokens; none where it cannot be written."""
    generator: torch.Generator | None
    """Source of random numbers, on the CPU; None for torch's own."""

    @property
    def anchors(self) -> torch.Tensor:
        """(M, H) source rows of the overlapping tokens, float32 (or wider)."""
        return at_least_float32(self.source_embeddings[self.overlap.source_ids])


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The anchors that new tokens were mixed from."""

    support: torch.Tensor
    """(N,) int64: how many anchors have weight."""
    source_ids: torch.Tensor
    """(N, NEIGHBOURS or fewer) int64: ids of the heaviest in the source vocabulary, in order."""
    weights: torch.Tensor
    """The same shape: their weights, zero beyond the support."""


@dataclass(frozen=True, eq=False)
class NewRows:
    """What a strategy gives back."""

    rows: torch.Tensor
    """(N, H): row of each new token, in the order of `overlap.new_ids`."""
    missing: torch.Tensor
    """(N,) bool: rows that the strategy has nothing to make from; they get the fallback."""
    neighbours: Neighbours | None = None
    """What the rows were mixed from, where they were mixed from anchors."""
    anchors: torch.Tensor | None = None
    """(M, H): rows of the overlapping tokens, only from a strategy that does not keep theirs."""


def weighted_rows(
    rows_MH: torch.Tensor, indices: torch.Tensor, weights: torch.Tensor, lengths_N: torch.Tensor
) -> torch.Tensor:
    """(N, H) weighted sums of rows: sum i has the next lengths_N[i] of `indices` and `weights`.

    No terms make a zero row; nothing larger than the result is held.
    """
    offsets_N = lengths_N.cumsum(0) - lengths_N
    return torch.nn.functional.embedding_bag(
        indices, rows_MH, offsets_N, mode="sum", per_sample_weights=weights.to(rows_MH.dtype)
    )


Strategy = Callable[[Material], NewRows]
STRATEGIES: dict[str, Strategy] = {}


def strategy(name: str) -> Callable[[Strategy], Strategy]:
    """Register an initialisation strategy under the name that a config gives it."""

    def register(function: Strategy) -> Strategy:
        STRATEGIES[name] = function
        return function

    return register


def find_strategy(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        LexigraftError: there is none; the message lists those there are.
    """
    if name not in STRATEGIES:
        raise LexigraftError(
            f"initialisation: no strategy {name!r}; it is one of {', '.join(STRATEGIES)}"
        )
    return STRATEGIES[name]


def at_least_float32(values: torch.Tensor) -> torch.Tensor:
    return values if values.dtype == torch.float64 else values.float()
