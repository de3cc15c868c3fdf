import json
from pathlib import Path

import pytest
from beir_folder import write_lines

from lexigraft.corpora.records import (
    Document,
    Judgement,
    Query,
    read_documents,
    read_qrels,
    read_queries,
    write_documents,
    write_qrels,
    write_queries,
)
from lexigraft.errors import LexigraftError


def test_what_is_written_is_read(tmp_path: Path) -> None:
    documents = [Document("007", "Títle", "naïve\u2028text\n“quoted”"), Document("7", "", "")]
    queries = [Query("1", "a\tb"), Query("01", "Ünïcode")]
    judgements = [Judgement("1", '<dbpedia:"Weird_Al"_Yankovic>', 2), Judgement("01", "7", -1)]
    assert write_documents(tmp_path / "c.jsonl", documents) == 2
    assert write_queries(tmp_path / "q.jsonl", queries) == 2
    assert write_qrels(tmp_path / "t.tsv", judgements) == 2
    assert list(read_documents(tmp_path / "c.jsonl")) == documents
    assert list(read_queries(tmp_path / "q.jsonl")) == queries
    assert list(read_qrels(tmp_path / "t.tsv")) == judgements


def test_ids_that_look_like_numbers_stay_strings(tmp_path: Path) -> None:
    lines = ['{"_id": "0010", "text": "a"}', '{"_id": 10, "text": "b"}', '{"_id": "1e3"}']
    found = read_documents(write_lines(tmp_path / "c.jsonl", lines))
    assert [document.id for document in found] == ["0010", "10", "1e3"]


def test_mark_blank_lines_and_carriage_returns_are_passed_over(tmp_path: Path) -> None:
    corpus = write_lines(
        tmp_path / "c.jsonl", ['\ufeff{"_id": "a", "text": "é"}', "", "  "], end="\r\n"
    )
    assert list(read_documents(corpus)) == [Document("a", "", "é")]
    qrels = write_lines(
        tmp_path / "t.tsv", ["\ufeffquery-id\tcorpus-id\tscore", "", "1\t2\t0"], end="\r\n"
    )
    assert list(read_qrels(qrels)) == [Judgement("1", "2", 0)]


def test_qrels_need_no_header(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "t.tsv", ["1\t01\t1", "1\t2\t3"])
    assert list(read_qrels(path)) == [Judgement("1", "01", 1), Judgement("1", "2", 3)]


def test_content_leaves_an_empty_title_out() -> None:
    assert Document("1", "Heat", "flow").content == "Heat flow"
    assert Document("1", "", "flow").content == "flow"
    assert Document("1", "Heat", "").content == "Heat"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("1\t2\t1.5", r"t\.tsv, line 2: score '1\.5' found, a whole number"),
        ("1\t2\t1_0", "score '1_0' found"),
        ("1\t2\t", "score '' found"),
        ("1 2 1", "line 2: 1 tab-separated fields found, 3 are needed"),
        ("1\t0\t2\t1", "line 2: 4 tab-separated fields found"),
        ("\t2\t1", "line 2: empty id"),
        ("query-id\tcorpus-id\tscore", "score 'score' found"),
        ("1\t2\t" + "9" * 400, "score '9{20}' found, a whole number of at most 6 digits"),
        ("1\t2\t1" + "0" * 5000, "a whole number of at most 6 digits"),
        ('1\t"' + "x" * 200_000 + '"\t1', "line 2: not tab-separated .field larger than"),
    ],
)
def test_a_bad_judgement_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = write_lines(tmp_path / "t.tsv", ["query-id\tcorpus-id\tscore", line])
    with pytest.raises(LexigraftError, match=told):
        list(read_qrels(path))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", r"c\.jsonl, line 2: not valid JSON"),
        ("[1]", "line 2: list found, a JSON object is needed"),
        ('{"text": "b"}', "line 2: '_id' is None"),
        ('{"_id": "", "text": "b"}', "line 2: '_id' is ''"),
        ('{"_id": true, "text": "b"}', "line 2: '_id' is True"),
        ('{"_id": "a", "text": "b"}', "line 2: id 'a' came before"),
        ('{"_id": "b", "text": 3}', "line 2: 'text' is int"),
        (json.dumps({"_id": "b", "text": "\ud83d"}), "line 2: 'text' holds half of a surrogate"),
        (json.dumps({"_id": "\ud83d", "text": "b"}), "line 2: '_id' holds half of a surrogate"),
        ('{"_id": "b", "x": ' + "[" * 100_000, "line 2: not valid JSON .too deeply nested"),
        ('{"_id": "b", "x": 1' + "0" * 5000 + "}", "line 2: not valid JSON .Exceeds the limit"),
    ],
)
def test_a_bad_document_is_named(tmp_path: Path, line: str, told: str) -> None:
    path = write_lines(tmp_path / "c.jsonl", ['{"_id": "a", "text": "b"}', line])
    with pytest.raises(LexigraftError, match=told):
        list(read_documents(path))


def test_a_query_needs_a_text(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", ['{"_id": "a"}'])
    with pytest.raises(LexigraftError, match="query 'a' has no 'text'"):
        list(read_queries(path))


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b'{"_id": "a", "text": "\xe9"}\n')
    with pytest.raises(LexigraftError, match="line 1: not UTF-8"):
        list(read_documents(path))


def test_empty_files_are_refused(tmp_path: Path) -> None:
    empty = write_lines(tmp_path / "empty", ["", ""])
    with pytest.raises(LexigraftError, match="an empty corpus"):
        list(read_documents(empty))
    with pytest.raises(LexigraftError, match="no queries"):
        list(read_queries(empty))
    with pytest.raises(LexigraftError, match="no judgements"):
        list(read_qrels(empty))
    with pytest.raises(LexigraftError, match="no such file"):
        list(read_qrels(tmp_path / "absent"))
