import pytest
import torch
from sentence_transformers.sparse_encoder.losses import FlopsLoss

from lexigraft.errors import LexigraftError
from lexigraft.training.regularisers import document_flops, flops, l0_flops, l1

# Positives (2, 0) and (4, 2) with means 3, 1; negatives (0, 2) and (2, 0) with means 1, 1.
DOCUMENTS = torch.tensor([[[2.0, 0.0], [0.0, 2.0]], [[4.0, 2.0], [2.0, 0.0]]])


def test_flops_by_hand() -> None:
    assert flops(torch.tensor([[1.0, 0.0, 3.0], [3.0, 0.0, 1.0]])).item() == 8.0


@pytest.mark.parametrize(
    ("convention", "expected"),
    [("mean_positive_negative", 6.0), ("per_position_sum", 12.0), ("all_documents", 5.0)],
)
def test_each_convention_by_hand(convention, expected) -> None:
    assert document_flops(DOCUMENTS, convention).item() == expected


@pytest.mark.parametrize(
    ("convention", "expected"),
    # Of (2, 0), (0, 2), (4, 2), (2, 0) one alone has more than one term: (4, 2), mean 2, 1 of its
    # position and 1, 0.5 of all four.
    [("mean_positive_negative", 2.5), ("per_position_sum", 5.0), ("all_documents", 1.25)],
)
def test_each_convention_l0_masked_by_hand(convention, expected) -> None:
    assert document_flops(DOCUMENTS, convention, 1).item() == expected


def test_an_unknown_convention_is_refused() -> None:
    with pytest.raises(LexigraftError, match="found 'sum', allowed are mean_positive_negative"):
        document_flops(DOCUMENTS, "sum")  # type: ignore[arg-type]


@pytest.mark.parametrize(("threshold", "expected"), [(0, 9.5), (1, 0.75), (3, 0.0)])
def test_l0_flops_by_hand(threshold, expected) -> None:
    documents = torch.tensor([[1.0, 1.0, 1.0], [5.0, 0.0, 0.0]])
    assert l0_flops(documents, threshold).item() == expected


def test_flops_as_in_sentence_transformers() -> None:
    documents = torch.rand(5, 7, generator=torch.Generator().manual_seed(0))
    documents[documents < 0.5] = 0
    theirs = FlopsLoss(None)
    torch.testing.assert_close(flops(documents), theirs.compute_loss_from_embeddings(documents))
    theirs = FlopsLoss(None, threshold=3)
    torch.testing.assert_close(
        l0_flops(documents, 3), theirs.compute_loss_from_embeddings(documents)
    )


def test_l1_by_hand() -> None:
    assert l1(torch.tensor([[1.0, 0.0, 3.0], [1.0, 1.0, 0.0]])).item() == 3.0
