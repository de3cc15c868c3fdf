"""Judged pairs of a query and a document, and their features (Vocabulary Transfer, section 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.encoders.encoder import Encoder
from lexigraft.errors import LexigraftError


@dataclass(frozen=True)
class Features:
    """u(q, d) of N pairs, sparse (N, V): the products of both sides' weights, key by key."""

    pointwise: Any
    """u(q, d+) of a query and its relevant document; its row sums are the dot products by which
    documents are ranked."""
    pairwise: Any | None
    """u(q, d+) - u(q, d-), where d- is another pair's document, not judged relevant to q. None
    where there is no such document for some query."""


def draw_pairs(evaluation_set: EvaluationSet, count: int, seed: int) -> list[tuple[str, str]]:
    """At most `count` pairs of a query and a document judged relevant, in random order.

    Raises:
        LexigraftError: no judged document that is relevant is in the corpus.
    """
    found = [
        (query, document)
        for query, grades in evaluation_set.qrels.items()
        for document, grade in grades.items()
        if grade >= evaluation_set.relevance_level and document in evaluation_set.documents
    ]
    if not found:
        raise LexigraftError(
            f"{evaluation_set.name}: no pair of a query and a relevant document; 1 or more is "
            "needed"
        )
    order = np.random.default_rng(seed).permutation(len(found))[:count]
    return [found[i] for i in order]


def encode_pairs(
    encoder: Encoder,
    evaluation_set: EvaluationSet,
    pairs: Sequence[tuple[str, str]],
    *,
    query_length: int,
    document_length: int,
) -> Features:
    """Features of a sparse encoder with the identity for psi and phi, in double precision.

    Raises:
        LexigraftError: the encoder cannot read so many tokens.
    """
    queries = list(dict.fromkeys(query for query, _ in pairs))
    documents = list(dict.fromkeys(document for _, document in pairs))
    asked = encoder.encode([evaluation_set.queries[q] for q in queries], query_length, role="query")
    held = encoder.encode([evaluation_set.documents[d] for d in documents], document_length)
    query_row = {query: row for row, query in enumerate(queries)}
    document_row = {document: row for row, document in enumerate(documents)}
    own = asked.astype(np.float64)[[query_row[query] for query, _ in pairs]]
    held = held.astype(np.float64)
    pointwise = own.multiply(held[[document_row[document] for _, document in pairs]]).tocsr()
    others = negatives(evaluation_set, pairs)
    if others is None:
        return Features(pointwise, None)
    pairwise = pointwise - own.multiply(held[[document_row[document] for document in others]])
    return Features(pointwise, pairwise.tocsr())


def negatives(evaluation_set: EvaluationSet, pairs: Sequence[tuple[str, str]]) -> list[str] | None:
    """For each pair the document of the next pair in the circle that is not relevant to its query;
    None where a query has none."""
    chosen = []
    for number, (query, _) in enumerate(pairs):
        grades = evaluation_set.qrels[query]
        circle = (pairs[(number + step) % len(pairs)][1] for step in range(1, len(pairs)))
        other = next((d for d in circle if grades.get(d, 0) < evaluation_set.relevance_level), None)
        if other is None:
            return None
        chosen.append(other)
    return chosen
