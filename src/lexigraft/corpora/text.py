"""Plain text for masked-language-model adaptation: data sets of the hub, or files of one's own.

The Vocabulary Transfer paper adapts on English Wikipedia and BookCorpus (section 5.1).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

from lexigraft.corpora import hub
from lexigraft.corpora.collection import write_manifest
from lexigraft.corpora.records import write_objects
from lexigraft.errors import LexigraftError
from lexigraft.progress import track
from lexigraft.specs.base import slug

KNOWN = {
    "wikipedia": hub.HubSet("wikimedia/wikipedia", "20231101.en"),
    "bookcorpus": hub.HubSet("rojagtap/bookcorpus"),
}
"""Short names. The hub's first BookCorpus needs its own code to load; this is a Parquet copy of its
74 million sentences."""
_FORMATS = {".jsonl": "json", ".json": "json", ".parquet": "parquet", ".txt": "text"}
TEXTS_A_FILE = 1_000_000


def write_text_collection(out: Path, *, source: str, path: str, limit: int) -> None:
    """Write plain text as a collection, in files of a million texts.

    Args:
        out: empty folder.
        source: data sets joined by `+`, each `wikipedia`, `bookcorpus` or `owner/name[:config]` of
            the hub; they follow one another.
        path: instead, a file or a folder of .jsonl, .parquet (a column `text`) or .txt files.
        limit: at most so many texts of each data set, 0 for all.

    Raises:
        LexigraftError: nothing is named, something cannot be read, or it holds no text.
    """
    facts: dict[str, dict[str, Any]] = {}
    streams: list[tuple[str, Iterator[Mapping[str, Any]]]] = []
    if path:
        streams.append((slug(Path(path).resolve().name), local_rows(Path(path))))
        facts[streams[0][0]] = {}
    else:
        for name, found in parse_source(source).items():
            revision = hub.commit(found.repository)
            facts[name] = {"repository": found.repository, "commit": revision}
            streams.append((name, hub.rows(found, revision)))
    for name, rows in streams:
        facts[name] |= write_texts(out / "text", name, rows, limit)
    write_manifest(out, "text", {}, sources=facts)


def parse_source(source: str) -> dict[str, hub.HubSet]:
    """`wikipedia+owner/name:config` as names and data sets, in their order.

    Raises:
        LexigraftError: empty, or a part that is neither a short name nor `owner/name`.
    """
    found: dict[str, hub.HubSet] = {}
    for part in source.split("+"):
        name = part.strip()
        repository, _, configuration = name.partition(":")
        if name not in KNOWN and repository.count("/") != 1:
            raise LexigraftError(
                f"source {source!r}: {name!r} found, allowed are {', '.join(KNOWN)} and "
                "'owner/name[:config]', joined by '+'"
            )
        found[slug(name)] = KNOWN.get(name) or hub.HubSet(repository, configuration)
    return found


def local_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Rows of text files, streamed in the order of their names.

    Raises:
        LexigraftError: no such file or folder, or no file of a known format in it.
    """
    from datasets import load_dataset

    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    files = [file for file in files if file.suffix in _FORMATS]
    if not files:
        raise LexigraftError(f"{path}: no text files, allowed are {', '.join(_FORMATS)}")
    for file in files:
        kind = _FORMATS[file.suffix]
        try:
            yield from load_dataset(kind, data_files=str(file), split="train", streaming=True)
        except Exception as error:
            first = (str(error).strip().splitlines() or [""])[0]
            raise LexigraftError(f"{file}: cannot be read as {kind} ({first})") from None


def write_texts(
    folder: Path, name: str, rows: Iterable[Mapping[str, Any]], limit: int = 0
) -> dict[str, int]:
    """Stream the column `text` of rows into numbered files; blank texts are left out.

    Returns:
        How many texts and words there are.

    Raises:
        LexigraftError: a row without a text, or no text at all.
    """
    found = {"texts": 0, "words": 0}
    texts = islice(_texts(name, rows), limit or None)

    def counted(part: Iterable[str]) -> Iterator[dict[str, str]]:
        for text in part:
            found["texts"] += 1
            found["words"] += len(text.split())
            yield {"text": text}

    shown = track(texts, f"read {name}", unit="texts")
    for number in count():
        first = next(shown, None)
        if first is None:
            break
        part = chain([first], islice(shown, TEXTS_A_FILE - 1))
        write_objects(folder / f"{name}-{number:05d}.jsonl", counted(part))
    if not found["texts"]:
        raise LexigraftError(f"{name}: holds no text")
    return found


def _texts(name: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        text = row.get("text")
        if not isinstance(text, str):
            raise LexigraftError(f"{name}: a row with the columns {sorted(row)}, 'text' is needed")
        if text.strip():
            yield text
