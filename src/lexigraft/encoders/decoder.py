"""A masked language model in two halves: what goes into its output decoder, and the decoder.

It is seen as `logits = hidden @ weight.T + bias`: everything up to the decoder (`project_states`)
and the decoder itself (`output_projection`). Apart, they let a sparse head read B x L x H states
and never make B x L x V logits.

Where a model writes another vocabulary than it reads (`lexigraft.encoders.output_vocabulary`), the
decoder is seen without the rows that only fill it up.
"""

from torch import Tensor, nn
from transformers import PreTrainedModel

from lexigraft.encoders.output_vocabulary import output_size
from lexigraft.errors import LexigraftError


def project_states(
    model: PreTrainedModel, input_ids_BL: Tensor, attention_mask_BL: Tensor
) -> Tensor:
    """What goes into the output decoder, hidden_BLH: after the prediction head's transform.

    The decoder's `forward` is an identity during the call, so it serves any masked language model
    whose decoder is a linear layer, keeps gradients and hooks, and makes no logits. Not for two
    threads in the same model at once.
    """
    decoder = decoder_of(model)
    wrapped = decoder.__dict__.get("forward")
    decoder.__dict__["forward"] = _identity
    try:
        return model(input_ids=input_ids_BL, attention_mask=attention_mask_BL).logits
    finally:
        if wrapped is None:
            del decoder.__dict__["forward"]
        else:
            decoder.__dict__["forward"] = wrapped


def output_projection(model: PreTrainedModel) -> tuple[Tensor, Tensor | None]:
    """The decoder's live parameters: weight_VH and bias_V (None if it has none).

    V is the output vocabulary: where rows only fill the decoder up, these are views without them.
    """
    decoder, size = decoder_of(model), output_size(model)
    if size == len(decoder.weight):
        return decoder.weight, decoder.bias
    return decoder.weight[:size], None if decoder.bias is None else decoder.bias[:size]


def output_parameters(model: PreTrainedModel) -> tuple[Tensor, Tensor | None]:
    """The decoder's weight and bias as they are stored, rows that fill it up included."""
    decoder = decoder_of(model)
    return decoder.weight, decoder.bias


def _identity(hidden: Tensor) -> Tensor:
    return hidden


def decoder_of(model: PreTrainedModel) -> nn.Linear:
    """The output decoder.

    Raises:
        LexigraftError: it is no linear layer.
    """
    decoder = model.get_output_embeddings()
    if not isinstance(decoder, nn.Linear):
        raise LexigraftError(
            f"{type(model).__name__}: its output embeddings are a {type(decoder).__name__}; "
            "a sparse head needs a linear decoder"
        )
    return decoder
