import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from lexigraft.corpora.packages import find_package
from lexigraft.errors import LexigraftError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package on the path whose import fails."""
    names = ["__init__", "core", "sub/__init__", "sub/deep", "tests/test_x", "sub/test_y"]
    names += ["_vendor/copy", "conftest", "sub/data_test"]
    for name in names:
        path = tmp_path / "brittle_package" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise ImportError")
    (tmp_path / "brittle_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_sources_without_tests_and_copies(package: Path) -> None:
    found = find_package("brittle_package")
    assert [name for name, _ in found.files] == [
        "brittle_package",
        "brittle_package.core",
        "brittle_package.sub",
        "brittle_package.sub.deep",
    ]
    assert found.version == "unknown"
    assert "brittle_package" not in sys.modules


def test_versions_are_those_of_the_distribution() -> None:
    assert find_package("sklearn").version == f"scikit-learn {version('scikit-learn')}"


def test_the_standard_library() -> None:
    found = find_package("stdlib")
    names = [name for name, _ in found.files]
    assert found.version == platform.python_version()
    assert {"json", "json.decoder", "textwrap"} <= set(names)
    assert not any(part in name.split(".") for name in names for part in ("test", "tests"))
    assert not any("site-packages" in str(path) for _, path in found.files)


def test_refusals(package: Path) -> None:
    for name in ("absent_package", "scikit-learn", "brittle_module", "os.path", ""):
        with pytest.raises(LexigraftError, match=f"package '{name}' is not installed"):
            find_package(name)


def test_nothing_heavy_is_imported_for_it() -> None:
    code = (
        "import sys; import lexigraft.stages.corpus; from lexigraft.corpora.packages import *; "
        "find_package('torch'); assert not {'torch', 'transformers', 'datasets'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
