"""Nothing is lost: an output never takes the place of what is not an earlier output."""

from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.files import refuse_taken


def test_an_absent_an_empty_and_an_earlier_output_may_be_written(tmp_path: Path) -> None:
    refuse_taken(tmp_path / "absent" / "deeper")
    (tmp_path / "empty").mkdir()
    refuse_taken(tmp_path / "empty")
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "spec.json").write_text("{}")
    refuse_taken(tmp_path / "made")


def test_a_folder_of_somebody_elses_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "thesis.txt").write_text("precious")
    with pytest.raises(LexigraftError, match=r"holds 'thesis.txt' and is no earlier output"):
        refuse_taken(tmp_path / "keep")


def test_an_input_and_what_holds_it_are_refused(tmp_path: Path) -> None:
    model = tmp_path / "made" / "model"
    model.mkdir(parents=True)
    (model / "spec.json").write_text("{}")
    for out in (model, tmp_path / "made"):
        with pytest.raises(LexigraftError, match="writing there would remove"):
            refuse_taken(out, [model])


def test_the_current_folder_and_a_file_in_the_way_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LexigraftError, match="writing there would remove"):
        refuse_taken(Path("."))
    (tmp_path / "file").write_text("x")
    for out in ("file", "file/out"):
        with pytest.raises(LexigraftError, match="is a file in the way"):
            refuse_taken(Path(out))
