import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lexigraft.errors import LexigraftError
from lexigraft.training.scores import PairScores, write_scores

PARTS = [
    (["q1", "q0"], ["d2", "d0"], np.array([2.5, -1.0], np.float32)),
    (["q1", "other"], ["d0", "d0"], np.array([7.0, 9.0], np.float32)),
]


def test_scores_come_back_by_position(tmp_path) -> None:
    path = tmp_path / "scores.parquet"
    assert write_scores(path, PARTS) == 4
    scores = PairScores(path, ["q0", "q1"], ["d0", "d1", "d2"])
    assert len(scores) == 3
    found = scores.lookup(np.array([1]), np.array([[0, 2, 0]]))
    assert found.tolist() == [[7.0, 2.5, 7.0]]
    assert found.dtype == np.float32


@pytest.mark.parametrize("pair", [("q0", "d2"), ("q1", "d1")])
def test_a_missing_pair_is_named(tmp_path, pair) -> None:
    path = tmp_path / "scores.parquet"
    write_scores(path, PARTS)
    queries, documents = ["q0", "q1"], ["d0", "d1", "d2"]
    scores = PairScores(path, queries, documents)
    wanted = np.array([queries.index(pair[0])]), np.array([[documents.index(pair[1])]])
    with pytest.raises(LexigraftError, match=f"query '{pair[0]}' and document '{pair[1]}'"):
        scores.lookup(*wanted)


def test_files_that_are_no_scores_are_refused(tmp_path) -> None:
    path = tmp_path / "scores.parquet"
    with pytest.raises(LexigraftError, match="no such file"):
        PairScores(path, ["q0"], ["d0"])
    path.write_text("query,document,score\n")
    with pytest.raises(LexigraftError, match="not a parquet file"):
        PairScores(path, ["q0"], ["d0"])
    pq.write_table(pa.table({"query": ["q0"], "score": [1.0]}), path)
    with pytest.raises(LexigraftError, match="no column document; found query, score"):
        PairScores(path, ["q0"], ["d0"])
    pq.write_table(pa.table({"query": ["q0"], "document": ["d0"], "score": ["high"]}), path)
    with pytest.raises(LexigraftError, match=r"scores\.parquet: not readable as ids .* 'high'"):
        PairScores(path, ["q0"], ["d0"])
    pq.write_table(pa.table({"query": [["q0"]], "document": ["d0"], "score": [1.0]}), path)
    with pytest.raises(LexigraftError, match=r"scores\.parquet: not readable as ids"):
        PairScores(path, ["q0"], ["d0"])
    write_scores(path, PARTS)
    with pytest.raises(LexigraftError, match="no pair of the collection"):
        PairScores(path, ["x"], ["y"])
    write_scores(path, [(["q0"], ["d0"], np.array([np.nan], np.float32))])
    with pytest.raises(LexigraftError, match="not finite"):
        PairScores(path, ["q0"], ["d0"])
