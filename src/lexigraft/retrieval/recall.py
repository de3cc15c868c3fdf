"""What an approximate engine finds of what exact search finds."""

import numpy as np

from lexigraft.retrieval.hits import Hits


def recall_of_exact(found: Hits, exact: Hits, depth: int) -> float | None:
    """Share of exact search's best `depth` documents that are among the best `depth` found.

    The mean over the queries for which exact search retrieves something; None if there is none. A
    document that ties with the last of the best ones is one of them, as far as `exact` holds it.
    """
    shares = []
    for documents, best, scores in zip(found.documents, exact.documents, exact.scores, strict=True):
        if len(best) == 0:
            continue
        wanted = min(depth, len(best))
        good = best[scores >= scores[wanted - 1]]
        shares.append(min(wanted, np.isin(documents[:depth], good).sum()) / wanted)
    return float(np.mean(shares)) if shares else None
