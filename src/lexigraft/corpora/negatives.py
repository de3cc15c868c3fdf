"""Hard negatives: the documents that BM25 ranks highest and that are not the answer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexigraft.corpora.deduplication import shingles, similar, words
from lexigraft.progress import track

SHINGLE = 3
SIMILARITY = 0.5
"""Jaccard similarity of word triples from which a document passes for its neighbour's copy."""


def hard_negatives(
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    positives: Mapping[str, Sequence[str]],
    count: int,
) -> dict[str, list[str]]:
    """The `count` best documents of each query by BM25 that are not relevant to it.

    Left out are its positives, near-duplicates of them and documents that contain the query word
    for word. BM25 is bm25s with its defaults (Lucene's variant, k1 = 1.5, b = 0.75, English stop
    words); of two equal scores the earlier document comes first. Documents without any word of the
    query fill up what is missing, beginning at a different place for each query.

    Args:
        queries: id to text.
        documents: id to text; N of them.
        positives: query id to document ids; a query that is not in it gets no negatives.
        count: how many for each query; fewer only where fewer documents are left.

    Returns:
        Query id, in the order of `queries`, to document ids, hardest first.
    """
    if count < 1:
        return {query: [] for query in queries if query in positives}
    ids = list(documents)
    normalised = [f" {' '.join(words(text))} " for text in documents.values()]
    triples = [shingles(text, SHINGLE) for text in documents.values()]
    place = {document: position for position, document in enumerate(ids)}
    retriever, tokens = _index(list(documents.values()), list(queries.values()))
    found: dict[str, list[str]] = {}
    asked = zip(queries.items(), tokens, strict=True)
    for turn, ((query, text), terms) in enumerate(
        track(asked, "mine hard negatives", total=len(queries))
    ):
        if query not in positives:
            continue
        own = [place[document] for document in positives[query]]
        said = f" {' '.join(words(text))} "
        scores = retriever.get_scores(terms) if terms else np.zeros(len(ids), dtype=np.float32)
        chosen: list[str] = []
        for position in _order(scores, turn, count + len(own)):
            if position in own or said in normalised[position]:
                continue
            if any(similar(triples[position], triples[p], SIMILARITY) for p in own):
                continue
            chosen.append(ids[position])
            if len(chosen) == count:
                break
        found[query] = chosen
    return found


def _index(documents: list[str], queries: list[str]) -> tuple[Any, list[list[str]]]:
    """A BM25 index of the documents, and the words of each query that it knows."""
    import bm25s

    retriever = bm25s.BM25()
    split = bm25s.tokenize(documents, return_ids=False, show_progress=False)
    retriever.index(split, show_progress=False)
    known = {term for terms in split for term in terms}
    asked = bm25s.tokenize(queries, return_ids=False, show_progress=False)
    return retriever, [[term for term in terms if term in known] for terms in asked]


def _order(scores: NDArray[np.float32], turn: int, at_least: int) -> Iterator[int]:
    """Positions by falling score, then by position; all with words of the query, then the others.

    The few best are sorted apart from the rest, which is seldom reached.
    """
    matched = np.flatnonzero(scores > 0)
    wanted = 4 * at_least
    if len(matched) > wanted:
        floor = np.partition(scores[matched], -wanted)[-wanted]
        yield from _sorted(matched[scores[matched] >= floor], scores)
        yield from _sorted(matched[scores[matched] < floor], scores)
    else:
        yield from _sorted(matched, scores)
    unmatched = np.flatnonzero(scores <= 0)
    yield from np.roll(unmatched, -(turn % max(len(unmatched), 1))).tolist()


def _sorted(positions: NDArray[np.intp], scores: NDArray[np.float32]) -> list[int]:
    order = np.lexsort((positions, -scores[positions]))
    return [int(position) for position in positions[order]]
