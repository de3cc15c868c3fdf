"""Search engines behind one interface: an evaluation set in, rankings out.

An engine is a function `(evaluation_set, vectors_folder, options) -> Hits`, registered by name; one
that needs no vectors is given None.
"""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.errors import LexigraftError
from lexigraft.progress import track
from lexigraft.retrieval.bm25 import search_bm25
from lexigraft.retrieval.exact import search_vectors
from lexigraft.retrieval.hits import Hits
from lexigraft.retrieval.recall import recall_of_exact
from lexigraft.retrieval.seismic import SeismicIndex
from lexigraft.retrieval.vectors import Vectors, refuse_misfit
from lexigraft.specs.columns import LOW_RECALL
from lexigraft.specs.options import RetrieveOptions

log = logging.getLogger(__name__)
Engine = Callable[[EvaluationSet, Path | None, RetrieveOptions], Hits]


def search(
    evaluation_set: EvaluationSet,
    vectors: Path | None = None,
    options: RetrieveOptions | None = None,
) -> Hits:
    """Rank the documents of a set for its judged queries.

    Args:
        vectors: folder with `queries` and `documents` of this set; None for BM25.
        options: engine, depth and the engine's own settings.

    Raises:
        LexigraftError: an unknown engine, vectors that are missing or of other texts,
            or vectors for an engine that reads none.
    """
    options = options or RetrieveOptions()
    refuse_unknown_engine(options.engine)
    if options.depth < 1:
        raise LexigraftError(f"depth: {options.depth} found; at least 1 is allowed")
    return ENGINES[options.engine](evaluation_set, vectors, options)


def engine_recall(
    hits: Hits, evaluation_set: EvaluationSet, vectors: Path | None, options: RetrieveOptions
) -> dict[str, float | None]:
    """What an approximate engine found of exact search's hits: shares of all of them
    (`engine_recall`) and of the best 10 (`engine_recall@10`); both None for other engines.

    Searches once more, exactly. Says in the log what it finds, and when that is little.
    """
    if options.engine not in APPROXIMATE:
        return {"engine_recall": None, "engine_recall@10": None}
    exact = search(evaluation_set, vectors, replace(options, engine="exact"))
    of_all, of_best = (recall_of_exact(hits, exact, k) for k in (options.depth, 10))
    if of_all is not None and of_best is not None:
        told = (
            f"{evaluation_set.name}: {options.engine} finds {of_best:.1%} of exact search's best "
            f"10 documents and {of_all:.1%} of its best {options.depth:,}"
        )
        low = min(of_all, of_best) < LOW_RECALL
        log.log(logging.WARNING if low else logging.INFO, "%s", told + (LOW if low else ""))
    return {"engine_recall": of_all, "engine_recall@10": of_best}


def refuse_unknown_engine(engine: str) -> None:
    """Raise LexigraftError unless `engine` is a name of `ENGINES`."""
    if engine not in ENGINES:
        raise LexigraftError(f"engine: {engine!r} found; allowed are {', '.join(ENGINES)}")


def _exact(evaluation_set: EvaluationSet, vectors: Path | None, options: RetrieveOptions) -> Hits:
    queries, documents = _vectors(evaluation_set, vectors, options)
    remove = evaluation_set.remove_self_match
    return search_vectors(queries, documents, options.depth, remove_self_match=remove)


def _seismic(evaluation_set: EvaluationSet, vectors: Path | None, options: RetrieveOptions) -> Hits:
    queries, documents = _vectors(evaluation_set, vectors, options)
    if not documents.sparse:
        raise LexigraftError(
            f"{vectors}: engine: seismic searches sparse vectors, these are dense; allowed: exact"
        )
    parts = track(documents.shards(), "index", total=len(documents.rows), unit="shards")
    index = SeismicIndex(parts, documents.ids, documents.dimensions, options)
    return index.search(
        queries.matrix(),
        queries.ids,
        options.depth,
        remove_self_match=evaluation_set.remove_self_match,
    )


def _vectors(
    evaluation_set: EvaluationSet, folder: Path | None, options: RetrieveOptions
) -> tuple[Vectors, Vectors]:
    """Queries and documents of a set."""
    if folder is None:
        raise LexigraftError(f"{evaluation_set.name}: the {options.engine} engine needs vectors")
    queries, documents = Vectors.open(folder, "queries"), Vectors.open(folder, "documents")
    for found, texts in ((queries, evaluation_set.queries), (documents, evaluation_set.documents)):
        if found.ids != list(texts):
            raise LexigraftError(
                f"{folder / found.name}.json: vectors of {len(found.ids)} {found.name} that are "
                f"not the {len(texts)} of the set {evaluation_set.name}"
            )
    refuse_misfit(queries, documents)
    return queries, documents


def _bm25(evaluation_set: EvaluationSet, vectors: Path | None, options: RetrieveOptions) -> Hits:
    if vectors is not None:
        raise LexigraftError(f"{vectors}: BM25 reads texts, not vectors")
    return search_bm25(
        evaluation_set.queries,
        evaluation_set.documents,
        options.depth,
        k1=options.k1,
        b=options.b,
        remove_self_match=evaluation_set.remove_self_match,
    )


ENGINES: dict[str, Engine] = {"exact": _exact, "seismic": _seismic, "bm25": _bm25}
VECTOR_ENGINES = ("exact", "seismic")
APPROXIMATE = ("seismic",)
LOW = f", less than {LOW_RECALL:.0%}: raise query_cut or n_postings, or lower heap_factor"
