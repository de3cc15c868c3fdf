"""The dense head: the mean of the encoder's last hidden states, compared by dot product.

The dot product of unnormalised means, as in Contriever and the dense baselines distilled with
MarginMSE (TAS-B): a teacher's margins have a scale that cosines, bounded by 1, could not reach, and
InfoNCE takes the same scores with a factor (`score_scale`). The prediction head of the masked
language model is not used.

Shapes: B texts, L positions, H width.
"""

import torch
from torch import Tensor
from transformers import PreTrainedModel


def mean_pool(hidden_BLH: Tensor, mask_BL: Tensor) -> Tensor:
    """Mean of the hidden states of real positions, rep_BH; zeros for a text without any.

    The mean is taken in float32 at least and returned in the type of the states.
    """
    wide = torch.promote_types(hidden_BLH.dtype, torch.float32)
    weight_BL1 = mask_BL.to(wide)[:, :, None]
    total_BH = (hidden_BLH.to(wide) * weight_BL1).sum(1)
    return (total_BH / weight_BL1.sum(1).clamp(min=1)).to(hidden_BLH.dtype)


def last_states(model: PreTrainedModel, input_ids_BL: Tensor, attention_mask_BL: Tensor) -> Tensor:
    """The encoder's last hidden states, hidden_BLH, of a masked language model or an encoder."""
    encoder = model.base_model
    return encoder(input_ids=input_ids_BL, attention_mask=attention_mask_BL).last_hidden_state
