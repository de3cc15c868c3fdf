"""What the Snakefile asks for, beside the plan."""

from pathlib import Path

import pytest

from lexigraft.specs.snakefile import hold


def test_a_results_folder_is_one_workflows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = str(tmp_path / "new" / "results")
    hold(results)
    with pytest.raises(SystemExit) as stopped:
        hold(results)
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        f"error: {results}: another workflow is at work there; wait until it ends, or stop it\n"
    )


def test_results_that_are_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results"
    path.write_text("")
    with pytest.raises(SystemExit):
        hold(str(path))
    assert capsys.readouterr().err == f"error: {path}: File exists\n"
