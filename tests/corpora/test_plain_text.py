import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beir_folder import write_lines

from lexigraft.corpora import Collection, hub, text
from lexigraft.corpora.text import local_rows, parse_source, write_text_collection, write_texts
from lexigraft.errors import LexigraftError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Text in three formats."""
    folder = tmp_path / "My Texts"
    write_lines(folder / "a.jsonl", [json.dumps({"text": t}) for t in ("Été one", "  ", "two")])
    pq.write_table(pa.table({"text": ["three four"], "other": [1]}), folder / "b.parquet")
    write_lines(folder / "c.txt", ["five", "six"])
    write_lines(folder / "notes.md", ["not read"])
    return folder


def test_files_of_ones_own(folder: Path, tmp_path: Path) -> None:
    write_text_collection(tmp_path / "out", source="", path=str(folder), limit=0)
    collection = Collection.open(tmp_path / "out")
    assert list(collection.text()) == ["Été one", "two", "three four", "five", "six"]
    assert collection.manifest["sources"] == {"my-texts": {"texts": 5, "words": 7}}
    assert list(collection.manifest["sha256"]) == ["text/my-texts-00000.jsonl"]


def test_long_text_goes_into_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "TEXTS_A_FILE", 2)
    rows = [{"text": str(n)} for n in range(5)]
    assert write_texts(tmp_path, "x", rows) == {"texts": 5, "words": 5}
    sizes = [len(path.read_text().splitlines()) for path in sorted(tmp_path.iterdir())]
    assert sizes == [2, 2, 1]
    assert write_texts(tmp_path / "few", "x", rows, limit=3)["texts"] == 3


def test_sources_by_name() -> None:
    assert parse_source("wikipedia+bookcorpus") == {
        "wikipedia": hub.HubSet("wikimedia/wikipedia", "20231101.en"),
        "bookcorpus": hub.HubSet("rojagtap/bookcorpus"),
    }
    assert parse_source("o/n:c") == {"o-n-c": hub.HubSet("o/n", "c")}
    with pytest.raises(LexigraftError, match="'wiki' found, allowed are wikipedia, bookcorpus"):
        parse_source("wiki")
    with pytest.raises(LexigraftError, match="'' found"):
        parse_source("")


def test_sources_of_the_hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "commit", lambda repository: f"commit of {repository}")
    monkeypatch.setattr(hub, "rows", lambda source, revision: [{"text": source.repository}] * 3)
    write_text_collection(tmp_path / "out", source="wikipedia+o/n", path="", limit=2)
    collection = Collection.open(tmp_path / "out")
    assert list(collection.text()) == ["o/n"] * 2 + ["wikimedia/wikipedia"] * 2
    assert collection.manifest["sources"]["o-n"] == {
        "repository": "o/n",
        "commit": "commit of o/n",
        "texts": 2,
        "words": 2,
    }


def test_the_hubs_loader_reads_a_local_set(folder: Path) -> None:
    (folder / "c.txt").unlink()
    (folder / "b.parquet").unlink()
    rows = hub.rows(hub.HubSet(str(folder)), revision="main")
    assert [row["text"] for row in rows] == ["Été one", "  ", "two"]


def test_refusals(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="no text files, allowed are"):
        list(local_rows(tmp_path / "absent"))
    with pytest.raises(LexigraftError, match=r"columns \['body'\], 'text' is needed"):
        write_texts(tmp_path / "x", "x", [{"body": "b"}])
    with pytest.raises(LexigraftError, match="x: holds no text"):
        write_texts(tmp_path / "x", "x", [{"text": " "}])
    write_lines(folder / "a.jsonl", ["{broken"])
    with pytest.raises(LexigraftError, match=r"a\.jsonl: cannot be read as json"):
        list(local_rows(folder))


def test_a_hub_out_of_reach_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(*args: object, **options: object) -> None:
        raise ConnectionError("no route\nand a long story")

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    with pytest.raises(
        LexigraftError, match=r"set 'o/n': cannot be read \(ConnectionError: no route\)"
    ):
        list(hub.rows(hub.HubSet("o/n"), revision="main"))
