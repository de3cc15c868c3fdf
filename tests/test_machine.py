"""The commit on record is that of the code, wherever a command is typed."""

import subprocess
from pathlib import Path

import pytest

from lexigraft import machine


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's own repository, in which the command is typed."""
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "theirs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_is_not_that_of_the_folder_that_a_command_is_typed_in(
    root: Path, elsewhere: Path
) -> None:
    assert machine.commit().removesuffix("+changes") == git(root, "rev-parse", "HEAD")


def test_a_copy_that_git_does_not_track_has_none(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = elsewhere / ".venv" / "machine.py"
    installed.parent.mkdir()
    installed.touch()
    monkeypatch.setattr(machine, "__file__", str(installed))
    assert machine.commit() == ""
    git(elsewhere, "add", "--force", ".venv/machine.py")
    git(elsewhere, "commit", "--quiet", "--message", "tracked after all")
    assert machine.commit() == git(elsewhere, "rev-parse", "HEAD")
