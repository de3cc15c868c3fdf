"""Effectiveness: nDCG@k, MRR@k, Recall@k, P@k and MAP@k, by trec_eval through ir_measures.

The order in which documents are given is the ranking. trec_eval itself would sort by score and
break ties by document id, descending, so it is handed ranks instead of scores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import ir_measures
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, nDCG

from lexigraft.errors import LexigraftError
from lexigraft.specs.ranges import out_of_range

MEASURES = {"ndcg": nDCG, "recall": R, "precision": P, "map": AP}
"""Measures that trec_eval cuts itself; mrr is cut by cutting the ranking."""
QUERIES_AT_ONCE = 500

Qrels = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Sequence[str] | Mapping[str, float]]


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` measures."""

    per_query: dict[str, dict[str, float]]
    """Metric to query to value, queries in the order of the qrels."""
    mean: dict[str, float]
    """Metric to the mean over all judged queries."""
    without_relevant: int
    """Judged queries for which no document is judged relevant; they count as 0."""
    unanswered: int
    """Judged queries for which nothing was retrieved; they count as 0."""


def evaluate(
    qrels: Qrels, run: Run, metrics: Iterable[str] = ("ndcg@10", "mrr@10", "recall@1000")
) -> Evaluation:
    """Measure a run against judgements.

    Every judged query counts: one that retrieved nothing, and one without any relevant document,
    has the value 0. Judged documents that are not in the corpus count as relevant documents that
    were missed. Queries of the run without judgements are left out. Grades above 0 are relevant;
    nDCG uses the grade as its gain and log2 discounts.

    Args:
        qrels: query to document to grade.
        run: query to document ids, best first; or to scores, which are sorted by falling score and,
            within a tie, by document id.
        metrics: names such as ndcg@10, mrr@10, recall@100, precision@5, map@1000.

    Raises:
        LexigraftError: an unknown metric, no judged query, a document twice in a ranking, or a
            score that is not a number.
    """
    wanted = {name: _parse(name) for name in metrics}
    if not qrels:
        raise LexigraftError("evaluation: no judged query")
    per_query: dict[str, dict[str, float]] = {name: dict.fromkeys(qrels, 0.0) for name in wanted}
    queries = list(qrels)
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        some = queries[start : start + QUERIES_AT_ONCE]
        ranked = {query: _ranking(query, run.get(query, ())) for query in some}
        judged = [Qrel(q, d, int(grade)) for q in some for d, grade in qrels[q].items()]
        for name, (measure, cutoff) in wanted.items():
            scored = [
                ScoredDoc(query, document, float(-rank))
                for query, documents in ranked.items()
                for rank, document in enumerate(documents[:cutoff])
                # Recall asks which judged documents are found, and most found ones are not judged.
                if measure != "recall" or document in qrels[query]
            ]
            asked = RR if measure == "mrr" else MEASURES[measure] @ cutoff
            if not judged or not scored:
                continue
            for value in ir_measures.pytrec_eval.iter_calc([asked], judged, scored):
                per_query[name][value.query_id] = float(value.value)
    return Evaluation(
        per_query,
        {name: sum(values.values()) / len(values) for name, values in per_query.items()},
        sum(all(grade <= 0 for grade in grades.values()) for grades in qrels.values()),
        sum(len(run.get(query, ())) == 0 for query in qrels),
    )


def _parse(name: str) -> tuple[str, int]:
    if problem := out_of_range("metrics", (name,)):
        raise LexigraftError(f"metrics: {problem}")
    measure, _, cutoff = name.partition("@")
    return measure, int(cutoff)


def _ranking(query: str, found: Sequence[str] | Mapping[str, float]) -> list[str]:
    if isinstance(found, Mapping):
        if any(score != score for score in found.values()):
            raise LexigraftError(f"query {query}: a score that is not a number")
        return sorted(found, key=lambda document: (-found[document], document))
    documents = list(found)
    if len(set(documents)) != len(documents):
        raise LexigraftError(f"query {query}: a document is ranked twice")
    return documents
