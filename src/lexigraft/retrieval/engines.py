"""Search engines behind one interface: an evaluation set in, rankings out.

An engine is a function `(evaluation_set, vectors_folder, options) -> Hits`, registered by name; one
that needs no vectors is given None.
"""

from collections.abc import Callable
from pathlib import Path

from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.errors import LexigraftError
from lexigraft.retrieval.bm25 import search_bm25
from lexigraft.retrieval.exact import search_vectors
from lexigraft.retrieval.hits import Hits
from lexigraft.retrieval.vectors import Vectors
from lexigraft.specs.options import RetrieveOptions

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


def refuse_unknown_engine(engine: str) -> None:
    """Raise LexigraftError unless `engine` is a name of `ENGINES`."""
    if engine not in ENGINES:
        raise LexigraftError(f"engine: {engine!r} found; allowed are {', '.join(ENGINES)}")


def _exact(evaluation_set: EvaluationSet, vectors: Path | None, options: RetrieveOptions) -> Hits:
    if vectors is None:
        raise LexigraftError(f"{evaluation_set.name}: the exact engine needs vectors")
    queries, documents = Vectors.open(vectors, "queries"), Vectors.open(vectors, "documents")
    for found, texts in ((queries, evaluation_set.queries), (documents, evaluation_set.documents)):
        if found.ids != list(texts):
            raise LexigraftError(
                f"{vectors / found.name}.json: vectors of {len(found.ids)} {found.name} that are "
                f"not the {len(texts)} of the set {evaluation_set.name}"
            )
    remove = evaluation_set.remove_self_match
    return search_vectors(queries, documents, options.depth, remove_self_match=remove)


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


ENGINES: dict[str, Engine] = {"exact": _exact, "bm25": _bm25}
