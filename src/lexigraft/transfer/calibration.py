"""Activation potential calibration: the output bias is lowered by a scalar (section 4.2.3).

    b' <- b' - c

A softmax does not see where logits sit relative to zero, a ReLU does. The shift c is given, or
found from the activation rate that it must reach.

Activation rate: the share of vocabulary entries that are active (above zero) in the max-pooled
representation of a probe document, on average over documents. All real positions are pooled, those
of [CLS] and [SEP] too, as the SPLADE head does; all entries of the tokenizer's vocabulary count,
special tokens too; padded positions and rows that no token uses do not. The per-position rate is
the same share among the logits of single positions.

Shapes: N documents, B of them in a batch, L positions, V vocabulary entries that are tokens.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.encoders.health import Health, health
from lexigraft.encoders.saving import longest_input, refuse_long_input
from lexigraft.errors import LexigraftError
from lexigraft.progress import track
from lexigraft.transfer.rebuild import allow_output_bias
from lexigraft.vocabulary.pieces import name_of

log = logging.getLogger(__name__)
LONGEST_PROBE = 256
LOGITS_IN_A_TILE = 1 << 20
"""Logits held at once: 4 MiB, which a CPU keeps near."""


@dataclass(frozen=True, eq=False)
class Activations:
    """What the probe documents activate."""

    rate: float
    """Share of entries above zero in a pooled representation, in [0, 1]."""
    position_rate: float
    """Share of logits above zero among all positions, in [0, 1]."""
    pooled: np.ndarray
    """(N, V) float32: largest logit of each entry over a document's positions, before the ReLU."""
    health: Health
    """Of the representations log(1 + ReLU(pooled)): dense collapse and dead outputs."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibrated model's shift and what was measured on the probes."""

    shift: float
    """c: what every output bias was lowered by."""
    before: Activations
    after: Activations
    positions: int
    """Real positions of all probe documents."""


def calibrate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Iterable[str],
    *,
    shift: float | None = None,
    rate: float | None = None,
    length: int | None = None,
    batch_size: int = 16,
    output_tokenizer: PreTrainedTokenizerBase | None = None,
) -> Calibration:
    """Lower the output bias of `model`, in place, by a given shift or to reach a given rate.

    A shift of c lowers every logit by c. For a rate, c lies halfway between the two pooled logits
    that it must part, so the rate is met to one entry in N x V (but for ties). A decoder without a
    bias gets one. Memory is N x V for the pooled logits and a tile of B x L x V.

    Args:
        texts: probe documents.
        shift: c, positive for sparser representations; or:
        rate: activation rate to reach, between 0 and 1.
        length: tokens of a document, special ones included; None for 256, or for what the model
            reads if that is less.
        batch_size: documents in a forward pass.
        output_tokenizer: of the output vocabulary, whose tokens are the entries, where it is
            another than the tokenizer's.

    Raises:
        LexigraftError: both or neither of shift and rate, a rate outside 0 to 1, a shift that is
            not finite, no text, documents longer than the model reads, or a decoder that can have
            no bias.
    """
    _refuse_request(shift, rate)
    documents = list(texts)
    if not documents:
        raise LexigraftError("calibration: there is no probe document")
    if length is None:
        length = min(LONGEST_PROBE, longest_input(model))
    refuse_long_input(model, length, name_of(tokenizer))
    bias = ensure_output_bias(model)
    was_training = model.training
    model.eval()
    encoded = tokenizer(documents, truncation=True, max_length=length, verbose=False)["input_ids"]
    batches = [encoded[i : i + batch_size] for i in range(0, len(encoded), batch_size)]
    entries = torch.tensor(sorted((output_tokenizer or tokenizer).get_vocab().values()))
    padding, entries = tokenizer.pad_token_id, entries.to(model.device)
    before = _measure(model, padding, entries, batches, "probe before")
    if shift is None:
        assert rate is not None
        shift = shift_for_rate(before.pooled, rate)
    with torch.no_grad():
        bias.sub_(shift)
    after = _measure(model, padding, entries, batches, "probe after")
    model.train(was_training)
    _tell(shift, before, after)
    return Calibration(shift, before, after, positions=sum(map(len, encoded)))


def shift_for_rate(pooled_NV: np.ndarray, rate: float) -> float:
    """c such that `rate` of all entries exceed it: halfway between the two it must part.

    Args:
        pooled_NV: largest logit of each entry in each document.
        rate: share in (0, 1); at least one entry, and not all, stay active.

    Raises:
        LexigraftError: fewer than two entries, or a rate outside (0, 1).
    """
    _refuse_request(None, rate)
    flat = np.asarray(pooled_NV, dtype=np.float64).ravel()
    if len(flat) < 2:
        raise LexigraftError(f"calibration: {len(flat)} pooled logits have no rate to reach")
    active = min(max(round(rate * len(flat)), 1), len(flat) - 1)
    first_silent, last_active = len(flat) - active - 1, len(flat) - active
    parted = np.partition(flat, (first_silent, last_active))
    return float((parted[first_silent] + parted[last_active]) / 2)


def ensure_output_bias(model: PreTrainedModel) -> torch.Tensor:
    """The model's live output bias, made of zeros (in place, and stated in its config) if none.

    Raises:
        LexigraftError: the class of the model cannot have one.
    """
    weight, bias = output_projection(model)
    if bias is None:
        allow_output_bias(model, model.config)
        bias = nn.Parameter(torch.zeros(len(weight), dtype=weight.dtype, device=weight.device))
        model.get_output_embeddings().bias = bias
    return bias


def _refuse_request(shift: float | None, rate: float | None) -> None:
    if (shift is None) == (rate is None):
        raise LexigraftError("calibration: give either a shift or an activation rate")
    if rate is not None and not 0 < rate < 1:
        raise LexigraftError(f"calibration: rate is {rate}; it must lie between 0 and 1")
    if shift is not None and not np.isfinite(shift):
        raise LexigraftError(f"calibration: shift is {shift}; it must be a finite number")


@torch.no_grad()
def _measure(
    model: PreTrainedModel,
    padding: int,
    entries: torch.Tensor,
    batches: Sequence[list[list[int]]],
    description: str,
) -> Activations:
    pooled, active, logits = [], 0, 0
    for batch in track(batches, description, unit="batches"):
        length = max(map(len, batch))
        ids_BL = torch.tensor([ids + [padding] * (length - len(ids)) for ids in batch])
        mask_BL = torch.tensor([[1] * len(ids) + [0] * (length - len(ids)) for ids in batch])
        ids_BL, mask_BL = ids_BL.to(model.device), mask_BL.to(model.device)
        tiles = []
        for logits_BLT in _tiles(model, ids_BL, mask_BL, entries):
            tiles.append(logits_BLT.amax(1).float().cpu())
            active += int((logits_BLT > 0).sum())
        pooled.append(torch.cat(tiles, dim=1))
        logits += int(mask_BL.sum()) * len(entries)
    pooled_NV = torch.cat(pooled)
    return Activations(
        rate=float((pooled_NV > 0).double().mean()),
        position_rate=active / logits,
        pooled=pooled_NV.numpy(),
        health=health(pooled_NV.relu().log1p()),
    )


def _tiles(
    model: PreTrainedModel, ids_BL: torch.Tensor, mask_BL: torch.Tensor, entries: torch.Tensor
) -> Iterator[torch.Tensor]:
    """Logits of some entries at a time, -inf at padded positions."""
    hidden_BLH = project_states(model, ids_BL, mask_BL)
    weight_VH, bias_V = output_projection(model)
    assert bias_V is not None
    padding_BL1 = (mask_BL == 0)[:, :, None]
    for tile in entries.split(max(1, LOGITS_IN_A_TILE // ids_BL.numel())):
        logits_BLT = nn.functional.linear(hidden_BLH, weight_VH[tile], bias_V[tile])
        yield logits_BLT.masked_fill_(padding_BL1, -torch.inf)


def _tell(shift: float, before: Activations, after: Activations) -> None:
    log.info(
        "calibration: shift %.4g, activation rate %.1f %% before, %.1f %% after",
        shift,
        100 * before.rate,
        100 * after.rate,
    )
    for when, verdict in (("before", before.health), ("after", after.health)):
        if verdict["verdict"] != "healthy":
            log.warning("%s %s calibration", verdict["verdict"], when)
