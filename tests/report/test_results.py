from pathlib import Path

import pandas as pd
import pytest
from tiny_table import write_evaluation

from lexigraft.errors import LexigraftError
from lexigraft.report.results import Results


def write_queries(results: Path, rows: list[tuple[str, str, str, float]]) -> None:
    frame = pd.DataFrame(rows, columns=["set", "query", "metric", "value"])
    frame.to_parquet(results / "evaluate" / "x" / "per_query.parquet")


@pytest.fixture
def half(tmp_path: Path) -> Path:
    write_evaluation(tmp_path, "x", {"a": {"ndcg@10": 0.5}})
    return tmp_path


def test_values_of_one_set_and_measure(half: Path):
    write_queries(
        half,
        [("a", "1", "ndcg@10", 0.25), ("a", "001", "ndcg@10", 0.75), ("b", "1", "ndcg@10", 0.0)],
    )
    assert Results(half).per_query("x", "a", "ndcg@10") == {"1": 0.25, "001": 0.75}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("b", "1", "ndcg@10", 0.5)], "no values"),
        ([("a", "1", "ndcg@10", 0.5), ("a", "1", "ndcg@10", 0.5)], "query '1' twice"),
        ([("a", "1", "ndcg@10", float("nan"))], "query '1' is not finite"),
        ([("a", "1", "ndcg@10", 0.6)], "mean is 0.600000, metrics.json says 0.5"),
    ],
)
def test_values_that_do_not_make_up_the_mean_are_refused(
    half: Path, rows: list[tuple[str, str, str, float]], said: str
):
    write_queries(half, rows)
    with pytest.raises(LexigraftError, match=said):
        Results(half).per_query("x", "a", "ndcg@10")


def test_files_that_are_not_there_or_not_readable(half: Path):
    with pytest.raises(LexigraftError, match=r"per_query\.parquet: no such file"):
        Results(half).per_query("x", "a", "ndcg@10")
    (half / "evaluate" / "x" / "per_query.parquet").write_text("no table")
    with pytest.raises(LexigraftError, match="not readable as Parquet"):
        Results(half).per_query("x", "a", "ndcg@10")
    (half / "evaluate" / "x" / "metrics.json").write_text("[]")
    with pytest.raises(LexigraftError, match=r"metrics\.json: list found, a JSON object is needed"):
        Results(half).value("x", "a", "ndcg@10")
