"""Sources of installed packages, found without importing any of them."""

import importlib.util
import platform
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from lexigraft.errors import LexigraftError

STANDARD_LIBRARY = "stdlib"
"""The name by which the standard library goes among packages."""

_SKIPPED_FOLDERS = frozenset(
    {"test", "tests", "idle_test", "lib2to3", "site-packages", "dist-packages", "__pycache__"}
    | {"_vendor", "vendor", "_vendored", "vendored_packages", "externals", "extern", "third_party"}
)
"""Tests, whose docstrings are labels, and copies of other packages."""


@dataclass(frozen=True)
class Package:
    """An installed package: its import name, its version and its source files."""

    name: str
    version: str
    files: tuple[tuple[str, Path], ...]
    """Dotted module name and path, sorted by name."""


def find_package(name: str) -> Package:
    """Find the Python sources of an installed package, its tests and vendored copies left out.

    Args:
        name: the name under which it is imported (`sklearn`, not `scikit-learn`), or `stdlib`.

    Raises:
        LexigraftError: no such package is installed, or it has no Python source.
    """
    if name == STANDARD_LIBRARY:
        roots, prefix = [Path(sysconfig.get_path("stdlib"))], ""
        found_version = platform.python_version()
    else:
        roots, prefix = _roots(name), name
        found_version = _version(name)
    files = {
        _module_name(path.relative_to(root), prefix): path
        for root in roots
        for path in root.rglob("*.py")
        if not _SKIPPED_FOLDERS.intersection(path.relative_to(root).parts[:-1])
        and not _is_test(path.name)
    }
    if not files:
        raise LexigraftError(f"package {name!r}: no Python source files are installed")
    return Package(name, found_version, tuple(sorted(files.items())))


def _roots(name: str) -> list[Path]:
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise LexigraftError(
            f"package {name!r} is not installed; "
            f"allowed are import names of installed packages and {STANDARD_LIBRARY!r}"
        )
    return sorted(Path(location) for location in spec.submodule_search_locations)


def _version(name: str) -> str:
    distributions = sorted(set(_distributions().get(name, [])))
    return ", ".join(f"{d} {version(d)}" for d in distributions) or "unknown"


@cache
def _distributions() -> Mapping[str, list[str]]:
    return packages_distributions()


def _module_name(path: Path, prefix: str) -> str:
    parts = list(path.with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join([prefix, *parts] if prefix else parts) or STANDARD_LIBRARY


def _is_test(file: str) -> bool:
    return file.startswith("test_") or file.endswith("_test.py") or file == "conftest.py"
