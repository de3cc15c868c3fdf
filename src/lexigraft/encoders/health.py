"""Whether an encoder's representations can carry a ranking at all: dense collapse, dead outputs.

Vocabulary Transfer, section 4.2.4: logits that are high everywhere activate everything ("dense
collapse"), logits that are low everywhere activate nothing ("dead neurons").
"""

from typing import Any, TypedDict

import numpy as np
import scipy.sparse
import torch

DENSE_SHARE = 0.95
"""Dense collapse: at least this share of entries is active, so nothing is selected."""
SAME_COSINE_SPARSE = 0.85
"""Dense collapse of a sparse head: unrelated texts have at least this mean cosine (trained sparse
heads that retrieve have 0.1 to 0.3)."""
SAME_COSINE_DENSE = 0.95
"""The same of a dense head, whose mean-pooled states all lie in a narrow cone to begin with."""
DEAD_TERMS = 1.0
"""Dead outputs: fewer active entries than this in an average text ..."""
DEAD_TEXTS = 0.5
"""... or at least this share of texts without a single active entry."""


class Health(TypedDict):
    """What `health` measures."""

    active_share: float | None
    """Share of entries above zero; None for a dense head, where it says nothing."""
    mean_cosine: float | None
    """Mean cosine of two different texts; None where fewer than two texts have a direction."""
    verdict: str
    """healthy, dense collapse or dead outputs."""


def health(rep_NV: Any, *, sparse: bool = True) -> Health:
    """Judge the representations of N unrelated texts.

    The mean cosine is over all pairs of different rows that are not zero, in closed form.

    Args:
        rep_NV: tensor, numpy array or scipy sparse matrix.
        sparse: False for a dense head: its entries are all active by design, so only the cosine
            is judged.

    Raises:
        ValueError: no row, or a value that is not finite.
    """
    if isinstance(rep_NV, torch.Tensor):
        rep_NV = rep_NV.detach().cpu().double().numpy()
    matrix = scipy.sparse.csr_array(rep_NV, dtype=np.float64)
    N, V = matrix.shape
    if N == 0:
        raise ValueError("no representation to judge")
    if not np.isfinite(matrix.data).all():
        raise ValueError("a representation holds a value that is not finite")
    active_N = scipy.sparse.csr_array(matrix > 0).sum(axis=1)
    norm_N = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    M = int((norm_N > 0).sum())
    cosine = None
    if M > 1:
        scale_N = np.divide(1.0, norm_N, out=np.zeros(N), where=norm_N > 0)
        total_V = matrix.T @ scale_N
        cosine = float((total_V @ total_V - M) / (M * (M - 1)))
    share = float(active_N.mean() / V)
    alike = SAME_COSINE_SPARSE if sparse else SAME_COSINE_DENSE
    if sparse and (active_N.mean() < DEAD_TERMS or (active_N == 0).mean() >= DEAD_TEXTS):
        verdict = "dead outputs"
    elif (sparse and share >= DENSE_SHARE) or (cosine is not None and cosine >= alike):
        verdict = "dense collapse"
    else:
        verdict = "healthy"
    return {"active_share": share if sparse else None, "mean_cosine": cosine, "verdict": verdict}
