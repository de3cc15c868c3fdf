"""The machine and the versions that a measurement holds for."""

import os
import platform

from lexigraft.machine import commit, cores, processor, versions

PACKAGES = (
    "lexigraft",
    "torch",
    "triton",
    "numpy",
    "scipy",
    "transformers",
    "sentence-transformers",
    "entmax",
    "bm25s",
    "numba",
    "pyseismic-lsr",
)


def machine_facts(threads: int) -> dict[str, str]:
    """What to print beside the figures, by name; packages that are absent are left out."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": processor() or platform.machine(),
        "cores": str(cores()),
        "threads of each side": str(threads),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "commit": commit(),
        "python": platform.python_version(),
        **versions(PACKAGES),
    }
