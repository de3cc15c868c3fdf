"""BEIR sets: one of the benchmark's by name, or one's own folder in the same format."""

import hashlib
import logging
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.corpora.collection import write_manifest
from lexigraft.corpora.evaluation_set import fit, group_judgements, qrels_path
from lexigraft.corpora.hub_beir import fetch_hub_set
from lexigraft.corpora.records import (
    Document,
    Judgement,
    read_documents,
    read_qrels,
    read_queries,
    write_documents,
    write_qrels,
    write_queries,
)
from lexigraft.errors import LexigraftError
from lexigraft.files import whole_file
from lexigraft.specs.stages import beir_set_name

log = logging.getLogger(__name__)
URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{}.zip"


@dataclass(frozen=True)
class BenchmarkSet:
    """What the BEIR benchmark fixes about one of its sets."""

    md5: str
    """MD5 of the archive as BEIR's own table of data sets gives it; empty where copies of that
    table differ."""
    split: str = "test"
    """Split whose judgements the benchmark reports."""
    remove_self_match: bool = False
    """Whether queries are documents themselves, which may not find themselves."""


BENCHMARK = {
    "trec-covid": BenchmarkSet("ce62140cb23feb9becf6270d0d1fe6d1"),
    "nfcorpus": BenchmarkSet("a89dba18a62ef92f7d323ec890a0d38d"),
    "nq": BenchmarkSet("d4d3d2e48787a744b6f6e691ff534307"),
    "hotpotqa": BenchmarkSet("f412724f78b0d91183a0e86805e16114"),
    "fiqa": BenchmarkSet("17918ed23cd04fb15047f73e6c3bd9d9"),
    "arguana": BenchmarkSet("8ad3e3c2a5867cdced806d6503f29b99", remove_self_match=True),
    "webis-touche2020": BenchmarkSet("46f650ba5a527fc69e0a6521c5a23563"),
    "dbpedia-entity": BenchmarkSet("c2a39eb420a3164af735795df012ac2c"),
    "scidocs": BenchmarkSet("38121350fc3a4d2f48850f6aff52e4a9"),
    "fever": BenchmarkSet(""),
    "climate-fever": BenchmarkSet("8b66f0a9126c521bae2bde127b4dc99d"),
    "scifact": BenchmarkSet("5f7d1de60b170fc8027bb7898e2efca1"),
    "quora": BenchmarkSet("18fb154900ba42a600f84b839c173167", remove_self_match=True),
    "msmarco": BenchmarkSet("", split="dev"),
}
"""The 13 sets of the Vocabulary Transfer paper (section 5.1) and MS MARCO, by BEIR's names
(Thakur et al., 2021)."""


def write_beir_collection(
    out: Path,
    downloads: Path,
    *,
    source: str,
    path: str,
    split: str,
    remove_self_match: bool,
    limit: int,
) -> None:
    """Write a collection with one evaluation set: a BEIR set or a folder in its format.

    Args:
        out: empty folder.
        downloads: where archives are kept while the stage has not succeeded.
        source: BEIR's name of the set, or `owner/name` of the hub; names the set of a folder too,
            where it is given.
        path: one's own folder; empty to download `source`.
        split: which qrels file judges.
        remove_self_match: see EvaluationSet; ArguAna and Quora have it without asking.
        limit: at most so many documents, 0 for all.

    Raises:
        LexigraftError: neither name nor folder, a name that BEIR does not have, a download that
            fails, or a folder that cannot be read.
    """
    known = BENCHMARK.get(source, BenchmarkSet(""))
    name = beir_set_name(source, path)
    revision: dict[str, Any] = {}
    if path:
        folder = Path(path)
    elif "/" in source:
        folder = downloads / name
        revision = {"sources": {source: fetch_hub_set(source, split, folder)}}
    else:
        folder = download(source, downloads)
    self_match = remove_self_match or known.remove_self_match
    facts = copy_set(folder, out / "sets" / name, name, split, self_match, limit, copy=bool(path))
    write_manifest(out, "beir", {name: facts}, **revision)


def copy_set(
    folder: Path,
    target: Path,
    name: str,
    split: str,
    remove_self_match: bool,
    limit: int = 0,
    *,
    copy: bool = True,
) -> dict[str, Any]:
    """Bring one split of a BEIR folder into a collection, document by document.

    Args:
        folder: the BEIR folder.
        target: the set's folder in the collection.
        name: of the set, for messages.
        split: which qrels file judges.
        remove_self_match: goes into the facts.
        limit: at most so many documents, 0 for all.
        copy: False to link the corpus file instead, where nobody will change it in place.

    Returns:
        The set's facts for the manifest.

    Raises:
        LexigraftError: the folder cannot be read, or nothing in it is judged.
    """
    path = qrels_path(folder, split)
    qrels, repeated = group_judgements(read_qrels(path))
    queries = folder / "queries.jsonl"
    corpus = folder / "corpus.jsonl"
    documents = [document.id for document in read_documents(corpus)]
    if limit and limit < len(documents):
        qrels = _within(qrels, limit)
        judged = {document for grades in qrels.values() for document in grades}
        spare = limit - sum(document in judged for document in documents)
        kept = _first(documents, judged, spare)
        write_documents(target / corpus.name, _chosen(read_documents(corpus), kept.__contains__))
        documents = [document for document in documents if document in kept]
    else:
        transfer = shutil.copyfile if copy else link_or_copy
        with whole_file(target / corpus.name) as partial:
            transfer(corpus, partial)
    texts = [query.id for query in read_queries(queries)]
    counts = fit(name, folder, split, qrels, texts, documents, repeated)
    counts["queries"] = write_queries(
        target / queries.name, (query for query in read_queries(queries) if query.id in qrels)
    )
    judgements = (
        Judgement(q, d, grade) for q, grades in qrels.items() for d, grade in grades.items()
    )
    write_qrels(target / "qrels" / path.name, judgements)
    unjudged = len(texts) - counts["judged_queries"]
    return {
        **counts,
        "unjudged_queries": unjudged,
        "remove_self_match": remove_self_match,
        "split": split,
    }


def download(name: str, folder: Path) -> Path:
    """Download and unpack a set of the BEIR benchmark with BEIR's own functions.

    An archive that is already there whole is not fetched again.

    Raises:
        LexigraftError: a name that BEIR does not have, no connection, or an archive that is broken
            or not the published one.
    """
    if name not in BENCHMARK:
        raise LexigraftError(
            f"source {name!r} is no BEIR set; allowed are {', '.join(sorted(BENCHMARK))}, "
            "'owner/name' of the hub, or 'path' with a folder of your own"
        )
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / f"{name}.zip"
    if not archive.is_file():
        with whole_file(archive) as partial:
            _fetch(URL.format(name), partial)
            _check(partial, name)
    return unpack(archive, folder)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a BEIR archive, which holds one folder of its own name, into `folder`.

    Raises:
        LexigraftError: no archive, or one without that folder.
    """
    from beir.util import unzip

    unpacked = folder / archive.stem
    shutil.rmtree(unpacked, ignore_errors=True)
    try:
        unzip(str(archive), str(folder))
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise LexigraftError(f"{archive}: cannot be unpacked ({error})") from None
    if not unpacked.is_dir():
        raise LexigraftError(f"{archive}: holds no folder {archive.stem!r}")
    return unpacked


def _fetch(url: str, path: Path) -> None:
    from beir.util import download_url
    from requests import RequestException

    log.info("download %s", url)
    try:
        download_url(url, str(path), chunk_size=1 << 20)
    except (RequestException, OSError) as error:
        raise LexigraftError(f"{url}: cannot be downloaded ({type(error).__name__})") from None


def _check(path: Path, name: str) -> None:
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "md5").hexdigest()
    wanted = BENCHMARK[name].md5
    if (wanted and found != wanted) or not zipfile.is_zipfile(path):
        raise LexigraftError(
            f"{URL.format(name)}: what came is not the published archive "
            f"(MD5 {found}{f', published {wanted}' if wanted else ', not a zip file'})"
        )


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the two are on different file systems."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def _within(qrels: dict[str, dict[str, int]], limit: int) -> dict[str, dict[str, int]]:
    """The first queries whose judged documents together are at most `limit`."""
    kept: dict[str, dict[str, int]] = {}
    documents: set[str] = set()
    for query, grades in qrels.items():
        if len(documents | grades.keys()) <= limit:
            documents |= grades.keys()
            kept[query] = grades
    if not kept:
        raise LexigraftError(f"limit = {limit}: every query has more judged documents than that")
    return kept


def _first(documents: list[str], judged: set[str], spare: int) -> set[str]:
    others = [document for document in documents if document not in judged]
    return judged | set(others[: max(spare, 0)])


def _chosen(documents: Iterator[Document], test: Callable[[str], bool]) -> Iterator[Document]:
    return (document for document in documents if test(document.id))
