"""What a figure depends on beside its input: the commit, the versions, the hardware."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Version of each package that is installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """Commit of this code, `+changes` where tracked files differ; empty where it is installed as a
    copy that no git tracks."""
    here = Path(__file__).resolve()
    words = ["describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"]
    try:
        # A copy in an environment inside of somebody's repository is not that repository's.
        _git("ls-files", "--error-unmatch", here.name, folder=here.parent)
        return _git(*words, folder=here.parent).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*words: str, folder: Path) -> str:
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def processor() -> str:
    """Model name of the CPU."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "")


def accelerators() -> dict[str, Any]:
    """Names of the GPUs, where torch is in use and sees some."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {}
    return {"gpus": [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]}


def threads() -> int:
    """Threads to work with: the processors, or OMP_NUM_THREADS where that is less."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores(), int(asked))) if asked.isdigit() else cores()


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
