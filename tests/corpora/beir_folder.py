"""Writes small BEIR folders."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def write_lines(path: Path, lines: Iterable[str], *, end: str = "\n") -> Path:
    """Text lines, with the given line end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


def write_folder(
    folder: Path,
    documents: Iterable[Mapping[str, Any]],
    queries: Iterable[Mapping[str, Any]],
    qrels: Iterable[str],
    split: str = "test",
) -> Path:
    """A BEIR folder with one qrels file, whose lines are given without the header."""
    write_lines(folder / "corpus.jsonl", map(json.dumps, documents))
    write_lines(folder / "queries.jsonl", map(json.dumps, queries))
    write_lines(folder / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore", *qrels])
    return folder


def small_folder(folder: Path) -> Path:
    """Three documents, two judged queries."""
    return write_folder(
        folder,
        [
            {"_id": "d1", "title": "Heat", "text": "Flow of heat."},
            {"_id": "d2", "title": "", "text": "Drag of wings."},
            {"_id": "d3", "text": "Noise of jets."},
        ],
        [{"_id": "q1", "text": "heat"}, {"_id": "q2", "text": "drag"}],
        ["q1\td1\t1", "q2\td2\t2"],
    )
