import logging
from pathlib import Path

import pytest
from beir_folder import small_folder, write_folder, write_lines

from lexigraft.corpora import EvaluationSet
from lexigraft.errors import LexigraftError


def test_reads_a_folder(tmp_path: Path) -> None:
    found = EvaluationSet.read(small_folder(tmp_path / "wings"))
    assert found.name == "wings"
    assert found.documents == {
        "d1": "Heat Flow of heat.",
        "d2": "Drag of wings.",
        "d3": "Noise of jets.",
    }
    assert found.queries == {"q1": "heat", "q2": "drag"}
    assert found.qrels == {"q1": {"d1": 1}, "q2": {"d2": 2}}
    assert not found.remove_self_match


def test_what_does_not_fit_is_counted_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_folder(
        tmp_path / "f",
        [{"_id": "d1", "text": "a"}],
        [{"_id": "q1", "text": "a"}, {"_id": "q2", "text": "b"}],
        ["q1\td1\t1", "q1\tgone\t1", "q3\td1\t1", "q1\td1\t2"],
    )
    with caplog.at_level(logging.WARNING):
        found = EvaluationSet.read(folder, name="f")
    assert found.qrels == {"q1": {"d1": 2, "gone": 1}}
    assert found.queries == {"q1": "a"}
    assert (found.missing_documents, found.missing_queries, found.unjudged_queries) == (1, 1, 1)
    told = " ".join(caplog.messages)
    assert "1 judged documents that corpus.jsonl does not hold" in told
    assert "1 judged queries that queries.jsonl does not hold" in told
    assert "1 judgements of a pair judged before" in told


def test_refusals(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    with pytest.raises(LexigraftError, match="no such folder"):
        EvaluationSet.read(tmp_path / "absent")
    with pytest.raises(LexigraftError, match=r"dev\.tsv: no such file; splits .*: test"):
        EvaluationSet.read(folder, split="dev")
    write_lines(folder / "qrels" / "other.tsv", ["x\td1\t1"])
    with pytest.raises(LexigraftError, match=r"none of the 1 queries of qrels/other\.tsv"):
        EvaluationSet.read(folder, split="other")
    write_lines(folder / "corpus.jsonl", [])
    with pytest.raises(LexigraftError, match=r"corpus\.jsonl: an empty corpus"):
        EvaluationSet.read(folder)


@pytest.mark.parametrize(
    ("name", "documents", "queries", "judgements"),
    [("cranfield", 1400, 225, 1612), ("cacm", 3204, 52, 796)],
)
def test_real_collections(
    shared: Path, name: str, documents: int, queries: int, judgements: int
) -> None:
    """Counts as `wc -l` and the collections' own descriptions give them: CACM judges 52 of 64
    queries; Cranfield 1,400 documents and 225 queries."""
    found = EvaluationSet.read(shared / "collections" / name)
    assert (len(found.documents), len(found.queries)) == (documents, queries)
    assert sum(map(len, found.qrels.values())) == judgements
    assert found.missing_documents == 0
    assert all(isinstance(key, str) for key in found.documents)
