"""Collapse and death told from health, on vectors made by hand."""

import numpy as np
import pytest
import scipy.sparse
import torch

from lexigraft.encoders.health import health


def test_by_hand() -> None:
    """Cosines of the three pairs: 0 (orthogonal), 1/sqrt 2, 1/sqrt 2; 4 of 12 entries active."""
    rep = torch.tensor([[2.0, 0, 0, 0], [0, 3.0, 0, 0], [1.0, 1.0, 0, 0]])
    found = health(rep)
    assert found["active_share"] == pytest.approx(4 / 12)
    assert found["mean_cosine"] == pytest.approx((0 + 2 / np.sqrt(2)) / 3)
    assert found["verdict"] == "healthy"
    assert health(scipy.sparse.csr_array(rep.numpy())) == found
    assert health(rep.numpy()) == found


def test_everything_active_is_a_dense_collapse() -> None:
    rep = np.random.default_rng(0).random((8, 50)) + 0.01
    assert health(rep)["verdict"] == "dense collapse"


def test_the_same_few_terms_for_every_text_is_a_dense_collapse() -> None:
    rep = np.zeros((8, 50))
    rep[:, :5] = 1 + 0.01 * np.random.default_rng(0).random((8, 5))
    found = health(rep)
    assert found["active_share"] == pytest.approx(0.1)
    assert found["verdict"] == "dense collapse"


@pytest.mark.parametrize(
    ("cosine", "sparse", "verdict"),
    [
        (0.84, True, "healthy"),
        (0.86, True, "dense collapse"),
        (0.94, False, "healthy"),
        (0.96, False, "dense collapse"),
    ],
)
def test_how_alike_two_texts_may_be(cosine: float, sparse: bool, verdict: str) -> None:
    """Two unit vectors with the cosine by construction; at most 2 of 20 entries active."""
    rep = np.zeros((2, 20))
    rep[0, 0] = 1
    rep[1, :2] = cosine, np.sqrt(1 - cosine**2)
    found = health(rep, sparse=sparse)
    assert found["mean_cosine"] == pytest.approx(cosine)
    assert found["verdict"] == verdict


def test_nothing_active_is_dead() -> None:
    found = health(np.zeros((5, 20)))
    assert found == {"active_share": 0.0, "mean_cosine": None, "verdict": "dead outputs"}


def test_half_of_the_texts_without_a_term_is_dead() -> None:
    rep = np.zeros((4, 20))
    rep[0, :10] = rep[1, 10:] = 1.0
    assert health(rep)["verdict"] == "dead outputs"


def test_a_dense_head_is_judged_by_cosine_alone() -> None:
    rng = np.random.default_rng(0)
    assert health(rng.normal(size=(50, 16)), sparse=False)["verdict"] == "healthy"
    narrow = rng.normal(size=(50, 16)) * 0.01 + 1
    found = health(narrow, sparse=False)
    assert found["active_share"] is None
    assert found["verdict"] == "dense collapse"


def test_a_single_text_has_no_pair() -> None:
    assert health(np.eye(1, 4))["mean_cosine"] is None


@pytest.mark.parametrize("rep", [np.zeros((0, 3)), np.array([[np.nan, 1.0]])])
def test_refusals(rep: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"no representation|not finite"):
        health(rep)
