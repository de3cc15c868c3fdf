"""Search of a large collection in bounded memory: python -m lexigraft.bench.million --out DIR

Writes documents with topics as encoded shards and searches them, each way in a process of its own:

    exact     the `exact` engine: shard by shard, nothing kept
    index     `ExactIndex`: all documents inverted in memory, then searched
    seismic   the `seismic` engine, and what it finds of exact search's hits

`DIR/million.json` holds, for each, seconds of preparing and of searching and the peak of the whole
process's memory as the kernel counts it; what was written is kept and used again.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lexigraft.bench.facts import machine_facts
from lexigraft.bench.memory import peak_of
from lexigraft.files import read_object, write_json
from lexigraft.machine import threads
from lexigraft.progress import track

DOCUMENT_TERMS, QUERY_TERMS, VOCABULARY = 200, 30, 30_522
DOCUMENTS_A_TOPIC = 1_000
DEPTH = 1_000
POSTINGS_KEPT = 0.15
"""Share of all entries that Seismic's lists keep."""
SEISMIC = {"query_cut": 15, "heap_factor": 0.9}


def main(words: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m lexigraft.bench.million")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", choices=WAYS, help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    if asked.only:
        print(json.dumps(WAYS[asked.only](asked.out)))
        return
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "million.json"
    report = read_object(path) if path.is_file() else {}
    size = {"documents": asked.documents, "queries": asked.queries, "depth": DEPTH}
    if report.get("size") != size:
        start = time.perf_counter()
        _write(asked.out, asked.documents, asked.queries)
        report = {"size": size, "write": {"seconds": round(time.perf_counter() - start, 1)}}
        write_json(path, report)
    report["machine"] = machine_facts(threads())
    for way in asked.ways:
        command = [sys.executable, "-m", "lexigraft.bench.million", "--out", str(asked.out)]
        done = subprocess.run(
            [*command, "--only", way], stdout=subprocess.PIPE, text=True, check=True
        )
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
    main()
