"""Which docstrings make a fair pair of query and document."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from lexigraft.corpora.deduplication import (
    first_of_near_duplicates,
    quoting,
    shingles,
    unlike,
    words,
)
from lexigraft.corpora.extraction import Docstring
from lexigraft.corpora.running_text import running_words

SHORTEST_QUERY = 4
"""Words below which a summary says too little to be asked for ("Return self.")."""
LONGEST_QUERY = 40
"""Words above which a first paragraph is a text rather than a query."""
SUMMARY_SIMILARITY = 0.8
"""Jaccard similarity of word sets at which two summaries are the same question: ten words of which
one differs (10/12 words shared or more), but not five of which one does (4/6)."""
SHINGLE = 3
BODY_SIMILARITY = 0.5
"""Jaccard similarity of word triples at which two documents are the same one, edited."""


@dataclass(frozen=True)
class Pair:
    """A docstring as query and document, with the sets by which it is compared."""

    docstring: Docstring
    package: str
    query: frozenset[str]
    """Words of the summary."""
    document: frozenset[int]
    """Word triples of the body."""


def fair_pairs(
    package: str, docstrings: Iterable[Docstring], minimum_words: int
) -> tuple[list[Pair], Counter[str]]:
    """Pairs whose query is a query, whose document is a text, and where one does not quote the
    other; and how many docstrings fell to which reason."""
    pairs: list[Pair] = []
    dropped: Counter[str] = Counter()
    for docstring in docstrings:
        query = words(docstring.summary)
        reason = _unfair(docstring, query, minimum_words)
        if reason:
            dropped[reason] += 1
        else:
            document = shingles(docstring.text, SHINGLE)
            pairs.append(Pair(docstring, package, frozenset(query), document))
    return pairs, dropped


def distinct(
    pairs: Sequence[Pair], others: Sequence[Pair] = ()
) -> tuple[list[Pair], dict[str, Counter[str]]]:
    """Pairs of which no two are near-duplicates, nor one of them of one of `others`.

    The earlier one of two stays.

    Returns:
        The pairs that stay, and for each package how many fell to which reason.
    """
    dropped: dict[str, Counter[str]] = {pair.package: Counter() for pair in pairs}
    fresh = first_of_near_duplicates(
        [pair.query for pair in pairs], SUMMARY_SIMILARITY, [other.query for other in others]
    )
    kept = _keep(pairs, fresh, "summary_repeated", dropped)
    fresh = first_of_near_duplicates(
        [pair.document for pair in kept], BODY_SIMILARITY, [other.document for other in others]
    )
    return _keep(kept, fresh, "document_repeated", dropped), dropped


def unquoting(
    pairs: Sequence[Pair], evaluated: Sequence[Pair], dropped: Mapping[str, Counter[str]]
) -> list[Pair]:
    """Pairs whose document quotes no query that is evaluated; the rest is counted in `dropped`."""
    queries = [pair.docstring.summary for pair in evaluated]
    quotes = quoting((pair.docstring.text for pair in pairs), queries)
    return _keep(pairs, [not flag for flag in quotes], "quotes_evaluated_query", dropped)


def other_texts(
    docstrings: Iterable[Docstring], trained_on: Sequence[Pair], evaluated: Sequence[Pair]
) -> list[str]:
    """Texts of docstrings that are no pairs, for language modelling alone.

    Left out are short ones, near-duplicates of one another and of the pairs as a whole, and
    whatever shares its summary with a pair that is evaluated or quotes it.
    """
    used = {pair.docstring.id for pair in (*trained_on, *evaluated)}
    rest = [d for d in docstrings if d.id not in used and len(words(d.whole)) >= SHORTEST_QUERY]
    summaries = [frozenset(words(d.summary)) for d in rest]
    new = unlike(summaries, SUMMARY_SIMILARITY, [pair.query for pair in evaluated])
    rest = list(compress(rest, new))
    quotes = quoting((d.whole for d in rest), [pair.docstring.summary for pair in evaluated])
    rest = [d for d, flag in zip(rest, quotes, strict=True) if not flag]
    wholes = [shingles(d.whole, SHINGLE) for d in rest]
    known = [shingles(pair.docstring.whole, SHINGLE) for pair in (*trained_on, *evaluated)]
    new = first_of_near_duplicates(wholes, BODY_SIMILARITY, known)
    return [docstring.whole for docstring in compress(rest, new)]


def _unfair(docstring: Docstring, query: Sequence[str], minimum_words: int) -> str:
    if not docstring.body:
        return "no_body"
    if len(query) < SHORTEST_QUERY:
        return "short_summary"
    if len(query) > LONGEST_QUERY:
        return "long_summary"
    if running_words(docstring.body) < minimum_words:
        return "little_running_text"
    if f" {' '.join(query)} " in f" {' '.join(words(docstring.text))} ":
        return "summary_in_document"
    return ""


def _keep(
    pairs: Sequence[Pair], flags: Sequence[bool], reason: str, dropped: Mapping[str, Counter[str]]
) -> list[Pair]:
    for pair, flag in zip(pairs, flags, strict=True):
        if not flag:
            dropped[pair.package][reason] += 1
    return list(compress(pairs, flags))
