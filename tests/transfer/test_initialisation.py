"""Each strategy on matrices small enough to work out, and what all of them promise."""

import math

import pytest
import torch

from lexigraft.errors import LexigraftError
from lexigraft.transfer import initialise_embeddings
from lexigraft.transfer.initialisation import STRATEGIES, initialise, semantic
from lexigraft.vocabulary import Overlap, overlap

UNUSED = math.nan
SOURCE = torch.tensor(
    [[1.0, 0.0], [0.0, 2.0], [3.0, 3.0], [5.0, -5.0], [UNUSED, UNUSED], [1e30, 1e30]]
)
"""Rows 4 and 5 belong to no token."""
SHARED = Overlap(
    source_ids=torch.tensor([0, 1]),
    target_ids=torch.tensor([1, 3]),
    new_ids=torch.tensor([0, 2, 4]),
    coverage=0.4,
)
TARGET = torch.tensor([[3.0, 4.0], [2.0, 0.0], [1.0, 0.0], [0.0, 5.0], [0.0, 0.0]])
PIECES = {0: [2, 3], 2: [0], 4: []}


def make(strategy: str, **options: object) -> torch.Tensor:
    given = {"target_embeddings": TARGET, "source_pieces": PIECES, **options}
    generator = torch.Generator().manual_seed(3)
    return initialise_embeddings(strategy, SOURCE, SHARED, generator=generator, **given)


def test_semantic_by_hand() -> None:
    """Token 0 has cosines (0.6, 0.8) to the anchors, sparsemax (0.4, 0.6) and so the row
    0.4 (1, 0) + 0.6 (0, 2). Token 2 has cosines (1, 0) and sparsemax (1, 0). Token 4 has no
    direction: the anchors' centroid."""
    found = make("semantic")
    torch.testing.assert_close(
        found, torch.tensor([[0.4, 1.2], [1, 0], [1, 0], [0, 2], [0.5, 1.0]])
    )
    done = initialise("semantic", SOURCE, SHARED, target_embeddings=TARGET)
    assert done.fallback_ids.tolist() == [4]
    assert done.neighbours is not None
    assert done.neighbours.support.tolist() == [2, 1, 0]
    assert done.neighbours.source_ids[0].tolist() == [1, 0]
    torch.testing.assert_close(done.neighbours.weights[0], torch.tensor([0.6, 0.4]))


def test_subtoken_by_hand() -> None:
    expected = torch.tensor([[4.0, -1.0], [1, 0], [1, 0], [0, 2], [0.5, 1.0]])
    torch.testing.assert_close(make("subtoken"), expected)
    done = initialise("subtoken", SOURCE, SHARED, source_pieces=PIECES)
    assert done.fallback_ids.tolist() == [4]
    nothing = initialise("subtoken", SOURCE, SHARED, source_pieces={})
    assert nothing.fallback_ids.tolist() == [0, 2, 4]


def test_mean_by_hand() -> None:
    expected = torch.tensor([[0.5, 1], [1, 0], [0.5, 1], [0, 2], [0.5, 1]])
    torch.testing.assert_close(make("mean"), expected)


def test_random_rows_have_the_mean_and_deviation_of_the_anchors() -> None:
    """Anchors with mean (0.5, 1) and deviation (0.5, 1)."""
    many = Overlap(
        SHARED.source_ids, torch.tensor([0, 1]), torch.arange(2, 20_002), coverage=0.0001
    )
    generator = torch.Generator().manual_seed(3)
    found = initialise_embeddings("random_new", SOURCE, many, generator=generator)
    assert found[:2].tolist() == [[1, 0], [0, 2]]
    torch.testing.assert_close(found[2:].mean(0), torch.tensor([0.5, 1]), atol=0.03, rtol=0)
    torch.testing.assert_close(found[2:].std(0), torch.tensor([0.5, 1]), atol=0.03, rtol=0)
    everything = initialise_embeddings("random_all", SOURCE, many, generator=generator)
    assert not set(everything[:2].flatten().tolist()) & {1.0, 0.0, 2.0}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_what_every_strategy_promises(strategy: str, dtype: torch.dtype) -> None:
    source = SOURCE.to(dtype)
    found = initialise_embeddings(
        strategy, source, SHARED, target_embeddings=TARGET, source_pieces=PIECES
    )
    assert found.dtype == dtype
    assert found.shape == (5, 2)
    assert torch.isfinite(found).all()
    assert found.abs().max() < 100
    kept = torch.equal(found[SHARED.target_ids], source[SHARED.source_ids])
    assert kept == (strategy != "random_all")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_new_token_is_no_trouble(strategy: str) -> None:
    whole = Overlap(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.tensor([]).long(), 1.0)
    found = initialise_embeddings(
        strategy, SOURCE, whole, target_embeddings=TARGET, source_pieces={}
    )
    assert found.shape == (2, 2)


def test_blocks_do_not_change_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    source, target = (
        torch.randn(40, 6, generator=generator),
        torch.randn(90, 5, generator=generator),
    )
    shared = Overlap(torch.arange(40), torch.arange(40), torch.arange(40, 90), 40 / 90)
    whole = initialise_embeddings("semantic", source, shared, target_embeddings=target)
    monkeypatch.setattr(semantic, "SCORES_IN_A_BLOCK", 130)
    blocked = initialise_embeddings("semantic", source, shared, target_embeddings=target)
    torch.testing.assert_close(blocked, whole)
    for share in (0, 2):  # Every block as a dense product, and none.
        monkeypatch.setattr(semantic, "DENSE_SHARE", share)
        again = initialise_embeddings("semantic", source, shared, target_embeddings=target)
        torch.testing.assert_close(again, whole)


def test_a_seed_gives_the_same_rows() -> None:
    assert torch.equal(make("random_new"), make("random_new"))


def test_sub_tokens_come_from_the_tokenizers(byte_bpe, uncased) -> None:
    shared = overlap(byte_bpe, uncased)
    source = torch.randn(len(byte_bpe), 4, generator=torch.Generator().manual_seed(0))
    found = initialise_embeddings(
        "subtoken", source, shared, source_tokenizer=byte_bpe, target_tokenizer=uncased
    )
    new = {uncased.convert_ids_to_tokens(i): i for i in shared.new_ids.tolist()}
    initial = next(token for token in new if token.isalpha() and len(token) > 2)
    inside = next(token for token in new if token.startswith("##") and token[2:].isalpha())
    for token, text in ((initial, " " + initial), (inside, inside[2:])):
        ids = byte_bpe(text, add_special_tokens=False)["input_ids"]
        torch.testing.assert_close(found[new[token]], source[ids].mean(0))


@pytest.mark.parametrize(
    ("strategy", "options", "message"),
    [
        ("semantics", {}, "'semantics'; it is one of .*semantic, subtoken"),
        ("semantic", {"target_embeddings": None}, "needs the target's embeddings"),
        ("semantic", {"target_embeddings": TARGET[:4]}, "have 4 rows, .* ids up to 4"),
        ("semantic", {"target_embeddings": TARGET * math.nan}, "not finite"),
        ("subtoken", {"source_pieces": None}, "needs source_tokenizer"),
        ("subtoken", {"source_pieces": {0: [4]}}, "not finite"),
        ("subtoken", {"source_pieces": {0: [9]}}, "6 rows, .* ids up to 9"),
    ],
)
def test_what_is_refused(strategy: str, options: dict, message: str) -> None:
    with pytest.raises(LexigraftError, match=message):
        make(strategy, **options)


def test_vocabularies_that_share_nothing_are_refused() -> None:
    none = torch.tensor([]).long()
    with pytest.raises(LexigraftError, match="share no token"):
        initialise_embeddings("mean", SOURCE, Overlap(none, none, torch.tensor([0]), 0.0))
