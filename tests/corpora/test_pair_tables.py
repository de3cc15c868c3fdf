"""Training pairs from tables with a column of queries and one of documents."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from beir_folder import write_lines

from lexigraft.corpora import Collection, hub
from lexigraft.corpora.pair_tables import write_pair_collection
from lexigraft.errors import LexigraftError
from lexigraft.specs.stages import CorpusSpec
from lexigraft.stages.corpus import run
from lexigraft.stages.job import execute

ROWS = [
    {"q": "what is benzene", "d": "A ring of six carbons."},
    {"q": "what is ethanol", "d": "An alcohol."},
    {"q": "six carbons", "d": "A ring of six carbons."},
    {"q": "what is ethanol", "d": "Drunk for ages."},
    {"q": " ", "d": "Asked by nobody."},
]


def write(out: Path, path: Path, limit: int = 0, seed: int = 42) -> Collection:
    write_pair_collection(
        out,
        source="",
        path=str(path),
        query_column="q",
        document_column="d",
        limit=limit,
        seed=seed,
    )
    return Collection.open(out)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "table.jsonl", map(json.dumps, ROWS))


def test_a_text_in_several_rows_is_one(table: Path, tmp_path: Path) -> None:
    collection = write(tmp_path / "out", table)
    pairs = collection.training()
    assert pairs.documents == {
        "0": "A ring of six carbons.",
        "1": "An alcohol.",
        "3": "Drunk for ages.",
    }
    assert list(pairs.queries.values()) == ["what is benzene", "what is ethanol", "six carbons"]
    assert pairs.positives == {"query:0": ["0"], "query:1": ["1", "3"], "query:2": ["0"]}
    assert set(map(tuple, pairs.negatives.values())) == {()}
    assert list(collection.text())[:2] == ["A ring of six carbons.", "An alcohol."]
    assert collection.set_names() == []
    assert collection.manifest["train"] == {"pairs": 4, "documents": 3, "queries": 3}


def test_drawn_rows_depend_on_the_seed_and_keep_their_order(tmp_path: Path) -> None:
    rows = [{"q": f"q{i}", "d": f"d{i}"} for i in range(50)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "table.parquet")
    drawn = [
        list(write(tmp_path / name, tmp_path / "table.parquet", 10, seed).training().documents)
        for name, seed in (("a", 42), ("b", 42), ("c", 7))
    ]
    assert len(drawn[0]) == 10
    assert drawn[0] == sorted(drawn[0], key=int)
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != [str(i) for i in range(10)]


def test_one_data_set_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "commit", lambda repository: f"commit of {repository}")
    asked = []

    def rows(source: hub.HubSet, revision: str) -> list[dict[str, str]]:
        asked.append((source, revision))
        return ROWS

    monkeypatch.setattr(hub, "rows", rows)
    spec = CorpusSpec(kind="pairs", source="o/n", query_column="q", document_column="d", limit=2)
    execute(spec, {}, tmp_path / "out", run)
    collection = Collection.open(tmp_path / "out")
    assert asked == [(hub.HubSet("o/n"), "commit of o/n")]
    assert collection.manifest["sources"] == {
        "o-n": {"repository": "o/n", "commit": "commit of o/n"}
    }
    assert len(collection.training().documents) == 2
    with pytest.raises(LexigraftError, match="2 data sets found, 1 is allowed"):
        execute(CorpusSpec(kind="pairs", source="o/n+o/m"), {}, tmp_path / "two", run)


def test_a_table_that_is_none_of_pairs_is_refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"columns q, d; a text in 'query' is needed"):
        execute(CorpusSpec(kind="pairs", path=str(table)), {}, tmp_path / "out", run)
    assert not (tmp_path / "out").exists()
    empty = write_lines(tmp_path / "empty.jsonl", [json.dumps({"q": "", "d": "x"})])
    with pytest.raises(LexigraftError, match="no row has a text in q and d"):
        write(tmp_path / "none", empty)
