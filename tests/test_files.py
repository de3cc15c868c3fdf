"""Nothing is lost: an output is whole or absent and replaces nothing but an earlier output."""

import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object, refuse_taken, whole_file, whole_folder

FILES = ("spec.json", "model", "deeper/content")


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


def write(out: Path, text: str) -> None:
    with whole_folder(out) as partial:
        for name in FILES:
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_text(text)


def write_and_be_killed(out: Path, when: str, turn: int) -> None:
    """Write `new` and die just before the call of that turn; or, of rmtree, half done."""
    calls = 0
    modules = {"replace": os, "rmtree": shutil, "fsync": os}
    real = getattr(modules[when], when)

    def deadly(*words: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == turn:
            if when == "rmtree" and Path(str(words[0])).exists():
                (Path(str(words[0])) / "spec.json").unlink(missing_ok=True)
            os._exit(9)
        return real(*words, **named)

    setattr(modules[when], when, deadly)
    write(out, "new")


@pytest.mark.parametrize(
    ("when", "turn", "left"),
    [
        ("fsync", 2, "old"),
        ("replace", 1, "old"),
        ("replace", 2, None),
        ("rmtree", 1, "old"),
        ("rmtree", 3, "new"),
        ("rmtree", 4, "new"),
    ],
)
def test_a_kill_leaves_a_whole_folder_or_none_and_a_rerun_succeeds(
    tmp_path: Path, when: str, turn: int, left: str | None
) -> None:
    out = tmp_path / "out"
    write(out, "old")
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=write_and_be_killed, args=(out, when, turn))
    child.start()
    child.join()
    assert child.exitcode == 9
    found = [(out / name).read_text() for name in FILES if (out / name).is_file()]
    assert found == ([left] * len(FILES) if left else [])
    refuse_taken(out)
    with pytest.raises(ZeroDivisionError), whole_folder(out):
        _ = 1 / 0
    assert (out / "spec.json").read_text() == (left or "old")
    write(out, "newer")
    assert {(out / name).read_text() for name in FILES} == {"newer"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(
            os, name, lambda *words, real=real, name=name: (order.append(name), real(*words))
        )
    with whole_file(tmp_path / "x") as partial:
        partial.write_text("1")
    assert order == ["fsync", "replace"]
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "x") as partial:
        partial.write_text(str(1 / 0))
    assert (tmp_path / "x").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON .too deeply nested"),
        ("[]", "list found, a JSON object is needed"),
        ('{"steps": true}', "'steps' is True, a whole number is needed"),
        ('{"steps": null}', "'steps' is missing, a whole number is needed"),
    ],
)
def test_a_record_of_another_type_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(LexigraftError, match=rf"record\.json: {told}"):
        member(read_object(path), "steps", int, str(path))
