"""Random initialisations: of the new tokens, or of all (section 6.2.1).

Rows are drawn from a normal distribution with the mean and deviation that each dimension has over
the overlapping tokens, so that a random row has the scale that the transformer expects.
"""

import torch

from lexigraft.errors import LexigraftError
from lexigraft.transfer.initialisation.registry import Material, NewRows, strategy


@strategy("random_new")
def random_new(material: Material) -> NewRows:
    """New tokens are random, overlapping ones are kept.

    Raises:
        LexigraftError: fewer than two overlapping tokens, which have no deviation.
    """
    count = len(material.overlap.new_ids)
    return NewRows(_draw(material, count), torch.zeros(count, dtype=torch.bool))


@strategy("random_all")
def random_all(material: Material) -> NewRows:
    """All tokens are random, the overlapping ones too.

    Raises:
        LexigraftError: fewer than two overlapping tokens, which have no deviation.
    """
    count, kept = len(material.overlap.new_ids), len(material.overlap.target_ids)
    rows = _draw(material, count + kept)
    missing = torch.zeros(count, dtype=torch.bool)
    return NewRows(rows[:count], missing, anchors=rows[count:])


def _draw(material: Material, count: int) -> torch.Tensor:
    anchors_MH = material.anchors
    if len(anchors_MH) < 2:
        raise LexigraftError(
            f"initialisation: {len(anchors_MH)} overlapping token has no deviation to draw from; "
            "at least two are needed"
        )
    normal = torch.randn(count, anchors_MH.shape[1], generator=material.generator)
    deviation_H, mean_H = torch.std_mean(anchors_MH, dim=0, correction=0)
    return mean_H + deviation_H * normal.to(anchors_MH)
