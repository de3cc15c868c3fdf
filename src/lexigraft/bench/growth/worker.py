"""One value of a curve in a process of its own: python -m lexigraft.bench.growth.worker NAME ..."""

import sys
from typing import Any

from lexigraft.bench.growth.curves import curves
from lexigraft.bench.worker import serve


def main(name: str, sizes: Any, value: str) -> None:
    """Serve the work of a curve at a value until the input ends."""
    serve(lambda: curves()[name].work(sizes, int(value)))


if __name__ == "__main__":
    main(*sys.argv[1:])
