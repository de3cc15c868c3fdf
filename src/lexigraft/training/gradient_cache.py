"""The gradient of one large batch, in the memory of a small one, over any number of processes.

FLOPS and in-batch negatives couple all texts of a step, so averaging the gradients of parts (plain
accumulation, plain data-parallel training) minimises something else. Here the texts are encoded
part by part without a graph, the loss is taken on the representations of the whole step, gathered
from every process, and each part is encoded again to carry its share of the gradient down.

Source: Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup".

Shapes: N texts of a group on this process, L tokens, D dimensions of a representation.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress

import torch
import torch.distributed as dist
from torch import Tensor

Tokens = dict[str, Tensor]
"""`input_ids` and `attention_mask`, both (N, L)."""
Encode = Callable[[Tokens], Tensor]
"""Tokens of n texts to representations (n, D)."""


def backward_step(
    encode: Encode | Sequence[Encode],
    groups: Sequence[Tokens],
    loss_of: Callable[[list[Tensor]], Tensor],
    parameters: Iterable[torch.nn.Parameter],
    *,
    micro_batch_size: int = 0,
) -> Tensor:
    """Add the gradient of a step's loss to the parameters, the same on every process.

    Every process holds equally many texts of each group; the representations of all processes are
    joined in the order of their ranks. Gradients are summed over processes, never averaged: each
    process takes the loss of the whole step and sends down only the part of its own texts. Random
    state is replayed in the second pass, so dropout draws the same masks in both.

    Args:
        encode: what encodes the texts: the same for all groups, or one for each. One that gives
            no graph (nothing of it is trained) gets no gradient.
        groups: tokens of the texts, e.g. all queries and all documents of this process.
        loss_of: representations of each group, over all processes, to the scalar loss. Called once.
        parameters: what `encode` depends on, in the same order on each process.
        micro_batch_size: texts in one pass of the encoder; 0 for a whole group.

    Returns:
        The loss, detached.
    """
    parts = [list(split_tokens(group, micro_batch_size)) for group in groups]
    encoders = [encode] * len(groups) if callable(encode) else encode
    if all(len(group) == 1 for group in parts):
        local = [own(group[0]) for own, group in zip(encoders, parts, strict=True)]
        whole = [_gathered_leaf(representation) for representation in local]
        loss = loss_of(whole)
        loss.backward()
        _send_down(local, [_own_rows(leaf, len(r)) for leaf, r in zip(whole, local, strict=True)])
    else:
        loss = _cached_backward(encoders, parts, loss_of)
    _sum_gradients(parameters)
    return loss.detach()


def _cached_backward(
    encoders: Sequence[Encode],
    parts: list[list[Tokens]],
    loss_of: Callable[[list[Tensor]], Tensor],
) -> Tensor:
    states, local = [], []
    with torch.no_grad():
        for encode, group in zip(encoders, parts, strict=True):
            representations = []
            for part in group:
                states.append(_random_state(part["input_ids"].device))
                representations.append(encode(part))
            local.append(torch.cat(representations))
    whole = [_gathered_leaf(representation) for representation in local]
    loss = loss_of(whole)
    loss.backward()
    replay = iter(states)
    for encode, group, leaf, representation in zip(encoders, parts, whole, local, strict=True):
        gradients = _own_rows(leaf, len(representation)).split([len(p["input_ids"]) for p in group])
        for part, gradient in zip(group, gradients, strict=True):
            with _replayed(next(replay), part["input_ids"].device):
                _send_down([encode(part)], [gradient])
    return loss


def _send_down(representations: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
    """Backward through all that have a graph, at once."""
    kept = [representation.requires_grad for representation in representations]
    if any(kept):
        torch.autograd.backward(
            list(compress(representations, kept)), list(compress(gradients, kept))
        )


def split_tokens(tokens: Tokens, size: int) -> Iterator[Tokens]:
    """Yield parts of at most `size` texts (0 for all), each cut to its own longest text.

    All in one part are as they came, so that no accelerator is asked for their lengths.
    """
    count = len(tokens["input_ids"])
    if not 0 < size < count:
        yield tokens
        return
    lengths = tokens["attention_mask"].sum(dim=1).tolist()
    for start in range(0, count, size):
        longest = max(lengths[start : start + size])
        yield {name: value[start : start + size, :longest] for name, value in tokens.items()}


def processes() -> tuple[int, int]:
    """Rank of this process and how many there are; (0, 1) outside torchrun."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def _gathered_leaf(local_ND: Tensor) -> Tensor:
    """The rows of all processes as a new leaf whose gradient can be read."""
    local_ND = local_ND.detach()
    _, count = processes()
    if count > 1:
        rows = [torch.empty_like(local_ND) for _ in range(count)]
        dist.all_gather(rows, local_ND.contiguous())
        local_ND = torch.cat(rows)
    return local_ND.requires_grad_()


def _own_rows(whole: Tensor, count: int) -> Tensor:
    rank, _ = processes()
    if whole.grad is None:
        # A group may be idle in the loss of a step (e.g. a regulariser of weight 0 alone).
        return torch.zeros_like(whole[:count])
    return whole.grad[rank * count : (rank + 1) * count]


def _sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    _, count = processes()
    gradients = [p.grad for p in parameters if p.grad is not None]
    if count == 1 or not gradients:
        return
    flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
    dist.all_reduce(flat)
    pieces = flat.split([gradient.numel() for gradient in gradients])
    for gradient, piece in zip(gradients, pieces, strict=True):
        gradient.copy_(piece.view_as(gradient))


def _random_state(device: torch.device) -> tuple[Tensor, Tensor | None]:
    on_gpu = device.type == "cuda"
    return torch.get_rng_state(), torch.cuda.get_rng_state(device) if on_gpu else None


@contextmanager
def _replayed(state: tuple[Tensor, Tensor | None], device: torch.device) -> Iterator[None]:
    on_cpu, on_gpu = state
    with torch.random.fork_rng([device] if on_gpu is not None else []):
        torch.set_rng_state(on_cpu)
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu, device)
        yield
