"""The pooling of the SPLADE head on a CPU: the largest logit of each entry and where it is.

Two ways to the same result. One makes every logit in float32. The other is for representations
that are sparse already: it makes the logits in bfloat16, for which processors of today have
instructions of twice the speed, with a bound on what rounding can do to them. An entry whose
largest logit plus that bound does not exceed the shift is inactive, without a doubt; the logits of
the few that are left are made again in float32. Values, winners and gradients are those of the
first way.

Shapes: B texts, L positions, H width, V vocabulary entries, N real tokens of a group of texts.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import linear

TILE_ENTRIES = 2048
GROUP_TOKENS = 1024
"""A tile of logits is GROUP_TOKENS x TILE_ENTRIES, so it stays in the cache."""
SCREENED_TOKENS, SCREENED_WIDTH = 256, 256
"""Smallest product for which rounded logits pay for the rounding of the weights."""
SCREENED_SHARE = 0.15
"""Share of active entries above which too much would have to be made again."""
SCREENED_ROWS = 256
"""Rounded products have a multiple of so many rows: oneDNN keeps memory for each shape that it has
met, and that of hundreds of shapes would cut the heap to pieces that nothing large fits in."""
SAMPLED_ENTRIES = 256
"""From so many, evenly spread over the vocabulary, that share is estimated."""
ROUNDING = 2.0**-8
"""Largest relative error of a number rounded to bfloat16."""
UNSEEN = 2e-19
"""The square of a number below this may be lost in float32."""
SMALLEST = 1e-30
"""Of numbers smaller than about 1e-38 the instructions make zeros."""


def pool(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    shift: float,
    track: bool,
) -> tuple[Tensor, Tensor]:
    """Largest logit of each text and entry, at least `shift`, (B, V), and the first position of it.

    The position, int32 (B, V), means something where the logit is above the shift. Without `track`
    there is none: (0, V).
    """
    chosen = (
        _pool_screened
        if _worth_screening(hidden_BLH, weight_VH, bias_V, mask_BL, shift)
        else _pool_packed
    )
    return chosen(hidden_BLH, weight_VH, bias_V, mask_BL, shift, track)


def _pool_packed(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    shift: float,
    track: bool,
) -> tuple[Tensor, Tensor]:
    B, V = hidden_BLH.shape[0], weight_VH.shape[0]
    best_BV = hidden_BLH.new_full((B, V), shift)
    position_BV = torch.zeros((B, V) if track else (0, V), dtype=torch.int32)
    for group in _groups(mask_BL, GROUP_TOKENS):
        packed_NH = group.packed(hidden_BLH)
        for start in range(0, V, TILE_ENTRIES):
            stop = min(start + TILE_ENTRIES, V)
            bias = None if bias_V is None else bias_V[start:stop]
            logits_NT = linear(packed_NH, weight_VH[start:stop], bias)
            best_GT = group.largest(logits_NT).clamp_(min=shift)
            best_BV[group.texts, start:stop] = best_GT
            for member, text in enumerate(group.texts.tolist() if track else ()):
                entry = (best_GT[member] > shift).nonzero().squeeze(1)
                rank = logits_NT[group.rows(member)[:, None], entry].argmax(dim=0)
                position_BV[text, start + entry] = group.positions[member, rank].int()
    return best_BV, position_BV


def _worth_screening(
    hidden_BLH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, mask_BL: Tensor, shift: float
) -> bool:
    if (
        hidden_BLH.dtype != torch.float32
        or weight_VH.shape[1] < SCREENED_WIDTH
        or int(mask_BL.sum()) < SCREENED_TOKENS
        or not _fast_bfloat16()
    ):
        return False
    sample = slice(None, None, max(1, weight_VH.shape[0] // SAMPLED_ENTRIES))
    bias = None if bias_V is None else bias_V[sample]
    best_BS, _ = _pool_packed(hidden_BLH, weight_VH[sample], bias, mask_BL, shift, False)
    return float((best_BS > shift).float().mean()) < SCREENED_SHARE


def _fast_bfloat16() -> bool:
    """Whether the processor has instructions for bfloat16 and torch a library that uses them."""
    return torch.backends.mkldnn.is_available() and (
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )


def _pool_screened(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    shift: float,
    track: bool,
) -> tuple[Tensor, Tensor]:
    B, V = hidden_BLH.shape[0], weight_VH.shape[0]
    candidate_BV = _not_surely_inactive(hidden_BLH, weight_VH, bias_V, mask_BL, shift)
    best_BV = hidden_BLH.new_full((B, V), shift)
    position_BV = torch.zeros((B, V) if track else (0, V), dtype=torch.int32)
    for text in mask_BL.any(dim=1).nonzero().flatten().tolist():
        position_N = mask_BL[text].nonzero().squeeze(1)
        hidden_NH = hidden_BLH[text, position_N]
        for entry in candidate_BV[text].nonzero().squeeze(1).split(TILE_ENTRIES):
            bias = None if bias_V is None else bias_V[entry]
            best, rank = linear(hidden_NH, weight_VH[entry], bias).max(dim=0)
            best_BV[text, entry] = best.clamp_(min=shift)
            if track:
                position_BV[text, entry] = position_N[rank].int()
    return best_BV, position_BV


def _not_surely_inactive(
    hidden_BLH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, mask_BL: Tensor, shift: float
) -> Tensor:
    """True (B, V) wherever a logit above `shift` cannot be ruled out.

    Let h' and w' be h and w rounded, u the largest relative error of rounding. Then

        |h.w - h'.w'| <= |h - h'| |w| + |h'| |w - w'| <= (|h - h'| + u |h'|) |w|

    by Cauchy and Schwarz, the sum of H products in float32 adds at most H 2^-23 |h'| |w|, and
    rounding the result u times its size. A norm does not see what has a square of zero, so the
    most that this can be is added to each. A value that is not a number rules nothing out.
    """
    B, _, H = hidden_BLH.shape
    V = weight_VH.shape[0]
    rounded_BLH = hidden_BLH.bfloat16()
    wide_BLH = rounded_BLH.float()
    lost = H**0.5 * UNSEEN
    norm_BL = torch.linalg.vector_norm(wide_BLH, dim=2) + lost
    slack_BL = torch.linalg.vector_norm(hidden_BLH - wide_BLH, dim=2) + lost
    slack_BL += norm_BL * (ROUNDING + H * 2.0**-23)
    # The hundredth stands for the rounding of these lines themselves.
    slack_B = 1.01 * slack_BL.masked_fill_(~mask_BL, 0.0).amax(dim=1)
    groups = [
        (one, _whole_rows(one.packed(rounded_BLH))) for one in _groups(mask_BL, 2 * GROUP_TOKENS)
    ]
    candidate_BV = torch.zeros((B, V), dtype=torch.bool)
    for start in range(0, V, TILE_ENTRIES):
        stop = min(start + TILE_ENTRIES, V)
        rounded = weight_VH[start:stop].bfloat16()
        norm_T = torch.linalg.vector_norm(weight_VH[start:stop], dim=1) + lost
        for group, packed_NH in groups:
            best_GT = group.largest(linear(packed_NH, rounded)).float()
            most_GT = best_GT + best_GT.abs() * (1.01 * ROUNDING)
            most_GT += slack_B[group.texts, None] * norm_T
            if bias_V is not None:
                most_GT += bias_V[start:stop]
            candidate_BV[group.texts, start:stop] = ~(most_GT <= shift - SMALLEST)
    return candidate_BV


def _whole_rows(packed_NH: Tensor) -> Tensor:
    """With zeros at the end, which no text reads."""
    return torch.nn.functional.pad(packed_NH, (0, 0, 0, -len(packed_NH) % SCREENED_ROWS))


@dataclass(frozen=True)
class _Group:
    """Texts of like length, packed position by position and without padding.

    All first tokens come first, then all second ones, and so on; texts are in order of length,
    longest first, so a text that has an n-th token comes before any that does not.
    """

    texts: Tensor
    """Which texts (G,)."""
    lengths: list[int]
    """Real tokens of each."""
    positions: Tensor
    """Position of each one's 1st, 2nd, ... real token (G, longest)."""
    reached: list[int]
    """How many texts have a 1st, 2nd, ... real token."""

    def packed(self, hidden_BLH: Tensor) -> Tensor:
        """The hidden states (N, H)."""
        step_N = torch.repeat_interleave(torch.tensor(self.reached))
        member_N = torch.arange(len(step_N)) - self._starts()[step_N]
        return hidden_BLH[self.texts[member_N], self.positions[member_N, step_N]]

    def rows(self, member: int) -> Tensor:
        """Rows of the packed tokens of one text of the group."""
        return self._starts()[: self.lengths[member]] + member

    def largest(self, value_NT: Tensor) -> Tensor:
        """The largest value of each text (G, T)."""
        best_GT, start = None, 0
        for count, run in groupby(self.reached):
            stop = start + count * sum(1 for _ in run)
            own = value_NT[start:stop].view(-1, count, value_NT.shape[1]).amax(dim=0)
            start = stop
            if best_GT is None:
                best_GT = own
            else:
                torch.maximum(best_GT[:count], own, out=best_GT[:count])
        assert best_GT is not None
        return best_GT

    def _starts(self) -> Tensor:
        reached = torch.tensor(self.reached)
        return reached.cumsum(0) - reached


def _groups(mask_BL: Tensor, tokens: int) -> Iterator[_Group]:
    """Texts with any real token in groups of about so many, longest first."""
    length_B = mask_BL.sum(dim=1)
    order = torch.argsort(length_B, descending=True, stable=True)
    order = order[: int((length_B > 0).sum())]
    start = 0
    while start < len(order):
        longest = int(length_B[order[start]])
        texts = order[start : start + max(1, tokens // longest)]
        start += len(texts)
        # Real positions first, in their order; the rest is cut off.
        positions = torch.argsort(~mask_BL[texts], dim=1, stable=True)[:, :longest]
        reached = (torch.arange(longest)[:, None] < length_B[texts]).sum(dim=1)
        yield _Group(texts, length_B[texts].tolist(), positions, reached.tolist())


def untouched_zeros(rows: int, like: Tensor) -> Tensor:
    """Zeros (rows, H) of the type of `like`, on the CPU.

    The kernel gives memory to a page of 4 KiB when it is first written to, so rows of inactive
    entries, nearly all of a weight's gradient, cost neither time nor memory. torch writes every
    zero, and numpy asks for pages of 2 MiB, each of which holds some active entry.
    """
    length = rows * like.shape[1] * like.element_size()
    if not length:
        return like.new_zeros(rows, like.shape[1])
    pages = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(pages, dtype=like.dtype).view(rows, like.shape[1])
