"""BM25, the lexical baseline, as in BEIR's and MS MARCO's published rows.

Those rows are Lucene's BM25 through Anserini with k1 = 0.9 and b = 0.4 and its English analyser:
lower-cased words, possessives cut, Lucene's 33 English stop words left out, Porter's stemmer. Here
bm25s computes Lucene's formula over the same kind of terms, title and text as one field.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
from Stemmer import Stemmer

from lexigraft.retrieval.exact import BLOCK_DOCUMENTS, search_matrices
from lexigraft.retrieval.hits import Hits

PORTER = Stemmer("porter")
WORD = re.compile(r"\w+(?:['’]\w+)*")
POSSESSIVE = re.compile(r"['’]s$")


def terms(text: str) -> list[str]:
    """Terms of a text: words, lower-cased, without possessive s and stop words, stemmed."""
    words = (POSSESSIVE.sub("", word) for word in WORD.findall(text.lower()))
    stop = _stop_words()
    return PORTER.stemWords([word for word in words if word not in stop])


@cache
def _stop_words() -> frozenset[str]:
    # Imported here, as below: bm25s brings numba with it, and every search reads this module.
    from bm25s.stopwords import STOPWORDS_EN

    return frozenset(STOPWORDS_EN)


def search_bm25(
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    depth: int,
    *,
    k1: float = 0.9,
    b: float = 0.4,
    remove_self_match: bool = False,
) -> Hits:
    """The `depth` best documents of each query; a document without any of its terms is not found.

    Args:
        queries: id to text.
        documents: id to title and text.
        depth: documents kept for each query.
        k1: saturation of term frequency.
        b: strength of length normalisation.
        remove_self_match: leave out a document with the query's own id.
    """
    document_terms = [terms(text) for text in documents.values()]
    # In sorted order, so that sums of floats do not depend on the order of a set of strings.
    vocabulary = {t: i for i, t in enumerate(sorted({t for own in document_terms for t in own}))}
    weights_NT = _term_weights(document_terms, vocabulary, k1, b)
    counts_QT = _term_counts([terms(text) for text in queries.values()], vocabulary)
    return search_matrices(
        counts_QT,
        list(queries),
        _row_blocks(weights_NT),
        list(documents),
        depth,
        remove_self_match=remove_self_match,
    )


def _term_weights(
    document_terms: Sequence[Sequence[str]], vocabulary: Mapping[str, int], k1: float, b: float
) -> Any:
    """What each term of a document adds to the score of a query that has it, (N, T) CSR."""
    shape = (len(document_terms), len(vocabulary))
    if not vocabulary:
        return scipy.sparse.csr_array((shape[0], 1), dtype=np.float32)
    import bm25s

    index = bm25s.BM25(k1=k1, b=b, method="lucene")
    numbered = [[vocabulary[term] for term in own] for own in document_terms]
    index.index((numbered, dict(vocabulary)), create_empty_token=False, show_progress=False)
    found = index.scores
    matrix = scipy.sparse.csc_array((found["data"], found["indices"], found["indptr"]), shape=shape)
    return matrix.tocsr()


def _term_counts(query_terms: Sequence[Sequence[str]], vocabulary: Mapping[str, int]) -> Any:
    """How often a query has each term that some document has, (Q, T) CSR."""
    known = [[vocabulary[term] for term in own if term in vocabulary] for own in query_terms]
    starts = np.cumsum([0, *map(len, known)])
    columns = np.array([term for own in known for term in own], dtype=np.int32)
    counts = scipy.sparse.csr_array(
        (np.ones(len(columns), dtype=np.float32), columns, starts),
        shape=(len(known), max(1, len(vocabulary))),
    )
    counts.sum_duplicates()
    return counts


def _row_blocks(matrix: Any) -> Iterator[Any]:
    for start in range(0, matrix.shape[0], BLOCK_DOCUMENTS):
        yield matrix[start : start + BLOCK_DOCUMENTS]
