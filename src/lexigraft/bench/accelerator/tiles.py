"""The kernel's forward pass with tiles of other sizes: is the one that is chosen the best here?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lexigraft.bench.accelerator.timing import Cost, measured
from lexigraft.bench.accelerator.ways import Material, Precision

if TYPE_CHECKING:
    from lexigraft.encoders.splade_triton import Tile


@dataclass(frozen=True)
class TileTiming:
    """What a tile costs; or why there is no figure."""

    case: str
    precision: Precision
    tile: "Tile"
    chosen: bool
    cost: Cost | None
    note: str = ""


def candidates() -> list["Tile"]:
    """Sizes that are worth a try."""
    from lexigraft.encoders.splade_triton import LARGE, SMALL, Tile

    return [
        LARGE,
        SMALL,
        Tile(128, 256, warps=8, stages=4),
        Tile(256, 128, warps=8, stages=3),
        Tile(256, 64, warps=8, stages=4),
        Tile(128, 128, warps=4, stages=3),
        Tile(128, 64, warps=4, stages=4),
        Tile(64, 64, warps=4, stages=4),
    ]


def tile_timings(
    case: str, material: Material, tiles: Sequence["Tile"], repeats: int
) -> Iterator[TileTiming]:
    """Each tile, the winners' positions included."""
    from triton.runtime.errors import OutOfResources

    from lexigraft.encoders.splade_triton import pool, tile_for

    dtype = material.precision.dtype
    hidden_BLH, weight_VH, bias_V = (one.detach().to(dtype) for one in material.leaves)
    words = (hidden_BLH, weight_VH, bias_V, material.mask, True)
    chosen = tile_for(hidden_BLH)
    for tile in tiles:
        try:
            cost, note = measured(partial(pool, *words, tile), hidden_BLH.device, repeats)
        except OutOfResources as error:
            cost, note = None, f"does not fit: {error}"
        yield TileTiming(case, material.precision, tile, tile == chosen, cost, note)
