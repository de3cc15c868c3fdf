"""One interface for every engine, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.errors import LexigraftError
from lexigraft.retrieval import ENGINES, Vectors, search
from lexigraft.retrieval.vectors import shard_name, write_shard
from lexigraft.specs.options import RetrieveOptions

SET = EvaluationSet("tiny", {"d": "graph", "e": "matrix"}, {"d": "graph matrix"}, {"d": {"e": 1}})


def vectors(folder: Path, documents: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, ids in (("queries", ["d"]), ("documents", documents)):
        rows = np.eye(len(ids), 2, dtype=np.float32)
        write_shard(folder / shard_name(name, 0, False), rows, False)
        Vectors(folder, name, ids, [len(ids)], 2, False).write()
    return folder


def test_engines(tmp_path: Path) -> None:
    assert set(ENGINES) == {"exact", "seismic", "bm25"}
    exact = search(SET, vectors(tmp_path, ["d", "e"]), RetrieveOptions(engine="exact", depth=5))
    assert exact.run() == {"d": ["d", "e"]}
    assert search(SET, None, RetrieveOptions(engine="bm25", depth=5)).run() == {"d": ["d", "e"]}
    SET.remove_self_match = True
    assert search(SET, tmp_path, RetrieveOptions(engine="exact", depth=5)).run() == {"d": ["e"]}
    assert search(SET, None, RetrieveOptions(engine="bm25", depth=5)).run() == {"d": ["e"]}
    SET.remove_self_match = False


def test_refusals(tmp_path: Path) -> None:
    folder = vectors(tmp_path, ["d", "f"])
    with pytest.raises(LexigraftError, match="'exakt' found; allowed are exact, seismic, bm25"):
        search(SET, folder, RetrieveOptions(engine="exakt"))  # type: ignore[arg-type]
    with pytest.raises(LexigraftError, match="depth: 0 found"):
        search(SET, None, RetrieveOptions(engine="bm25", depth=0))
    for engine in ("exact", "seismic"):
        with pytest.raises(LexigraftError, match=f"tiny: the {engine} engine needs vectors"):
            search(SET, None, RetrieveOptions(engine=engine))  # type: ignore[arg-type]
    dense = vectors(tmp_path / "dense", ["d", "e"])
    with pytest.raises(LexigraftError, match="seismic searches sparse vectors, these are dense"):
        search(SET, dense, RetrieveOptions(engine="seismic"))
    with pytest.raises(LexigraftError, match="BM25 reads texts"):
        search(SET, folder, RetrieveOptions(engine="bm25"))
    for engine in ("exact", "seismic"):
        with pytest.raises(LexigraftError, match="are not the 2 of the set tiny"):
            search(SET, folder, RetrieveOptions(engine=engine))  # type: ignore[arg-type]
