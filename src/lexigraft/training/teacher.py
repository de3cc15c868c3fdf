"""Teacher scores of the training pairs: shipped with the collection, or computed.

Only the training split is read, and only pairs that a student may be trained on are scored: each
query with its positives and its hard negatives.

Shapes: N pairs, H width of a bi-encoder.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from lexigraft.corpora.collection import Collection, TrainingPairs
from lexigraft.encoders.loading import Encoder, Role, load_encoder
from lexigraft.encoders.saving import refuse_long_input
from lexigraft.errors import LexigraftError
from lexigraft.files import write_json
from lexigraft.progress import track
from lexigraft.specs.options import TeacherOptions
from lexigraft.training.scores import PairScores, write_scores

CHUNK_PAIRS = 100_000
CHUNK_TEXTS = 512
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Pairs:
    """The pairs to score, as positions in the training split."""

    queries: NDArray[np.int64]
    """(N,)"""
    documents: NDArray[np.int64]
    """(N,)"""
    positive: NDArray[np.bool_]
    """(N,) whether the pair is judged relevant."""


def score_pairs(
    collection_folder: Path, model_folder: Path | None, options: TeacherOptions, out: Path
) -> dict[str, Any]:
    """Write `scores.parquet` (query, document, score) and `teacher.json` to `out`.

    Methods:

    - `shipped`: the collection's own scores (MS MARCO's are a cross-encoder's);
    - `bm25`: bm25s with its defaults, as for the hard negatives, over the training documents;
    - `dense`: cosine under a bi-encoder in sentence-transformers' layout;
    - `dense+bm25`: the mean of both, each divided by its standard deviation over all pairs. A
      shift would not matter, since students see differences within a query.

    Returns:
        The content of teacher.json: method, pairs, mean, deviation, and the share of a query's
        negatives that score below the mean of its positives.

    Raises:
        LexigraftError: the collection has no training pairs, ships no scores or lacks a pair's, or
            the bi-encoder is missing or cannot be read.
    """
    training = Collection.open(collection_folder).training()
    pairs = needed_pairs(training)
    if options.method == "shipped":
        if training.scores is None:
            raise LexigraftError(
                f"{collection_folder}: ships no teacher scores (train/scores.parquet); "
                "allowed methods are bm25, dense and dense+bm25"
            )
        shipped = PairScores(training.scores, list(training.queries), list(training.documents))
        scores_N = shipped.lookup(pairs.queries, pairs.documents[:, None])[:, 0]
    else:
        parts = []
        if "bm25" in options.method:
            parts.append(bm25_scores(training, pairs))
        if "dense" in options.method:
            if model_folder is None:
                raise LexigraftError(f"method: {options.method} needs a bi-encoder (model)")
            parts.append(dense_scores(training, pairs, model_folder, options.length))
        scores_N = parts[0] if len(parts) == 1 else mean_of_scaled(parts)
    if not np.isfinite(scores_N).all():
        raise LexigraftError(f"teacher {options.method}: a score is not finite")
    write_scores(out / "scores.parquet", _named(training, pairs, scores_N))
    summary = {
        "method": options.method,
        "pairs": len(scores_N),
        "queries": len(np.unique(pairs.queries)),
        "documents": len(np.unique(pairs.documents)),
        "mean": float(scores_N.mean()),
        "deviation": float(scores_N.std()),
        "negatives_below_positive": _agreement(pairs, scores_N),
    }
    write_json(out / "teacher.json", summary)
    return summary


def needed_pairs(training: TrainingPairs) -> Pairs:
    """Each query with its positives, then its negatives; no pair twice.

    Raises:
        LexigraftError: there is no pair.
    """
    query_place = {name: place for place, name in enumerate(training.queries)}
    document_place = {name: place for place, name in enumerate(training.documents)}
    queries: list[int] = []
    documents: list[int] = []
    positive: list[bool] = []
    for name, positives in training.positives.items():
        listed = dict.fromkeys(positives, True)
        for negative in training.negatives.get(name, []):
            listed.setdefault(negative, False)
        queries += [query_place[name]] * len(listed)
        documents += [document_place[document] for document in listed]
        positive += listed.values()
    if not queries:
        raise LexigraftError("teacher: the training split has no pairs")
    return Pairs(np.array(queries), np.array(documents), np.array(positive))


def bm25_scores(training: TrainingPairs, pairs: Pairs) -> Scores:
    """BM25 of each pair, float32 (N,), from an index of all training documents."""
    import bm25s

    index = bm25s.BM25()
    tokens = bm25s.tokenize(list(training.documents.values()), show_progress=False)
    index.index(tokens, show_progress=False)
    terms = len(index.scores["indptr"]) - 1
    document_DT = scipy.sparse.csc_array(
        (index.scores["data"], index.scores["indices"], index.scores["indptr"]),
        shape=(len(training.documents), terms),
    ).tocsr()
    asked = bm25s.tokenize(list(training.queries.values()), return_ids=False, show_progress=False)
    known = [[index.vocab_dict[t] for t in words if t in index.vocab_dict] for words in asked]
    indptr = np.cumsum([0, *map(len, known)])
    column = np.fromiter((term for words in known for term in words), np.int32, indptr[-1])
    # A word that a query repeats counts as often: building from (data, indices, indptr) keeps both.
    query_QT = scipy.sparse.csr_array(
        (np.ones(len(column), np.float32), column, indptr), shape=(len(asked), terms)
    )
    query_QT.sum_duplicates()

    def score(queries: NDArray[np.int64], documents: NDArray[np.int64]) -> Scores:
        return (query_QT[queries] * document_DT[documents]).sum(axis=1)

    return _in_chunks(score, pairs, "teacher: bm25")


def dense_scores(training: TrainingPairs, pairs: Pairs, model_folder: Path, length: int) -> Scores:
    """Cosine of each pair under a bi-encoder, float32 (N,); each text is encoded once.

    Raises:
        LexigraftError: the folder is missing or not in sentence-transformers' layout.
    """
    encoder = load_encoder(model_folder)
    if encoder.head != "dense":
        raise LexigraftError(f"{model_folder}: a sparse encoder; the teacher is a dense bi-encoder")
    refuse_long_input(encoder.model, length, f"{model_folder}, length")
    query_QH, query_row = _unit_vectors(
        encoder, list(training.queries.values()), pairs.queries, "query", length
    )
    document_DH, document_row = _unit_vectors(
        encoder, list(training.documents.values()), pairs.documents, "document", length
    )

    def score(queries: NDArray[np.int64], documents: NDArray[np.int64]) -> Scores:
        left, right = query_QH[query_row[queries]], document_DH[document_row[documents]]
        return np.einsum("nh,nh->n", left, right)

    return _in_chunks(score, pairs, "teacher: cosine")


def mean_of_scaled(parts: Sequence[Scores]) -> Scores:
    """The mean of several scores of the same pairs, each divided by its standard deviation.

    Raises:
        LexigraftError: one of them is the same for all pairs.
    """
    deviations = [float(part.std()) for part in parts]
    if min(deviations) == 0:
        raise LexigraftError("teacher: all pairs have the same score, so it cannot be scaled")
    scaled = [part / deviation for part, deviation in zip(parts, deviations, strict=True)]
    return np.mean(scaled, axis=0).astype(np.float32)


def _unit_vectors(
    encoder: Encoder, texts: list[str], wanted: NDArray[np.int64], role: Role, length: int
) -> tuple[Scores, NDArray[np.int64]]:
    """Unit vectors of the wanted texts, and the row of each position among all texts."""
    needed = np.unique(wanted)
    row = np.full(len(texts), -1, np.int64)
    row[needed] = np.arange(len(needed))
    # Texts of like length share a chunk, and so a batch: little is spent on padding.
    order = sorted(range(len(needed)), key=lambda place: len(texts[needed[place]]))
    vectors_NH = np.empty((len(needed), encoder.dimensions), np.float32)
    starts = range(0, len(order), CHUNK_TEXTS)
    for start in track(starts, f"teacher: {role} vectors", unit=f"chunks of {CHUNK_TEXTS}"):
        places = order[start : start + CHUNK_TEXTS]
        chunk = [texts[needed[place]] for place in places]
        vectors_NH[places] = encoder.encode(chunk, length, role=role)
    lengths_N1 = np.linalg.norm(vectors_NH, axis=1, keepdims=True)
    return vectors_NH / np.maximum(lengths_N1, np.finfo(np.float32).tiny), row


def _in_chunks(
    score: Callable[[NDArray[np.int64], NDArray[np.int64]], Scores], pairs: Pairs, description: str
) -> Scores:
    scores_N = np.empty(len(pairs.queries), np.float32)
    starts = range(0, len(scores_N), CHUNK_PAIRS)
    for start in track(starts, description, unit=f"chunks of {CHUNK_PAIRS:,} pairs"):
        own = slice(start, start + CHUNK_PAIRS)
        scores_N[own] = score(pairs.queries[own], pairs.documents[own])
    return scores_N


def _named(
    training: TrainingPairs, pairs: Pairs, scores_N: Scores
) -> Iterator[tuple[list[str], list[str], Scores]]:
    query_ids, document_ids = list(training.queries), list(training.documents)
    for start in range(0, len(scores_N), CHUNK_PAIRS):
        own = slice(start, start + CHUNK_PAIRS)
        queries = [query_ids[place] for place in pairs.queries[own]]
        yield queries, [document_ids[place] for place in pairs.documents[own]], scores_N[own]


def _agreement(pairs: Pairs, scores_N: Scores) -> float | None:
    """Share of negatives that score below the mean of their query's positives."""
    count = int(pairs.queries.max()) + 1
    positives = np.bincount(pairs.queries[pairs.positive], minlength=count)
    totals = np.bincount(pairs.queries[pairs.positive], scores_N[pairs.positive], count)
    mean = totals / np.maximum(positives, 1)
    negative = ~pairs.positive
    if not negative.any():
        return None
    return float((scores_N[negative] < mean[pairs.queries[negative]]).mean())
