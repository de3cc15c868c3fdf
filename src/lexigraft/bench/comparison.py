"""What is compared: two ways to the same result, and the list of such pairs.

To add a comparison: write the two functions that prepare it in a module of
`lexigraft.bench.comparisons` and put it into that module's `COMPARISONS` (a new module is named in
`MODULES`). These modules import what is heavy inside those functions, so that all names can be
listed at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, get_args

from numpy.typing import NDArray

from lexigraft.bench.comparisons import MODULES
from lexigraft.errors import LexigraftError

Sizes = Literal["full", "small"]
SideName = Literal["ours", "peer"]
SIDES: tuple[SideName, ...] = get_args(SideName)


@dataclass(frozen=True)
class Work:
    """What one side does."""

    run: Callable[[], Any]
    """The call that is timed."""
    arrays: Callable[[Any], Mapping[str, NDArray[Any]]] = lambda result: {}
    """What the first call returned, as named arrays that must be those of the other side."""


Prepare = Callable[..., Work]
"""Makes the material of a side, the same for both, from the values of a size."""


@dataclass(frozen=True)
class Target:
    """What a comparison must reach at full size; None where nothing is asked."""

    time: float | None = None
    """Least ratio of the peer's time to ours."""
    memory: float | None = None
    """Largest ratio of our peak extra memory to the peer's."""
    total_bytes: int | None = None
    """Largest memory of our whole process."""


@dataclass(frozen=True)
class Comparison:
    """Ours and a peer, on the same material."""

    name: str
    title: str
    """May name values of a size, such as {documents}."""
    peer: str
    """Name of the peer, for people."""
    ours: Prepare
    theirs: Prepare
    sizes: Mapping[Sizes, Mapping[str, int]]
    """Keyword arguments of `ours` and `theirs`."""
    tolerance: float
    """Largest difference of two results, as a share of the largest value of the peer's; where they
    agree by recall, the largest share of our documents that an approximate peer may miss."""
    agreement: Literal["difference", "recall"] = "difference"
    """Whether arrays are compared value by value, or `documents` by what they have in common."""
    target: Target = field(default_factory=Target)
    packages: Sequence[str] = ()
    """What the peer needs beyond our own dependencies (of the extra `bench`)."""

    def describe(self, sizes: Sizes) -> str:
        """The title, with the values of a size."""
        return self.title.format(**self.sizes[sizes])

    def prepare(self, side: SideName, sizes: Sizes) -> Work:
        """The work of a side at a size."""
        return (self.ours if side == "ours" else self.theirs)(**self.sizes[sizes])

    def refuse_missing_packages(self) -> None:
        """Raise LexigraftError unless all packages of the peer are installed."""
        for package in self.packages:
            if find_spec(package) is None:
                raise LexigraftError(
                    f"{self.name}: needs the package {package}, which is not installed; "
                    "install it with: pip install -r envs/bench.lock"
                )


def comparisons() -> Mapping[str, Comparison]:
    """All comparisons by name, in the order of the report."""
    modules = [import_module(f"lexigraft.bench.comparisons.{module}") for module in MODULES]
    return {one.name: one for module in modules for one in module.COMPARISONS}
