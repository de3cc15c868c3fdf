"""The sparse head on a GPU, in Triton: the largest logit of each entry, and the gradients.

Forward: a program takes a tile of vocabulary entries and one text, or several short ones, goes over
their positions block by block, and keeps each entry's largest logit and the first position that
has it. No logit is ever written to memory, and blocks of padding cost nothing. Float32 is
multiplied in float32, unless torch is told to use TF32 (`torch.set_float32_matmul_precision`);
bfloat16 and float16 add up in float32 and are rounded before they are compared, as the plain
formula rounds its logits, so that the same positions tie.

Backward: the gradients are products with a matrix as sparse as the representation. Its non-zeros
are sorted by the row that they add to and one program adds up a row, in that order: no atomics,
so the same input gives the same bits on the same GPU.

Shapes: B texts, L positions, H width, V vocabulary entries, N active entries of all texts, R rows
of a product.
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

STEP_BYTES = 128
"""Of each entry and each position, what is loaded at a time."""
MOST_TEXTS = 16
"""Of a tile: with more, what is kept of each entry and text fills the registers."""


@dataclass(frozen=True)
class Tile:
    """What a program of the forward pass computes at a time, and with what means."""

    entries: int
    """Vocabulary entries, a power of two, at least 16."""
    columns: int
    """Positions: of one text, or of several where they are shorter; likewise."""
    warps: int
    stages: int
    """Steps of the product that are loaded ahead."""

    @property
    def shared_bytes(self) -> int:
        """Shared memory that the loads take."""
        return (self.entries + self.columns) * STEP_BYTES * self.stages


LARGE, SMALL = Tile(256, 128, warps=8, stages=4), Tile(128, 128, warps=8, stages=3)
"""192 KiB, which Hopper has; 96 KiB, which every GPU has since compute capability 8.0."""


def tile_for(hidden: Tensor) -> Tile:
    """The larger tile where it fits; float32, without tensor cores, lacks the registers for it."""
    properties = torch.cuda.get_device_properties(hidden.device)
    room = getattr(properties, "shared_memory_per_block_optin", 0)
    fits = room >= LARGE.shared_bytes and hidden.dtype != torch.float32
    return LARGE if fits else SMALL


def pool(
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    bias_V: Tensor | None,
    mask_BL: Tensor,
    track: bool,
    tile: Tile | None = None,
) -> tuple[Tensor, Tensor]:
    """Largest logit of each text and entry, (B, V), -inf without a real position, and where it is.

    Args:
        hidden_BLH: float32, bfloat16 or float16, like the weight and the bias.
        weight_VH: the decoder's rows.
        bias_V: its bias, or None.
        mask_BL: bool, False for padding, which may be anywhere.
        track: whether to return the first position that has it, int32 (B, V); without, (0, V).
        tile: None for `tile_for`.
    """
    B, L, H = hidden_BLH.shape
    V = weight_VH.shape[0]
    best_BV = hidden_BLH.new_full((B, V), -torch.inf)
    position_BV = mask_BL.new_zeros((B, V) if track else (0, V), dtype=torch.int32)
    if mask_BL.numel() == 0 or V == 0:
        return best_BV, position_BV
    tile = tile or tile_for(hidden_BLH)
    positions = max(min(tile.columns, triton.next_power_of_2(L)), tile.columns // MOST_TEXTS)
    texts = tile.columns // positions
    step = STEP_BYTES // hidden_BLH.element_size()
    tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
    with torch.cuda.device_of(hidden_BLH):
        _pool[(triton.cdiv(B, texts) * triton.cdiv(V, tile.entries),)](
            hidden_BLH.contiguous(),
            weight_VH.contiguous(),
            bias_V,
            mask_BL.contiguous().view(torch.uint8),
            best_BV,
            position_BV,
            B,
            L,
            V,
            H,
            HAS_BIAS=bias_V is not None,
            TRACK=track,
            WHOLE_STEPS=H % step == 0,
            PRECISION="tf32" if tf32 else "ieee",
            TEXTS=texts,
            POSITIONS=positions,
            ENTRIES=tile.entries,
            STEP=step,
            num_warps=tile.warps,
            num_stages=tile.stages,
        )
    return best_BV, position_BV


def gradients(
    coefficient_BV: Tensor,
    position_BV: Tensor,
    hidden_BLH: Tensor,
    weight_VH: Tensor,
    compute: torch.dtype,
    needs_hidden: bool,
    needs_weight: bool,
) -> tuple[Tensor | None, Tensor | None]:
    """Gradients of the hidden states (B, L, H) and of the weight (V, H), None if not needed.

    Args:
        coefficient_BV: gradient of the largest logit of each text and entry, 0 where inactive.
        position_BV: the position that has it.
        hidden_BLH: as given to the head; its gradient has its type.
        weight_VH: likewise.
        compute: the type in which the forward pass read them; sums are float32.
    """
    B, L, H = hidden_BLH.shape
    V = weight_VH.shape[0]
    # The transpose is read row by row, so these come sorted by entry.
    entry_N, text_N = coefficient_BV.t().nonzero(as_tuple=True)
    value_N = coefficient_BV[text_N, entry_N]
    state_N = text_N * L + position_BV[text_N, entry_N]
    grad_hidden = grad_weight = None
    if needs_weight:
        states = hidden_BLH.reshape(B * L, H)
        grad_weight = sparse_product(
            entry_N, state_N, value_N, states.to(compute), V, out=weight_VH.dtype, items=8
        )
    if needs_hidden:
        state_N, order_N = state_N.int().sort(stable=True)
        # A position can win thousands of entries, an entry at most one position of a text.
        grad_hidden = sparse_product(
            state_N,
            entry_N[order_N],
            value_N[order_N],
            weight_VH.to(compute),
            B * L,
            out=hidden_BLH.dtype,
            items=32,
        ).view(B, L, H)
    return grad_hidden, grad_weight


def sparse_product(
    row_N: Tensor,
    column_N: Tensor,
    value_N: Tensor,
    dense: Tensor,
    rows: int,
    *,
    out: torch.dtype,
    items: int,
) -> Tensor:
    """Product of a sparse matrix of R rows and a dense one, (R, H), summed in float32.

    Args:
        row_N: row of each non-zero, ascending; each row is summed in the order given.
        column_N: its column, int64.
        value_N: its value, float32.
        dense: the second factor (columns, H).
        rows: R.
        out: type of the result.
        items: non-zeros that are read at a time, a power of two.
    """
    H = dense.shape[1]
    product_RH = dense.new_empty((rows, H), dtype=out)
    if product_RH.numel() == 0:
        return product_RH
    start_R = torch.searchsorted(
        row_N, torch.arange(rows + 1, dtype=row_N.dtype, device=row_N.device)
    )
    block = min(256, triton.next_power_of_2(H))
    with torch.cuda.device_of(dense):
        _sum_rows[(rows, triton.cdiv(H, block))](
            start_R,
            column_N,
            value_N,
            dense.contiguous(),
            product_RH,
            H,
            ITEMS=items,
            BLOCK=block,
            num_warps=4 if items >= 32 else 2,
        )
    return product_RH


@triton.jit
def _larger(a, b):  # type: ignore[no-untyped-def]
    """What is not a number wins."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


# A kernel for any number and length of texts: neither changes how memory is read.
@triton.jit(do_not_specialize=["B", "L"])
def _pool(  # type: ignore[no-untyped-def]
    hidden,
    weight,
    bias,
    mask,
    best,
    position,
    B,
    L,
    V,
    H,
    HAS_BIAS: tl.constexpr,
    TRACK: tl.constexpr,
    WHOLE_STEPS: tl.constexpr,
    PRECISION: tl.constexpr,
    TEXTS: tl.constexpr,
    POSITIONS: tl.constexpr,
    ENTRIES: tl.constexpr,
    STEP: tl.constexpr,
):
    # Programs that run at the same time share their tile of the weight.
    groups = tl.cdiv(B, TEXTS)
    group, tile = tl.program_id(0) % groups, tl.program_id(0) // groups
    # 32 bits count what lies within a tile; where it starts needs 64. Beyond the last entry, text
    # or position the last one is computed again, and neither kept nor stored.
    first_text, first_entry = (group * TEXTS).to(tl.int64), (tile * ENTRIES).to(tl.int64)
    entry = tl.minimum(tl.arange(0, ENTRIES), V - 1 - tile * ENTRIES)
    column = tl.arange(0, TEXTS * POSITIONS)
    text_start = tl.minimum(column // POSITIONS, B - 1 - group * TEXTS) * L
    step = tl.arange(0, STEP)
    weight_tile = weight + first_entry * H + entry[:, None] * H + step[None, :]
    hidden += first_text * L * H
    mask += first_text * L
    largest = tl.full([ENTRIES, TEXTS], float("-inf"), tl.float32)
    winner = tl.zeros([ENTRIES, TEXTS], tl.int32)
    for start in range(0, L, POSITIONS):
        place = start + column % POSITIONS
        real = tl.load(mask + text_start + place, mask=place < L, other=0) != 0
        if tl.max(real.to(tl.int32), 0) > 0:
            state = text_start + tl.minimum(place, L - 1)
            hidden_tile = hidden + state[None, :] * H + step[:, None]
            logits = tl.zeros([ENTRIES, TEXTS * POSITIONS], tl.float32)
            for at in range(0, H, STEP):
                if WHOLE_STEPS:
                    w = tl.load(weight_tile + at)
                    h = tl.load(hidden_tile + at)
                else:
                    inside = at + step < H
                    w = tl.load(weight_tile + at, mask=inside[None, :], other=0.0)
                    h = tl.load(hidden_tile + at, mask=inside[:, None], other=0.0)
                logits = tl.dot(w, h, logits, input_precision=PRECISION)
            if HAS_BIAS:
                logits += tl.load(bias + first_entry + entry).to(tl.float32)[:, None]
            logits = logits.to(best.dtype.element_ty).to(tl.float32)
            logits = tl.where(real[None, :], logits, float("-inf"))
            logits = tl.reshape(logits, [ENTRIES, TEXTS, POSITIONS])
            block = tl.reduce(logits, 2, _larger)
            if TRACK:
                order = tl.arange(0, POSITIONS)[None, None, :]
                first = tl.min(tl.where(logits == block[:, :, None], order, POSITIONS), 2)
                winner = tl.where(block > largest, start + first, winner)
            largest = _larger(largest, block)
    text, entry = tl.arange(0, TEXTS)[None, :], tl.arange(0, ENTRIES)[:, None]
    inside = (group * TEXTS + text < B) & (tile * ENTRIES + entry < V)
    out = (first_text + text) * V + first_entry + entry
    tl.store(best + out, largest.to(best.dtype.element_ty), mask=inside)
    if TRACK:
        tl.store(position + out, winner, mask=inside)


@triton.jit
def _sum_rows(  # type: ignore[no-untyped-def]
    start, column, value, dense, product, H, ITEMS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    item = tl.arange(0, ITEMS)
    total = tl.zeros([BLOCK], tl.float32)
    stop = tl.load(start + row + 1)
    for at in range(tl.load(start + row), stop, ITEMS):
        there = at + item < stop
        c = tl.load(column + at + item, mask=there, other=0)
        v = tl.load(value + at + item, mask=there, other=0.0)
        inside = there[:, None] & (k[None, :] < H)
        d = tl.load(dense + c[:, None] * H + k[None, :], mask=inside, other=0.0)
        total += tl.sum(v[:, None] * d.to(tl.float32), 0)
    tl.store(product + row * H + k, total.to(product.dtype.element_ty), mask=k < H)
