import json
from pathlib import Path

import pytest
from beir_folder import small_folder, write_folder, write_lines

from lexigraft.corpora import Collection
from lexigraft.corpora.collection import write_manifest, write_negatives
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A collection with a training split and one evaluation set."""
    folder = tmp_path / "collection"
    small_folder(folder / "sets" / "wings")
    write_folder(
        folder / "train",
        [{"_id": "a", "title": "T", "text": "one"}, {"_id": "b", "title": "", "text": "two"}],
        [{"_id": "q", "text": "first"}],
        ["q\ta\t1", "q\tb\t0"],
        split="train",
    )
    write_negatives(folder / "train" / "negatives.jsonl", {"q": ["b"]})
    facts = {"split": "test", "remove_self_match": True}
    write_manifest(folder, "beir", {"wings": facts}, {"pairs": 1}, packages={"x": "1"})
    return folder


def test_training_pairs(folder: Path) -> None:
    pairs = Collection.open(folder).training()
    assert pairs.queries == {"q": "first"}
    assert pairs.documents == {"a": "T one", "b": "two"}
    assert pairs.positives == {"q": ["a"]}
    assert pairs.negatives == {"q": ["b"]}
    assert pairs.scores is None


def test_text_is_documents_then_queries_then_more(folder: Path) -> None:
    assert list(Collection.open(folder).text()) == ["T one", "two", "first"]
    write_lines(folder / "train" / "text.jsonl", ['{"text": "more"}'])
    assert list(Collection.open(folder).text()) == ["T one", "two", "first", "more"]


def test_plain_text_follows_the_names_of_files(tmp_path: Path) -> None:
    write_lines(tmp_path / "text" / "b.jsonl", ['{"text": "2"}'])
    write_lines(tmp_path / "text" / "a.jsonl", ['{"text": "1"}'])
    write_manifest(tmp_path, "text", {})
    assert list(Collection.open(tmp_path).text()) == ["1", "2"]


def test_evaluation_sets(folder: Path) -> None:
    collection = Collection.open(folder)
    assert collection.set_names() == ["wings"]
    assert collection.evaluation_set("wings").remove_self_match
    with pytest.raises(LexigraftError, match="no evaluation set 'wing'; it has wings"):
        collection.evaluation_set("wing")


def test_the_manifest_holds_a_hash_of_every_file(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["sha256"]["train/corpus.jsonl"] == sha256_file(folder / "train/corpus.jsonl")
    assert len(manifest["sha256"]) == 7
    assert manifest["train"] == {"pairs": 1}


def test_a_negative_that_is_not_there_is_refused(folder: Path) -> None:
    write_negatives(folder / "train" / "negatives.jsonl", {"q": ["c"]})
    with pytest.raises(LexigraftError, match=r"negative 'c' of query 'q' is not in corpus\.jsonl"):
        Collection.open(folder).training()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"query": "q"}', "line 1: 'negatives' is missing, a list is needed"),
        ('{"query": "q", "negatives": "b"}', "line 1: 'negatives' is 'b', a list is needed"),
        ('{"query": "q", "negatives": [3]}', "line 1: 'negatives' holds what is no id"),
        ('{"negatives": ["b"]}', "line 1: 'query' is missing, a string is needed"),
    ],
)
def test_a_bad_line_of_negatives_is_named(folder: Path, line: str, told: str) -> None:
    write_lines(folder / "train" / "negatives.jsonl", [line])
    with pytest.raises(LexigraftError, match=rf"negatives\.jsonl, {told}"):
        Collection.open(folder).training()


def test_a_text_that_is_no_text_is_named(folder: Path) -> None:
    write_lines(folder / "train" / "text.jsonl", ['{"text": "\\ud83d"}'])
    with pytest.raises(LexigraftError, match=r"text\.jsonl, line 1: 'text' holds half of a"):
        list(Collection.open(folder).text())


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"relevance_level": "x"}, r"sets\.wings: 'relevance_level' is 'x', a whole number is"),
        ({"relevance_level": True}, "'relevance_level' is True, a whole number is needed"),
        ({"split": 3}, "'split' is 3, a string is needed"),
        ({"remove_self_match": "no"}, "'remove_self_match' is 'no', true or false is needed"),
        ([], r"sets: 'wings' is \[\], a JSON object is needed"),
    ],
)
def test_a_manifest_of_other_types_is_refused(folder: Path, facts: object, told: str) -> None:
    (folder / "manifest.json").write_text(json.dumps({"sets": {"wings": facts}}))
    with pytest.raises(LexigraftError, match=rf"manifest\.json: .*{told}"):
        Collection.open(folder).evaluation_set("wings")


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="no such folder"):
        Collection.open(tmp_path / "absent")
    with pytest.raises(LexigraftError, match=r"not a collection, manifest\.json is missing"):
        Collection.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(LexigraftError, match="'sets' is missing"):
        Collection.open(tmp_path)
    write_manifest(tmp_path, "beir", {})
    with pytest.raises(LexigraftError, match="without training text"):
        list(Collection.open(tmp_path).text())
    with pytest.raises(LexigraftError, match="without training pairs"):
        Collection.open(tmp_path).training()
