"""Search of a large collection in bounded memory: python -m lexigraft.bench.million --out DIR

Writes documents with topics as encoded shards and searches them, each way in a process of its own:

    exact     the `exact` engine: shard by shard, nothing kept
    index     `ExactIndex`: all documents inverted in memory, then searched
    seismic   the `seismic` engine, and what it finds of exact search's hits

`DIR/million.json` holds, for each, seconds of preparing and of searching and the peak of the whole
process's memory as the kernel counts it; what was written is kept and used again.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lexigraft.bench.facts import machine_facts
from lexigraft.bench.memory import peak_of
from lexigraft.errors import LexigraftError
from lexigraft.files import read_object, write_json
from lexigraft.machine import threads
from lexigraft.progress import track
from lexigraft.refusals import told_in_one_sentence

DOCUMENT_TERMS, QUERY_TERMS, VOCABULARY = 200, 30, 30_522
DOCUMENTS_A_TOPIC = 1_000
DEPTH = 1_000
POSTINGS_KEPT = 0.15
"""Share of all entries that Seismic's lists keep."""
SEISMIC = {"query_cut": 15, "heap_factor": 0.9}


@told_in_one_sentence
def million(
    *,
    documents: Annotated[int, typer.Option(help="How many.")] = 1_000_000,
    queries: Annotated[int, typer.Option(help="How many.")] = 500,
    ways: Annotated[
        list[str] | None, typer.Option("--way", help="exact, index or seismic; repeatable.")
    ] = None,
    only: Annotated[str, typer.Option(hidden=True)] = "",
    out: Annotated[Path, typer.Option(help="Folder for the documents and the report.")],
) -> None:
    """Search a large collection each way, in a process of its own, and measure time and memory."""
    if only:
        print(json.dumps(WAYS[only](out)))
        return
    for name, count in (("documents", documents), ("queries", queries)):
        if count < 1:
            raise LexigraftError(f"--{name}: found {count}; allowed: 1 or more")
    for way in ways or ():
        if way not in WAYS:
            raise LexigraftError(f"--way: found {way!r}; allowed: {', '.join(WAYS)}")
    path = out / "million.json"
    if out.exists() and not out.is_dir():
        raise LexigraftError(f"{out}: a file; a folder is needed")
    if out.is_dir() and any(out.iterdir()) and not path.is_file():
        raise LexigraftError(
            f"{out}: not empty, and not a folder of this command; another is needed"
        )
    out.mkdir(parents=True, exist_ok=True)
    report = read_object(path) if path.is_file() else {}
    size = {"documents": documents, "queries": queries, "depth": DEPTH}
    if report.get("size") != size:
        # What belongs to another size goes first, so that a kill leaves nothing that misleads.
        write_json(path, {})
        for kept in (*out.glob("*.np[zy]"), *out.glob("documents.json"), *out.glob("queries.json")):
            kept.unlink()
        start = time.perf_counter()
        _write(out, documents, queries)
        report = {"size": size, "write": {"seconds": round(time.perf_counter() - start, 1)}}
        write_json(path, report)
    report["machine"] = machine_facts(threads())
    for way in ways or WAYS:
        command = [sys.executable, "-m", "lexigraft.bench.million", "--out", str(out)]
        done = subprocess.run([*command, "--only", way], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise LexigraftError(f"{way}: its process ended with code {done.returncode}")
        report[way] = json.loads(done.stdout)
        write_json(path, report)
        print(way, json.dumps(report[way]))


def _write(out: Path, documents: int, queries: int) -> None:
    from lexigraft.bench.comparisons.topical import Topics
    from lexigraft.retrieval.vectors import Vectors, shard_name, write_shard

    topics = Topics(VOCABULARY, max(1, documents // DOCUMENTS_A_TOPIC))
    kinds = {
        "documents": topics.documents(documents, DOCUMENT_TERMS),
        "queries": iter([topics.queries(queries, QUERY_TERMS)]),
    }
    for name, parts in kinds.items():
        rows: list[int] = []
        for number, part in enumerate(track(parts, f"write {name}", unit="shards")):
            write_shard(out / shard_name(name, number, True), part, True)
            rows.append(part.shape[0])
        ids = [f"{name[0]}{row:08d}" for row in range(sum(rows))]
        Vectors(out, name, ids, rows, VOCABULARY, True).write()


def _exact(out: Path) -> dict[str, Any]:
    from lexigraft.retrieval.exact import search_vectors

    queries, documents = _vectors(out)
    return _measured(out, None, lambda _: search_vectors(queries, documents, DEPTH), "exact")


def _index(out: Path) -> dict[str, Any]:
    from lexigraft.retrieval.exact import ExactIndex

    queries, documents = _vectors(out)
    return _measured(
        out,
        lambda: ExactIndex(documents.shards(), documents.ids),
        lambda index: index.search(queries.matrix(), queries.ids, DEPTH),
    )


def _seismic(out: Path) -> dict[str, Any]:
    from lexigraft.retrieval.seismic import SeismicIndex
    from lexigraft.specs.options import RetrieveOptions

    queries, documents = _vectors(out)
    entries = DOCUMENT_TERMS * len(documents.ids)
    stated = SEISMIC | {"n_postings": max(1, round(POSTINGS_KEPT * entries / VOCABULARY))}
    options = RetrieveOptions(engine="seismic", **stated)  # type: ignore[arg-type]
    return _measured(
        out,
        lambda: SeismicIndex(documents.shards(), documents.ids, VOCABULARY, options),
        lambda index: index.search(queries.matrix(), queries.ids, DEPTH),
    ) | {"options": stated}


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "exact": _exact,
    "index": _index,
    "seismic": _seismic,
}


def _vectors(out: Path) -> tuple[Any, Any]:
    from lexigraft.retrieval.vectors import Vectors

    return Vectors.open(out, "queries"), Vectors.open(out, "documents")


def _measured(
    out: Path,
    prepare: Callable[[], Any] | None,
    search: Callable[[Any], Any],
    keep: str = "",
) -> dict[str, Any]:
    """Seconds, peak memory, and the share of exact search's hits, where those are there.

    Args:
        prepare: makes an index.
        search: takes it and gives hits.
        keep: name under which the hits are kept for others to be compared with.
    """
    import numpy as np

    from lexigraft.retrieval.hits import Hits
    from lexigraft.retrieval.recall import recall_of_exact

    seconds: dict[str, float] = {}
    hits: Any = None

    def work() -> None:
        nonlocal hits
        start = time.perf_counter()
        index = prepare() if prepare else None
        ready = time.perf_counter()
        hits = search(index)
        seconds["prepare"] = round(ready - start, 1)
        seconds["search"] = round(time.perf_counter() - ready, 2)

    peak = peak_of(work)
    found = {"seconds": seconds, "peak_bytes": peak.total}
    path = out / "exact.npz"
    if keep:
        lengths = [len(each) for each in hits.documents]
        documents, scores = np.concatenate(hits.documents), np.concatenate(hits.scores)
        np.savez(path, documents=documents, scores=scores, ends=np.cumsum(lengths))
    elif path.is_file():
        kept = np.load(path, allow_pickle=False)
        parts = (np.split(kept[name], kept["ends"][:-1]) for name in ("documents", "scores"))
        exact = Hits(hits.query_ids, [], *parts)
        found["recall"] = {k: recall_of_exact(hits, exact, k) for k in (10, DEPTH)}
    return found


if __name__ == "__main__":
    typer.run(million)
