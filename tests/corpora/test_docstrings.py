import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexigraft.corpora import Collection
from lexigraft.corpora.deduplication import shingles, words
from lexigraft.corpora.docstrings import DocstringOptions, write_docstring_collection
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_folder

SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu")


def text(start: int, length: int) -> str:
    """Words drawn by the number, so that no two texts share three in a row."""
    digits = np.random.default_rng(start).integers(len(SYLLABLES), size=(length, 4))
    return " ".join("".join(SYLLABLES[d] for d in word) for word in digits.tolist())


def write_package(folder: Path, name: str, first: int, count: int, extra: str = "") -> None:
    """A package whose functions have docstrings of words made from numbers."""
    functions = [
        f'def f{n}():\n    """{text(n, 6).capitalize()}.\n\n    {text(n + 500, 40)}.\n    """\n'
        for n in range(first, first + count)
    ]
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text("\n".join([*functions, extra]))


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages to train on, of which one copies from the zero-shot package, and that one."""
    copy = f'def copied():\n    """{text(200, 6)}\n\n    {text(900, 40)}"""\n'
    copy += f'def same_body():\n    """{text(901, 6)}\n\n    {text(701, 40)}"""\n'
    copy += f'def alone():\n    """{text(902, 9)}"""\n'
    write_package(tmp_path / "path", "train_one", 0, 30, copy)
    write_package(tmp_path / "path", "train_two", 100, 30)
    write_package(tmp_path / "path", "unseen", 200, 12)
    monkeypatch.syspath_prepend(tmp_path / "path")
    return tmp_path / "path"


def options(**changes: Any) -> DocstringOptions:
    values: dict[str, Any] = {
        "train_packages": ("train_one", "train_two"),
        "zero_shot_packages": ("unseen",),
        "in_domain_queries": 6,
        "minimum_words": 30,
        "negatives": 3,
        "limit": 0,
        "seed": 42,
    }
    return DocstringOptions(**values | changes)


def test_the_parts_of_a_collection(packages: Path, tmp_path: Path) -> None:
    write_docstring_collection(options(), tmp_path)
    collection = Collection.open(tmp_path)
    assert collection.set_names() == ["in-domain", "unseen"]
    train, held = collection.training(), collection.evaluation_set("in-domain")
    unseen = collection.evaluation_set("unseen")
    assert (len(train.queries), len(held.queries), len(held.documents)) == (54, 6, 30)
    assert (len(unseen.queries), len(unseen.documents)) == (12, 12)
    asked_of = {document for grades in held.qrels.values() for document in grades}
    assert not asked_of & train.documents.keys()
    assert held.documents.keys() - asked_of <= train.documents.keys()
    assert not held.queries.keys() & train.queries.keys()
    assert not held.queries.keys() & held.documents.keys()
    assert all(len(found) == 3 for found in train.negatives.values())
    query, positives = next(iter(train.positives.items()))
    assert query == f"query:{positives[0]}"
    assert train.queries[query][0].isupper()


def test_nothing_evaluated_is_in_the_training_text(packages: Path, tmp_path: Path) -> None:
    write_docstring_collection(options(), tmp_path)
    collection = Collection.open(tmp_path)
    training = list(collection.text())
    assert text(902, 9) in training  # a docstring without a body still is text
    runs = {run for one in training for run in shingles(one, 3)}
    for name in collection.set_names():
        found = collection.evaluation_set(name)
        judged = [found.documents[d] for grades in found.qrels.values() for d in grades]
        for one in (*found.queries.values(), *judged):
            assert not shingles(one, 3) & runs, words(one)


def test_the_manifest_tells_versions_counts_and_reasons(packages: Path, tmp_path: Path) -> None:
    write_docstring_collection(options(), tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["train"]["pairs"] == 54
    assert manifest["train"]["other_texts"] == 1
    facts = manifest["packages"]["train_one"]
    assert (facts["role"], facts["docstrings"], facts["pairs"]) == ("train", 33, 30)
    assert facts["dropped"] == {"document_repeated": 1, "no_body": 1, "summary_repeated": 1}
    assert manifest["packages"]["unseen"]["role"] == "zero-shot"
    assert str(tmp_path) not in (tmp_path / "manifest.json").read_text()


def test_the_same_versions_give_the_same_bytes(packages: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from lexigraft.corpora.docstrings import *;"
        f"sys.path.insert(0, {str(packages)!r});"
        f"write_docstring_collection({options()!r}, Path(sys.argv[1]))"
    )
    hashes = set()
    for seed in ("1", "2"):
        out = tmp_path / seed
        out.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(out)], check=True, env=environment)
        hashes.add(sha256_folder(out))
    assert len(hashes) == 1


def test_limit_and_seed(packages: Path, tmp_path: Path) -> None:
    def held_out(name: str, **changes: Any) -> set[str]:
        write_docstring_collection(options(**changes), tmp_path / name)
        return set(Collection.open(tmp_path / name).evaluation_set("in-domain").queries)

    small = held_out("small", limit=10)
    collection = Collection.open(tmp_path / "small")
    assert len(collection.training().queries) == 10
    assert len(collection.evaluation_set("in-domain").documents) == 10
    assert len(collection.evaluation_set("unseen").documents) == 10
    assert not (tmp_path / "small" / "train" / "text.jsonl").exists()
    assert held_out("whole") == small
    assert held_out("other", seed=1) != small


def test_zero_shot_or_training_alone(packages: Path, tmp_path: Path) -> None:
    write_docstring_collection(options(train_packages=()), tmp_path / "a")
    assert Collection.open(tmp_path / "a").set_names() == ["unseen"]
    assert not (tmp_path / "a" / "train").exists()
    write_docstring_collection(options(zero_shot_packages=(), in_domain_queries=0), tmp_path / "b")
    assert Collection.open(tmp_path / "b").set_names() == []
    assert len(Collection.open(tmp_path / "b").training().queries) == 62


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"train_packages": (), "zero_shot_packages": ()}, "are both empty"),
        ({"zero_shot_packages": ("train_one",)}, "package 'train_one' is named twice"),
        ({"train_packages": ("absent",)}, "package 'absent' is not installed"),
        ({"minimum_words": 1000}, "none of its 12 docstrings makes a pair with minimum_words"),
        ({"in_domain_queries": 31}, "in_domain_queries = 31, but the training packages give 60"),
        ({"limit": 5}, "in_domain_queries = 6 is more than limit = 5"),
    ],
)
def test_refusals(packages: Path, tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(LexigraftError, match=told):
        write_docstring_collection(options(**changes), tmp_path)


@pytest.mark.slow
def test_real_packages(tmp_path: Path) -> None:
    changes = {"train_packages": ("networkx",), "zero_shot_packages": ("joblib", "click")}
    write_docstring_collection(options(**changes, in_domain_queries=100), tmp_path)
    collection = Collection.open(tmp_path)
    assert len(collection.training().queries) > 400
    assert len(collection.evaluation_set("in-domain").documents) == 500
    for query, text_of in collection.training().queries.items():
        positive = collection.training().positives[query][0]
        assert text_of not in collection.training().documents[positive]
        break
