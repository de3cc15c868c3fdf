"""Evaluation sets of the hub in MTEB's form, from rows that stand in for the hub's."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lexigraft.corpora import Collection, hub
from lexigraft.errors import LexigraftError
from lexigraft.specs.stages import CorpusSpec
from lexigraft.stages.corpus import run
from lexigraft.stages.job import execute

Tables = dict[str, dict[str, list[dict[str, Any]]]]


def chemistry() -> Tables:
    """Configuration to split to rows."""
    return {
        "corpus": {
            "corpus": [
                {"_id": "d1", "title": "Benzene", "text": "A ring."},
                {"_id": "d2", "title": None, "text": "An alcohol."},
            ]
        },
        "queries": {"queries": [{"_id": "q1", "text": "ring"}, {"_id": "q2", "text": "drink"}]},
        "default": {
            "dev": [{"query-id": "q1", "corpus-id": "d1", "score": 1}],
            "test": [{"query-id": "q2", "corpus-id": "d2", "score": 1.0}],
        },
    }


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Tables:
    found = chemistry()

    def splits(repository: str, configuration: str, revision: str) -> list[str]:
        if configuration not in found:
            raise LexigraftError(f"data set {repository!r}, {configuration}: cannot be read")
        return list(found[configuration])

    def rows(source: hub.HubSet, revision: str) -> Iterator[dict[str, Any]]:
        assert revision == "0123"
        yield from found[source.configuration][source.split]

    monkeypatch.setattr(hub, "commit", lambda repository: "0123")
    monkeypatch.setattr(hub, "splits", splits)
    monkeypatch.setattr(hub, "rows", rows)
    return found


SPEC = CorpusSpec(kind="beir", source="BASF-AI/ChemNQRetrieval")


def test_a_set_of_the_hub_is_named_without_its_owner(tables: Tables, tmp_path: Path) -> None:
    execute(SPEC, {}, tmp_path / "out", run)
    collection = Collection.open(tmp_path / "out")
    assert tuple(collection.set_names()) == SPEC.set_names() == ("chemnqretrieval",)
    assert collection.manifest["sources"] == {"BASF-AI/ChemNQRetrieval": "0123"}
    found = collection.evaluation_set("chemnqretrieval")
    assert found.documents == {"d1": "Benzene A ring.", "d2": "An alcohol."}
    assert found.queries == {"q2": "drink"}
    assert found.qrels == {"q2": {"d2": 1}}


def test_queries_by_split_and_judgements_by_another_name(tables: Tables, tmp_path: Path) -> None:
    tables["qrels"] = tables.pop("default")
    tables["queries"] = {"dev": [], "test": [{"_id": "q2", "text": "drink"}]}
    execute(SPEC, {}, tmp_path / "out", run)
    found = Collection.open(tmp_path / "out").evaluation_set("chemnqretrieval")
    assert found.queries == {"q2": "drink"}


@pytest.mark.parametrize(
    ("configuration", "content", "sentence"),
    [
        ("default", {"dev": []}, "no judgements 'test'; it has dev"),
        ("queries", {"dev": [], "train": []}, "queries: no split 'test'; it has dev, train"),
        ("corpus", {"corpus": [{"id": 1}]}, "a row with the columns id; '_id' is needed"),
    ],
)
def test_what_has_another_form_is_refused(
    tables: Tables, tmp_path: Path, configuration: str, content: Any, sentence: str
) -> None:
    tables[configuration] = content
    with pytest.raises(LexigraftError) as refused:
        execute(SPEC, {}, tmp_path / "out", run)
    assert sentence in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_set_without_judgements_is_refused(tables: Tables, tmp_path: Path) -> None:
    del tables["default"]
    with pytest.raises(LexigraftError, match="default: cannot be read"):
        execute(SPEC, {}, tmp_path / "out", run)
