"""Rankings as a table and back."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from lexigraft.errors import LexigraftError
from lexigraft.retrieval.hits import Hits, read_rankings, write_rankings

HITS = Hits(
    ["q2", "q1", "empty"],
    ["x", "y", "z"],
    [np.array([2, 0]), np.array([1]), np.array([], dtype=np.int64)],
    [np.array(s, dtype=np.float32) for s in ([2.5, 1.0], [0.5], [])],
)
NOTHING = Hits(["q"], ["x"], [np.array([], dtype=np.int64)], [np.array([], dtype=np.float32)])


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "rankings.parquet"
    write_rankings(path, iter([("b", HITS), ("nothing", NOTHING), ("a", HITS)]))
    rows = pq.read_table(path).to_pylist()
    assert rows[:3] == [
        {"set": "b", "query": "q2", "document": "z", "rank": 1, "score": 2.5},
        {"set": "b", "query": "q2", "document": "x", "rank": 2, "score": 1.0},
        {"set": "b", "query": "q1", "document": "y", "rank": 1, "score": 0.5},
    ]
    # A query and a set without hits have no rows.
    run = {"q2": ["z", "x"], "q1": ["y"]}
    assert dict(read_rankings(path)) == {"b": run, "a": run}
    assert HITS.run() == run | {"empty": []}


def test_ranks_decide_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "rankings.parquet"
    write_rankings(path, iter([("b", HITS), ("a", HITS)]))
    rows = pq.read_table(path)
    pq.write_table(rows.take(np.random.default_rng(0).permutation(len(rows))), path)
    run = {"q2": ["z", "x"], "q1": ["y"]}
    assert dict(read_rankings(path)) == {"b": run, "a": run}


def test_unreadable_rankings(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="unreadable rankings"):
        dict(read_rankings(tmp_path / "rankings.parquet"))
    (tmp_path / "rankings.parquet").write_text("no parquet")
    with pytest.raises(LexigraftError, match="unreadable rankings"):
        dict(read_rankings(tmp_path / "rankings.parquet"))
