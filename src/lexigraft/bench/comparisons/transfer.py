"""Semantic initialisation at full size: ours against one entmax.sparsemax for each new token.

The peer is the loop of deepfocus (Dobler and de Melo, 2023, "FOCUS"): the cosines of all new tokens
to all anchors at once, then row by row the sparsemax and the mix of those anchors that have weight.
Its own function takes the cosines with fastdist, which torch's matrix product outruns; here they
are torch's. A loop that takes each row's cosines by itself is slower still.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lexigraft.bench.comparison import Comparison, Target, Work

if TYPE_CHECKING:
    from torch import Tensor

    from lexigraft.vocabulary.overlap import Overlap


@dataclass(frozen=True)
class _Material:
    source: "Tensor"
    """(V, H) embeddings."""
    target: "Tensor"
    """(V', D) embeddings."""
    overlap: "Overlap"


def ours(**size: int) -> Work:
    """Blocks of rows, the largest scores sorted, sparse barycentres."""
    from lexigraft.transfer import initialise_embeddings

    given = _material(**size)
    return Work(
        lambda: initialise_embeddings(
            "semantic", given.source, given.overlap, target_embeddings=given.target
        ),
        _arrays,
    )


def theirs(**size: int) -> Work:
    """A loop over new tokens."""
    import torch
    from entmax import sparsemax
    from torch.nn.functional import normalize

    given = _material(**size)
    overlap = given.overlap

    @torch.no_grad()
    def run() -> torch.Tensor:
        unit_VD = normalize(given.target, dim=1)
        cosine_NM = unit_VD[overlap.new_ids] @ unit_VD[overlap.target_ids].T
        anchors_MH = given.source[overlap.source_ids]
        made_VH = torch.empty(len(given.target), anchors_MH.shape[1])
        made_VH[overlap.target_ids] = anchors_MH
        for token, cosine_M in zip(overlap.new_ids.tolist(), cosine_NM, strict=True):
            alpha_M = sparsemax(cosine_M, dim=-1)
            kept_M = alpha_M > 0
            made_VH[token] = (anchors_MH[kept_M] * alpha_M[kept_M, None]).sum(0)
        return made_VH

    return Work(run, _arrays)


def _arrays(made_VH: Any) -> dict[str, Any]:
    return {"embeddings": made_VH.numpy()}


def _material(*, source: int, target: int, anchors: int, width: int) -> _Material:
    import torch

    from lexigraft.vocabulary.overlap import Overlap

    generator = torch.Generator().manual_seed(0)
    shuffled = torch.randperm(target, generator=generator)
    overlap = Overlap(
        source_ids=torch.randperm(source, generator=generator)[:anchors],
        target_ids=shuffled[:anchors].sort().values,
        new_ids=shuffled[anchors:].sort().values,
        coverage=anchors / target,
    )
    return _Material(
        torch.randn(source, width, generator=generator),
        torch.randn(target, width, generator=generator),
        overlap,
    )


COMPARISONS = (
    Comparison(
        name="transfer",
        title="semantic initialisation, {target:,} targets, {anchors:,} of them anchors, H={width}",
        peer="entmax.sparsemax row by row, deepfocus' loop",
        ours=ours,
        theirs=theirs,
        sizes={
            "full": {"source": 50_368, "target": 30_522, "anchors": 17_200, "width": 768},
            "small": {"source": 400, "target": 300, "anchors": 170, "width": 16},
        },
        tolerance=1e-4,
        target=Target(time=5.0, total_bytes=2 * 10**9),
        packages=["entmax"],
    ),
)
