from pathlib import Path

import pytest
from beir_folder import small_folder, write_lines

from lexigraft.corpora import Collection
from lexigraft.errors import LexigraftError
from lexigraft.specs.stages import CorpusSpec
from lexigraft.stages.corpus import run
from lexigraft.stages.job import execute


def test_each_kind_that_needs_no_network(tmp_path: Path) -> None:
    small_folder(tmp_path / "wings")
    write_lines(tmp_path / "texts" / "a.txt", ["one"])
    specs = [
        CorpusSpec(kind="beir", path=str(tmp_path / "wings")),
        CorpusSpec(kind="text", path=str(tmp_path / "texts")),
        CorpusSpec(kind="docstrings", zero_shot_packages=("joblib",)),
    ]
    for spec in specs:
        execute(spec, {}, tmp_path / spec.kind, run)
        assert Collection.open(tmp_path / spec.kind).manifest["kind"] == spec.kind


def test_a_refused_corpus_leaves_nothing(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "wings")
    write_lines(folder / "qrels" / "test.tsv", ["q1\td1\tmuch"])
    with pytest.raises(LexigraftError, match=r"test\.tsv, line 1: score 'much' found"):
        execute(CorpusSpec(kind="beir", path=str(folder)), {}, tmp_path / "out", run)
    assert not (tmp_path / "out").exists()
