"""Mean initialisation: every new token starts at the centroid of the overlapping ones."""

import torch

from lexigraft.transfer.initialisation.registry import Material, NewRows, strategy


@strategy("mean")
def mean(material: Material) -> NewRows:
    """E'_t = mean of E over the overlapping tokens (section 6.2.1)."""
    count = len(material.overlap.new_ids)
    centroid_H = material.anchors.mean(0)
    return NewRows(centroid_H.repeat(count, 1), torch.zeros(count, dtype=torch.bool))
