import hashlib
import json
import shutil
from pathlib import Path

import pytest
from beir.datasets.data_loader import GenericDataLoader
from beir_folder import small_folder, write_folder

from lexigraft.corpora import Collection, beir
from lexigraft.corpora.beir import BENCHMARK, BenchmarkSet, copy_set, write_beir_collection
from lexigraft.errors import LexigraftError


def write(out: Path, downloads: Path, **changes: object) -> Collection:
    values = {"source": "", "path": "", "split": "test", "remove_self_match": False, "limit": 0}
    write_beir_collection(out, downloads, **values | changes)  # type: ignore[arg-type]
    return Collection.open(out)


def test_ones_own_folder(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "My Wings")
    collection = write(tmp_path / "out", tmp_path, path=str(folder), remove_self_match=True)
    assert collection.set_names() == ["my-wings"]
    found = collection.evaluation_set("my-wings")
    assert found.documents["d1"] == "Heat Flow of heat."
    assert found.remove_self_match
    (folder / "corpus.jsonl").write_text("changed later")
    assert len(collection.evaluation_set("my-wings").documents) == 3


def test_what_is_written_is_what_beir_reads(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "wings")
    write(tmp_path / "out", tmp_path, path=str(folder))
    ours = GenericDataLoader(str(tmp_path / "out/sets/wings")).load("test")
    assert ours == GenericDataLoader(str(folder)).load("test")


def test_counts_tell_what_does_not_fit(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "f",
        [{"_id": str(n), "text": "t"} for n in range(5)],
        [{"_id": q, "text": "t"} for q in ("a", "b", "c")],
        ["a\t1\t1", "b\tgone\t1", "x\t2\t1"],
    )
    facts = copy_set(folder, tmp_path / "out", "f", "test", False)
    assert facts == {
        "documents": 5,
        "queries": 2,
        "judgements": 3,
        "judged_queries": 2,
        "missing_documents": 1,
        "missing_queries": 1,
        "repeated_judgements": 0,
        "unjudged_queries": 1,
        "remove_self_match": False,
        "split": "test",
    }
    assert len((tmp_path / "out" / "queries.jsonl").read_text().splitlines()) == 2


def test_limit_keeps_judged_documents(tmp_path: Path) -> None:
    folder = write_folder(
        tmp_path / "f",
        [{"_id": str(n), "text": f"t{n}"} for n in range(9)],
        [{"_id": q, "text": q} for q in ("a", "b", "c")],
        ["a\t8\t1", "a\t7\t0", "b\t6\t1", "b\t5\t1", "b\t4\t1", "c\t8\t1"],
    )
    copy_set(folder, tmp_path / "out", "f", "test", False, limit=4)
    found = GenericDataLoader(str(tmp_path / "out")).load("test")
    assert list(found[0]) == ["0", "1", "7", "8"]
    assert found[2] == {"a": {"8": 1, "7": 0}, "c": {"8": 1}}
    folder.joinpath("qrels/test.tsv").write_text("a\t8\t1\na\t7\t1\n")
    with pytest.raises(LexigraftError, match="limit = 1: every query has more"):
        copy_set(folder, tmp_path / "out", "f", "test", False, limit=1)


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive in BEIR's form that stands for the published one of `scifact`."""
    folder = small_folder(tmp_path / "made" / "scifact")
    archive = Path(shutil.make_archive(str(tmp_path / "scifact"), "zip", folder.parent, "scifact"))
    md5 = hashlib.md5(archive.read_bytes()).hexdigest()
    monkeypatch.setitem(beir.BENCHMARK, "scifact", BenchmarkSet(md5, remove_self_match=True))
    return archive


def test_a_set_by_name(tmp_path: Path, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download_url(url: str, path: str, chunk_size: int) -> None:
        asked.append(url)
        shutil.copyfile(published, path)

    monkeypatch.setattr("beir.util.download_url", download_url)
    collection = write(tmp_path / "out", tmp_path / "downloads", source="scifact")
    assert asked == [
        "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/scifact.zip"
    ]
    assert collection.set_names() == ["scifact"]
    assert collection.evaluation_set("scifact").remove_self_match
    assert json.loads((tmp_path / "out/manifest.json").read_text())["kind"] == "beir"
    shutil.rmtree(tmp_path / "downloads" / "scifact")
    assert len(collection.evaluation_set("scifact").documents) == 3
    write(tmp_path / "again", tmp_path / "downloads", source="scifact")
    assert len(asked) == 1


def test_a_broken_download_is_refused_and_not_kept(
    tmp_path: Path, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def download_url(url: str, path: str, chunk_size: int) -> None:
        Path(path).write_bytes(published.read_bytes()[:-10])

    monkeypatch.setattr("beir.util.download_url", download_url)
    with pytest.raises(LexigraftError, match="what came is not the published archive"):
        write(tmp_path / "out", tmp_path / "downloads", source="scifact")
    assert list((tmp_path / "downloads").iterdir()) == []


def test_no_connection_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beir, "URL", "http://127.0.0.1:9/{}.zip")
    with pytest.raises(LexigraftError, match=r"scifact\.zip: cannot be downloaded"):
        write(tmp_path / "out", tmp_path / "downloads", source="scifact")


def test_a_name_that_beir_does_not_have(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="source 'scifacts' is no BEIR set; allowed are argu"):
        write(tmp_path / "out", tmp_path / "downloads", source="scifacts")


def test_the_thirteen_sets_of_the_paper() -> None:
    """Section 5.1 of the Vocabulary Transfer paper, by BEIR's names."""
    assert len(BENCHMARK.keys() - {"msmarco"}) == 13
    assert {n for n, facts in BENCHMARK.items() if facts.remove_self_match} == {"arguana", "quora"}
    assert BENCHMARK["msmarco"].split == "dev"
