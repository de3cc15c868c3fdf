"""Near-duplicate texts by the Jaccard similarity of their word sets."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import ceil
from typing import TypeVar
from zlib import crc32

_WORD = re.compile(r"\w+")
Item = TypeVar("Item", bound=Hashable)
ROUNDING = 1e-9


def words(text: str) -> list[str]:
    """Case-folded words, the form in which texts are compared and contained in one another."""
    return _WORD.findall(text.casefold())


def shingles(text: str, size: int) -> frozenset[int]:
    """Runs of `size` successive words of a text as their CRC-32; a shorter text is one run.

    Numbers compare many times faster than strings; that two of the few hundred runs of a pair of
    texts collide is a matter of one in millions, and the same on every machine.
    """
    found = words(text)
    if len(found) <= size:
        return frozenset([crc32(" ".join(found).encode())])
    runs = zip(*(found[start:] for start in range(size)), strict=False)
    return frozenset(crc32(" ".join(run).encode()) for run in runs)


def first_of_near_duplicates(
    sets: Sequence[frozenset[Item]], threshold: float, references: Iterable[frozenset[Item]] = ()
) -> list[bool]:
    """Which sets to keep so that no two kept ones are near-duplicates.

    In the given order, a set is kept if its Jaccard similarity |A n B| / |A u B| with each set kept
    before it, and with each reference, is below the threshold.

    Args:
        sets: N sets, the preferred ones first; an empty set is never kept.
        threshold: above 0, at most 1.
        references: sets that are not judged but take part.

    Returns:
        N flags.
    """
    return _fresh(sets, threshold, references, among_themselves=True)


def unlike(
    sets: Sequence[frozenset[Item]], threshold: float, references: Iterable[frozenset[Item]]
) -> list[bool]:
    """Which sets are near-duplicates of no reference, however much they resemble one another.

    Returns:
        N flags; an empty set resembles nothing.
    """
    fresh = _fresh(sets, threshold, references, among_themselves=False)
    return [flag or not members for flag, members in zip(fresh, sets, strict=True)]


def quoting(texts: Iterable[str], phrases: Iterable[str]) -> list[bool]:
    """Which texts contain one of the phrases word for word, whatever the case and punctuation.

    Returns:
        A flag for each text; an empty phrase is in none.
    """
    wanted = {phrase for text in phrases if (phrase := tuple(words(text)))}
    size = min(map(len, wanted), default=1)
    by_start: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for phrase in wanted:
        by_start[phrase[:size]].append(phrase)

    def quotes(found: list[str]) -> bool:
        starts = zip(*(found[i:] for i in range(size)), strict=False)
        return any(
            tuple(found[place : place + len(phrase)]) == phrase
            for place, start in enumerate(starts)
            for phrase in by_start.get(start, ())
        )

    return [quotes(words(text)) for text in texts]


def _fresh(
    sets: Sequence[frozenset[Item]],
    threshold: float,
    references: Iterable[frozenset[Item]],
    *,
    among_themselves: bool,
) -> list[bool]:
    """The prefix filter of Chaudhuri et al. (2006), "A Primitive Operator for Similarity Joins in
    Data Cleaning": two sets whose similarity reaches the threshold share one of their |A| -
    ceil(threshold |A|) + 1 first members in any common order. With the rarest members first few
    pairs are left to compare, and none is missed, whatever the order among equals.
    """
    pool = [r for r in references if r]
    frequency = Counter(member for members in (*pool, *sets) for member in members)
    rank = {member: r for r, (member, _) in enumerate(reversed(frequency.most_common()))}
    index: dict[int, list[frozenset[Item]]] = defaultdict(list)

    def prefix(members: frozenset[Item]) -> list[int]:
        length = len(members) - ceil(threshold * len(members) - ROUNDING) + 1
        return sorted(map(rank.__getitem__, members))[:length]

    for members in pool:
        for member in prefix(members):
            index[member].append(members)
    kept = []
    for members in sets:
        rarest = prefix(members)
        candidates = {id(other): other for member in rarest for other in index.get(member, ())}
        fresh = bool(members) and not any(
            similar(members, other, threshold) for other in candidates.values()
        )
        kept.append(fresh)
        if fresh and among_themselves:
            for member in rarest:
                index[member].append(members)
    return kept


def similar(one: frozenset[Item], other: frozenset[Item], threshold: float) -> bool:
    """Whether the Jaccard similarity of two sets reaches a threshold."""
    small, large = sorted((len(one), len(other)))
    if small < threshold * large - ROUNDING:
        return False
    shared = len(one & other)
    return shared >= threshold * (len(one) + len(other) - shared) - ROUNDING
