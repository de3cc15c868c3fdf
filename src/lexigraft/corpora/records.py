"""Lines of a BEIR folder: documents, queries and judgements, each error with its file and line.

A BEIR folder (Thakur et al., 2021, https://github.com/beir-cellar/beir) holds `corpus.jsonl`
({"_id", "title", "text"}), `queries.jsonl` ({"_id", "text"}) and `qrels/<split>.tsv` (query,
document, grade). Ids are strings here whatever they look like.
"""

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lexigraft.errors import LexigraftError
from lexigraft.files import as_object, member, parse_json, whole_file

QRELS_HEADER = ("query-id", "corpus-id", "score")
_GRADE = re.compile(r"[+-]?0*[0-9]{1,6}")
"""trec_eval makes a table of all grades up to the highest one."""
_BOM = "\ufeff"


class Document(NamedTuple):
    """One document as a BEIR folder holds it."""

    id: str
    title: str
    text: str

    @property
    def content(self) -> str:
        """What is indexed and encoded: title and text, as BEIR joins them."""
        return f"{self.title} {self.text}".strip() if self.title else self.text


class Query(NamedTuple):
    """One query as a BEIR folder holds it."""

    id: str
    text: str


class Judgement(NamedTuple):
    """One line of a qrels file."""

    query: str
    document: str
    grade: int


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line number (from 1) and text of each line that is not blank, without its line end.

    Lines end in LF or CRLF (a U+2028 inside a text ends none); a byte order mark is passed over.

    Raises:
        LexigraftError: no such file, or bytes that are not UTF-8.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise LexigraftError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise LexigraftError(f"{path}: a folder, not a file") from None
    with stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise LexigraftError(f"{path}, line {number}: not UTF-8 ({error})") from None
            line = line.removeprefix(_BOM) if number == 1 else line
            if line.strip():
                yield number, line


def read_objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each line of a JSON Lines file.

    Raises:
        LexigraftError: as `read_lines`, or a line that is no JSON object.
    """
    for number, line in read_lines(path):
        where = f"{path}, line {number}"
        yield number, as_object(parse_json(line, where), where)


def read_documents(path: Path) -> Iterator[Document]:
    """Documents of a `corpus.jsonl`, in file order; an absent title or text is empty.

    Raises:
        LexigraftError: an unreadable line, a bad id or an id that came before; no document at all.
    """
    seen: set[str] = set()
    for number, record in read_objects(path):
        identifier = _id(record, path, number, seen)
        title = _text(record, "title", path, number) or ""
        text = _text(record, "text", path, number) or ""
        yield Document(identifier, title, text)
    if not seen:
        raise LexigraftError(f"{path}: an empty corpus, at least one document is needed")


def read_queries(path: Path) -> Iterator[Query]:
    """Queries of a `queries.jsonl`, in file order.

    Raises:
        LexigraftError: an unreadable line, no text, a bad id or an id that came before; no query.
    """
    seen: set[str] = set()
    for number, record in read_objects(path):
        identifier = _id(record, path, number, seen)
        text = _text(record, "text", path, number)
        if text is None:
            raise LexigraftError(f"{path}, line {number}: query {identifier!r} has no 'text'")
        yield Query(identifier, text)
    if not seen:
        raise LexigraftError(f"{path}: no queries, at least one is needed")


def read_texts(path: Path) -> Iterator[str]:
    """Texts of a file of {"text"} lines, in file order.

    Raises:
        LexigraftError: an unreadable line, or one without a text.
    """
    for number, record in read_objects(path):
        text = _text(record, "text", path, number)
        if text is None:
            raise LexigraftError(f"{path}, line {number}: no 'text'")
        yield text


def read_negatives(path: Path) -> dict[str, list[str]]:
    """Query id to documents of a `negatives.jsonl`.

    Raises:
        LexigraftError: an unreadable line, or one without a query or a list of documents.
    """
    found = {}
    for number, record in read_objects(path):
        where = f"{path}, line {number}"
        documents = member(record, "negatives", list, where)
        if not all(isinstance(document, str) for document in documents):
            raise LexigraftError(f"{where}: 'negatives' holds what is no id, strings are needed")
        found[member(record, "query", str, where)] = documents
    return found


def read_qrels(path: Path) -> Iterator[Judgement]:
    """Judgements of a `qrels/<split>.tsv`, in file order, with or without its header line.

    Fields are tab-separated and quoted as BEIR's own loader reads them (DBpedia's ids hold quotes).

    Raises:
        LexigraftError: a line without three fields, an empty id, a grade that is no whole number;
            no judgement at all.
    """
    first, found = True, False
    for number, line in read_lines(path):
        try:
            fields = next(csv.reader([line], delimiter="\t")) if '"' in line else line.split("\t")
        except csv.Error as error:
            raise LexigraftError(f"{path}, line {number}: not tab-separated ({error})") from None
        fields = [field.strip() for field in fields]
        if first and fields[-1].lower() == QRELS_HEADER[-1]:
            first = False
            continue
        first = False
        if len(fields) != 3:
            raise LexigraftError(
                f"{path}, line {number}: {len(fields)} tab-separated fields found, "
                "3 are needed (query-id, corpus-id, score)"
            )
        query, document, grade = fields
        if not query or not document:
            raise LexigraftError(f"{path}, line {number}: empty id in {line!r}")
        if not _GRADE.fullmatch(grade):
            raise LexigraftError(
                f"{path}, line {number}: score {grade[:20]!r} found, a whole number of at most 6 "
                "digits is needed"
            )
        found = True
        yield Judgement(query, document, int(grade))
    if not found:
        raise LexigraftError(f"{path}: no judgements, at least one is needed")


def write_objects(path: Path, records: Iterable[dict[str, Any]]) -> int:
    """Write a JSON Lines file, whole or not at all; returns the number of lines."""
    count = 0
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as stream:
        for record in records:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def write_documents(path: Path, documents: Iterable[Document]) -> int:
    """Write a `corpus.jsonl`; returns the number of documents."""
    return write_objects(path, ({"_id": d.id, "title": d.title, "text": d.text} for d in documents))


def write_queries(path: Path, queries: Iterable[Query]) -> int:
    """Write a `queries.jsonl`; returns the number of queries."""
    return write_objects(path, ({"_id": q.id, "text": q.text} for q in queries))


def write_qrels(path: Path, judgements: Iterable[Judgement]) -> int:
    """Write a qrels file with its header; returns the number of judgements."""
    count = 0
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(QRELS_HEADER)
        for judgement in judgements:
            writer.writerow(judgement)
            count += 1
    return count


def _id(record: dict[str, Any], path: Path, number: int, seen: set[str]) -> str:
    value = record.get("_id")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise LexigraftError(
            f"{path}, line {number}: '_id' is {value!r}, a string that is not empty is needed"
        )
    if value in seen:
        raise LexigraftError(f"{path}, line {number}: id {value!r} came before, ids must differ")
    seen.add(value)
    return _characters(value, "_id", path, number)


def _text(record: dict[str, Any], key: str, path: Path, number: int) -> str | None:
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise LexigraftError(
            f"{path}, line {number}: '{key}' is {type(value).__name__}, a string is needed"
        )
    return value and _characters(value, key, path, number)


def _characters(value: str, key: str, path: Path, number: int) -> str:
    try:
        return value.encode().decode()
    except UnicodeEncodeError:
        raise LexigraftError(
            f"{path}, line {number}: '{key}' holds half of a surrogate pair, which is no character"
        ) from None
