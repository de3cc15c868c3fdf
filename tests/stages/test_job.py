"""A stage's output is whole or absent, made once, and says where it came from."""

import json
import multiprocessing
import time
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.stages import BackboneSpec, EncodeSpec, EvaluateSpec, RetrieveSpec
from lexigraft.stages.job import Job, execute

SPEC = BackboneSpec(name="b", origin="folder", location="x")


def write(spec: BackboneSpec, job: Job) -> None:
    (job.out / "content").write_text(spec.location, encoding="utf-8")


def fail(spec: BackboneSpec, job: Job) -> None:
    write(spec, job)
    raise LexigraftError("no")


def write_nothing(spec: StageSpec, job: Job) -> None:
    """A stage without content."""


def write_slowly(spec: BackboneSpec, job: Job) -> None:
    time.sleep(1.5)
    (job.out / "content").write_text("slow", encoding="utf-8")


def make_slowly(out: Path) -> None:
    execute(SPEC, {}, out, write_slowly)


def test_spec_and_provenance_stand_beside_the_output(tmp_path: Path) -> None:
    execute(SPEC, {}, tmp_path / "b-1", write)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b-1"]
    spec = json.loads((tmp_path / "b-1" / "spec.json").read_text())
    assert (spec["id"], spec["location"], spec["vocabulary_size"]) == ("b-1", "x", 30522)
    provenance = json.loads((tmp_path / "b-1" / "provenance.json").read_text())
    assert provenance["versions"]["lexigraft"]
    assert provenance["seed"] == 42
    # One thread, as conftest.py says.
    assert provenance["threads"] == 1
    assert provenance["resumed"] is False


def test_what_went_on_from_checkpoints_says_so(tmp_path: Path) -> None:
    (tmp_path / ".b-1.checkpoints").mkdir()
    execute(SPEC, {}, tmp_path / "b-1", write)
    assert json.loads((tmp_path / "b-1" / "provenance.json").read_text())["resumed"] is True


def test_a_ranking_keeps_where_its_vectors_came_from(tmp_path: Path) -> None:
    """The workflow removes vectors once they are searched."""
    for name in ("vectors", "collection"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "provenance.json").write_text('{"seconds": 4.5}', encoding="utf-8")
    (tmp_path / "vectors" / "encode.json").write_text("{}", encoding="utf-8")
    spec = RetrieveSpec(collection="collection", vectors="vectors")
    inputs = {name: tmp_path / name for name in ("vectors", "collection")}
    execute(spec, inputs, tmp_path / "r-1", lambda spec, job: None)
    provenance = json.loads((tmp_path / "r-1" / "provenance.json").read_text())
    assert provenance["inputs"]["vectors"]["provenance"] == {"seconds": 4.5}
    assert provenance["inputs"]["collection"] == {"name": "collection"}


def test_vectors_that_are_removed_stay_known_to_what_searched_them(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "m").mkdir()
    encode = EncodeSpec(model="m", collection="c", values="int8")
    inputs = {"model": tmp_path / "m", "collection": tmp_path / "c"}
    execute(encode, inputs, tmp_path / "v-1", write_nothing)
    searched = {"collection": tmp_path / "c", "vectors": tmp_path / "v-1"}
    execute(RetrieveSpec(collection="c", vectors="v-1"), searched, tmp_path / "r-1", write_nothing)
    origin = json.loads((tmp_path / "r-1" / "provenance.json").read_text())["inputs"]
    vectors = origin["vectors"]["spec"]
    assert (vectors["id"], vectors["model"], vectors["values"]) == ("v-1", "m", "int8")
    assert "spec" not in origin["collection"]


def test_a_failed_stage_leaves_nothing_and_spares_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "b-1"
    with pytest.raises(LexigraftError):
        execute(SPEC, {}, out, fail)
    assert list(tmp_path.iterdir()) == []
    execute(SPEC, {}, out, write)
    with pytest.raises(LexigraftError):
        execute(SPEC, {}, out, fail)
    assert (out / "content").read_text() == "x"


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    spec = EvaluateSpec(collection="c", run="r")
    with pytest.raises(LexigraftError, match=r"--run: no such folder: .*absent"):
        execute(spec, {"run": tmp_path / "absent"}, tmp_path / "out", write)


def test_a_second_process_waits_and_takes_what_the_first_made(tmp_path: Path) -> None:
    out = tmp_path / "b-1"
    first = multiprocessing.get_context("fork").Process(target=make_slowly, args=(out,))
    first.start()
    while not (tmp_path / ".b-1.lock").exists():
        time.sleep(0.01)
    time.sleep(0.2)
    execute(SPEC, {}, out, write)
    first.join()
    assert (out / "content").read_text() == "slow"


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    out = tmp_path / "b-1"
    first = multiprocessing.get_context("fork").Process(target=make_slowly, args=(out,))
    first.start()
    while not (tmp_path / ".b-1.lock").exists():
        time.sleep(0.01)
    first.kill()
    first.join()
    start = time.monotonic()
    execute(SPEC, {}, out, write)
    assert time.monotonic() - start < 1
    assert (out / "content").read_text() == "x"
