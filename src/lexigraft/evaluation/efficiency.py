"""Efficiency of sparse representations: document length and FLOPS.

document length = mean number of active entries of a document (query length likewise)
FLOPS = sum_v p_q(v) p_d(v)      (Paria et al. 2020, section 3; SPLADE, Formal et al. 2021)

where p_q(v) and p_d(v) are the shares of queries and documents in which entry v is active. That is
the mean number of entries that a query and a document of the set have in common, over all pairs:
the multiplications that scoring one document costs in an inverted index.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class Activity:
    """How often each vocabulary entry is active, counted shard by shard."""

    dimensions: int
    texts: int = 0
    counts: NDArray[np.int64] = field(init=False)
    """Texts in which each entry is active (V,)."""

    def __post_init__(self) -> None:
        self.counts = np.zeros(self.dimensions, dtype=np.int64)

    def add(self, rep_NV: Any) -> None:
        """Count the entries above 0 of a CSR array (N, V)."""
        active = rep_NV.indices[rep_NV.data > 0]
        self.counts += np.bincount(active, minlength=self.dimensions)
        self.texts += rep_NV.shape[0]

    @property
    def length(self) -> float:
        """Mean number of active entries of a text; 0 without texts."""
        return float(self.counts.sum() / self.texts) if self.texts else 0.0


def flops(queries: Activity, documents: Activity) -> float:
    """Mean number of entries that a query and a document share; 0 if there are none of either."""
    if not queries.texts or not documents.texts:
        return 0.0
    share_q = queries.counts / queries.texts
    share_d = documents.counts / documents.texts
    return float(share_q @ share_d)
