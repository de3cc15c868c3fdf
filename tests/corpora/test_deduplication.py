from itertools import pairwise

import numpy as np
import pytest

from lexigraft.corpora.deduplication import (
    first_of_near_duplicates,
    quoting,
    shingles,
    similar,
    unlike,
    words,
)


def test_words_are_case_folded() -> None:
    assert words("Straße, X_1 and\n(y).") == ["strasse", "x_1", "and", "y"]


def test_shingles_are_runs_of_words() -> None:
    assert len(shingles("a b c d", 3)) == 2
    assert shingles("a b c", 3) == shingles("A, b. C!", 3)
    assert len(shingles("a", 3)) == 1
    assert shingles("a b c x", 3) & shingles("y a b c", 3) == shingles("a b c", 3)


def test_by_hand() -> None:
    # 4 of 5 words shared: 0.8. 4 of 6: two thirds.
    sets = [frozenset("abcd"), frozenset("abcde"), frozenset("abcf"), frozenset()]
    assert first_of_near_duplicates(sets, 0.8) == [True, False, True, False]
    assert first_of_near_duplicates(sets, 0.6) == [True, False, False, False]
    assert first_of_near_duplicates(sets, 0.8, [frozenset("abcdf")]) == [False, True, False, False]
    assert unlike(sets, 0.8, [frozenset("abcde")]) == [False, False, True, True]


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 1.0])
def test_the_index_finds_what_comparing_all_pairs_finds(threshold: float) -> None:
    generator = np.random.default_rng(0)
    sets = [
        frozenset(generator.choice(12, generator.integers(1, 9), replace=False).tolist())
        for _ in range(200)
    ]
    kept: list[frozenset[int]] = []
    flags = []
    for one in sets:
        fresh = all(len(one & other) / len(one | other) < threshold for other in kept)
        flags.append(fresh)
        kept += [one] if fresh else []
    assert first_of_near_duplicates(sets, threshold) == flags


def test_similarity_is_symmetric_at_its_threshold() -> None:
    for one, other in pairwise([frozenset("ab"), frozenset("abc"), frozenset("abcd")]):
        ratio = len(one & other) / len(one | other)
        assert similar(one, other, ratio)
        assert similar(other, one, ratio)
        assert not similar(one, other, ratio + 0.01)


def test_quoting() -> None:
    texts = ["See also: Flow of heat, in solids.", "Flow in heat of", "heat", ""]
    assert quoting(texts, ["flow of heat", ""]) == [True, False, False, False]
    assert quoting(texts, ["flow of heat in solids and more", "heat"]) == [True, True, True, False]
    assert quoting(texts, []) == [False] * 4
