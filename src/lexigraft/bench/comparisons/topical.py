"""Sparse vectors with topics, in the manner of SPLADE's: what an approximate search can prune.

Vectors of independent random terms have no near neighbours, and how many of them a method finds
says nothing. Here

- a topic is TOPIC_TERMS terms in an order of its own, drawn with probabilities that fall off with
  the rank like Zipf's; each has a weight that is the topic's own;
- a document mixes two topics (a main one and a minor one) and terms of the whole vocabulary, which
  fall off like Zipf's too, but with a flat head, since a FLOPS penalty leaves no term in all texts;
- weights are log(1 + x) with x log-normal: a few large ones and a long tail; terms of the whole
  vocabulary are the light ones;
- a query is the same with fewer terms, most of them of one topic.

Shapes: N texts, T draws of a text, C topics, R terms of a topic, V vocabulary.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOPIC_TERMS = 400
PART_TEXTS = 1 << 14
ZIPF_HEAD = 50
TOPIC_HEAD = 10
"""Ranks over which frequencies are flat: of the vocabulary at large, of a topic."""
LIGHT = -1.5
"""Mean of log x of the vocabulary at large."""
SPARE_DRAWS = 1.6
"""Draws over terms wanted: a term that is drawn again counts once."""


class Topics:
    """Topics and their terms, the same for the same numbers."""

    def __init__(self, vocabulary: int, topics: int) -> None:
        rng = np.random.default_rng(0)
        self.vocabulary, self.topics = vocabulary, topics
        # A term's number is its rank in the vocabulary at large.
        self.cdf_V = _cdf(1 / (np.arange(vocabulary) + ZIPF_HEAD))
        self.cdf_R = _cdf(1 / (np.arange(TOPIC_TERMS) + TOPIC_HEAD))
        shape = (topics, TOPIC_TERMS)
        self.term_CR = rng.integers(vocabulary, size=shape, dtype=np.int32)
        # Of log x; a topic's frequent terms are its heavy ones, on the whole.
        falling_R = 1 - 2 * np.arange(TOPIC_TERMS) / TOPIC_TERMS
        self.mean_CR = (falling_R + rng.normal(scale=0.5, size=shape)).astype(np.float32)

    def documents(self, count: int, terms: int) -> Iterator[Any]:
        """`count` documents of `terms` terms, as CSR parts of PART_TEXTS rows (float32, int32)."""
        for start in range(0, count, PART_TEXTS):
            rng = np.random.default_rng([1, start])
            yield self._texts(min(PART_TEXTS, count - start), terms, (0.55, 0.25), rng)

    def queries(self, count: int, terms: int) -> Any:
        """`count` queries of `terms` terms, CSR."""
        return self._texts(count, terms, (0.8, 0.1), np.random.default_rng(2))

    def _texts(
        self, N: int, terms: int, shares: tuple[float, float], rng: np.random.Generator
    ) -> Any:
        """Texts of which two topics have these shares of the draws."""
        import scipy.sparse

        T = round(terms * SPARE_DRAWS)
        kind_NT = np.searchsorted(np.cumsum(shares), rng.random((N, T), dtype=np.float32))
        topic_N2 = rng.integers(self.topics, size=(N, 2))
        topic_NT = np.take_along_axis(topic_N2, np.minimum(kind_NT, 1), axis=1)
        rank_NT = np.searchsorted(self.cdf_R, rng.random((N, T)))
        other_NT = np.searchsorted(self.cdf_V, rng.random((N, T))).astype(np.int32)
        topical_NT = kind_NT < 2
        term_NT = np.where(topical_NT, self.term_CR[topic_NT, rank_NT], other_NT)
        mean_NT = np.where(topical_NT, self.mean_CR[topic_NT, rank_NT], np.float32(LIGHT))
        noise_NT = rng.normal(scale=0.4, size=(N, T)).astype(np.float32)
        value_NT = np.log1p(np.exp(mean_NT + noise_NT))
        kept_NT = _first_distinct(term_NT, terms)
        starts = np.concatenate(([0], np.cumsum(kept_NT.sum(1)))).astype(np.int32)
        matrix = scipy.sparse.csr_array(
            (value_NT[kept_NT], term_NT[kept_NT], starts), shape=(N, self.vocabulary)
        )
        matrix.sort_indices()
        return matrix


def _cdf(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distribution function without its last value, 1, for `searchsorted`."""
    return np.cumsum(weights / weights.sum())[:-1]


def _first_distinct(term_NT: NDArray[np.int32], terms: int) -> NDArray[np.bool_]:
    """Where each row's first `terms` distinct terms are; a row may have fewer."""
    order_NT = np.argsort(term_NT, axis=1, kind="stable")
    sorted_NT = np.take_along_axis(term_NT, order_NT, axis=1)
    new_NT = np.ones(term_NT.shape, dtype=bool)
    new_NT[:, 1:] = sorted_NT[:, 1:] != sorted_NT[:, :-1]
    first_NT = np.empty_like(new_NT)
    np.put_along_axis(first_NT, order_NT, new_NT, axis=1)
    return first_NT & (np.cumsum(first_NT, axis=1) <= terms)
