from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from lexigraft.specs.options import FinetuneOptions
from lexigraft.training.gradient_cache import Tokens, backward_step, split_tokens
from lexigraft.training.objective import step_loss

OPTIONS = FinetuneOptions(objective="margin_mse+info_nce", flops_ramp_steps=0)
QUERIES, PER_QUERY, WORDS, VOCABULARY = 8, 3, 11, 13


class Encoder(nn.Module):
    """Small, but with all that matters: padding, a nonlinearity, dropout, a ReLU at the end."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.embedding = nn.Parameter(torch.randn(WORDS, 6, generator=generator))
        self.decoder = nn.Parameter(torch.randn(6, VOCABULARY, generator=generator))
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tensor:
        hidden_BLH = self.dropout(torch.tanh(self.embedding[tokens["input_ids"]]))
        activation_BLV = torch.log1p(torch.relu(hidden_BLH @ self.decoder))
        return (activation_BLV * tokens["attention_mask"][..., None]).amax(1)


def texts(count: int, seed: int) -> Tokens:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 8, (count, 1), generator=generator)
    mask = (torch.arange(8) < lengths).long()
    ids = torch.randint(1, WORDS, (count, 8), generator=generator) * mask
    return {"input_ids": ids, "attention_mask": mask}


def loss_of(representations: list[Tensor]) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    teacher = torch.randn(QUERIES, PER_QUERY, generator=generator)
    target = torch.arange(QUERIES) * PER_QUERY
    return step_loss(OPTIONS, 1, *representations, target_B=target, teacher_BP=teacher).total


def run(micro: int, *, dropout: float = 0.0, rank: int = 0, processes: int = 1) -> list[Tensor]:
    """Loss and gradients of one step."""
    encoder = Encoder(dropout)
    groups = []
    for tokens in (texts(QUERIES, 1), texts(QUERIES * PER_QUERY, 2)):
        share = len(tokens["input_ids"]) // processes
        own = slice(rank * share, (rank + 1) * share)
        groups.append({name: value[own] for name, value in tokens.items()})
    torch.manual_seed(7)
    loss = backward_step(encoder, groups, loss_of, encoder.parameters(), micro_batch_size=micro)
    return [loss, *(parameter.grad for parameter in encoder.parameters())]


def plain(size: int = 0, dropout: float = 0.0) -> list[Tensor]:
    """The same by autograd alone, on one graph, `size` texts a forward pass."""
    encoder = Encoder(dropout)
    torch.manual_seed(7)
    loss = loss_of(
        [
            torch.cat([encoder(part) for part in split_tokens(tokens, size)])
            for tokens in (texts(QUERIES, 1), texts(QUERIES * PER_QUERY, 2))
        ]
    )
    loss.backward()
    return [loss.detach(), *(parameter.grad for parameter in encoder.parameters())]


@pytest.mark.parametrize("micro", [0, 1, 3, 5, 100])
def test_micro_batches_give_the_gradient_of_the_whole_step(micro) -> None:
    torch.testing.assert_close(run(micro), plain(), rtol=1e-5, atol=1e-6)


def test_dropout_draws_the_same_masks_in_both_passes() -> None:
    torch.testing.assert_close(run(4, dropout=0.5), plain(4, 0.5), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(run(4, dropout=0.5)[0], run(4)[0])


def test_random_state_goes_on_as_after_one_pass() -> None:
    run(4, dropout=0.5)
    after_cache = torch.rand(3)
    encoder = Encoder(0.5)
    torch.manual_seed(7)
    for group in (texts(QUERIES, 1), texts(QUERIES * PER_QUERY, 2)):
        for part in split_tokens(group, 4):
            encoder(part)
    assert torch.equal(after_cache, torch.rand(3))


def test_parts_are_cut_to_their_longest_text() -> None:
    mask = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    parts = list(split_tokens({"input_ids": mask * 5, "attention_mask": mask}, 2))
    assert [tuple(part["input_ids"].shape) for part in parts] == [(2, 2), (1, 3)]


MICRO_BATCHES = (0, 3)


def worker(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    found = [run(micro, rank=rank, processes=2) for micro in MICRO_BATCHES]
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_give_the_gradient_of_the_whole_step(tmp_path: Path) -> None:
    torch.multiprocessing.spawn(worker, (str(tmp_path),), nprocs=2)
    expected = plain()
    for rank in range(2):
        for found in torch.load(tmp_path / f"{rank}.pt"):
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
