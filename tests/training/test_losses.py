import pytest
import torch

from lexigraft.training.losses import info_nce, kl_distillation, margin_mse


def test_margin_mse_by_hand() -> None:
    # Margins of the student 2, 3 | 0, 1 and of the teacher 3, 1 | 1, 1: errors 1, 4, 1, 0.
    student = torch.tensor([[3.0, 1.0, 0.0], [2.0, 2.0, 1.0]])
    teacher = torch.tensor([[5.0, 2.0, 4.0], [1.0, 0.0, 0.0]])
    assert margin_mse(student, teacher).item() == pytest.approx(1.5)


def test_margin_mse_does_not_care_about_the_level_of_scores() -> None:
    student, teacher = torch.tensor([[3.0, 1.0]]), torch.tensor([[103.0, 101.0]])
    assert margin_mse(student, teacher).item() == 0.0


@pytest.mark.parametrize(
    ("student", "teacher"), [((2, 3), (2,)), ((2, 3), (2, 1)), ((2, 1), (2, 1)), ((3,), (3,))]
)
@pytest.mark.parametrize("loss", [margin_mse, kl_distillation])
def test_shapes_that_would_broadcast_are_refused(loss, student, teacher) -> None:
    with pytest.raises(ValueError, match="two \\(B, N\\) tensors"):
        loss(torch.zeros(student), torch.zeros(teacher))


QUERIES = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
DOCUMENTS = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])


def test_info_nce_by_hand() -> None:
    # Scores 1 0 1 | 0 2 1: (ln(2e + 1) - 1) = 0.86200 and (ln(1 + e + e^2) - 2) = 0.40761.
    loss = info_nce(QUERIES, DOCUMENTS, torch.tensor([0, 1]))
    assert loss.item() == pytest.approx(0.634802, abs=2e-6)


def test_info_nce_leaves_a_further_positive_out() -> None:
    # Without document 2 the first query's loss is ln(e + 1) - 1 = 0.31326.
    excluded = torch.tensor([[False, False, True], [False, False, False]])
    loss = info_nce(QUERIES, DOCUMENTS, torch.tensor([0, 1]), excluded_BM=excluded)
    assert loss.item() == pytest.approx(0.360434, abs=2e-6)


def test_info_nce_scale_multiplies_scores() -> None:
    # Query 0 at scale ln 2: weights 2 1 2, so -ln(2/5); query 1: weights 1 4 2, so -ln(4/7).
    scale = 0.6931471805599453
    loss = info_nce(QUERIES, DOCUMENTS, torch.tensor([0, 1]), scale=scale)
    assert loss.item() == pytest.approx((0.916291 + 0.559616) / 2, abs=2e-6)


def test_kl_by_hand() -> None:
    # Teacher (3/4, 1/4), student (1/2, 1/2): 3/4 ln 3/2 + 1/4 ln 1/2.
    teacher = torch.tensor([[1.0986123, 0.0], [0.0, 0.0]])
    assert kl_distillation(torch.zeros(2, 2), teacher).item() == pytest.approx(
        0.130812 / 2, abs=1e-6
    )


def test_kl_scale_is_the_inverse_temperature_of_both() -> None:
    # At scale 2 the teacher is (9/10, 1/10): 0.9 ln 1.8 + 0.1 ln 0.2.
    teacher = torch.tensor([[1.0986123, 0.0]])
    loss = kl_distillation(torch.zeros(1, 2), teacher, scale=2.0)
    assert loss.item() == pytest.approx(0.368064, abs=1e-6)
