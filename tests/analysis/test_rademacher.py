"""Section 3 of Vocabulary Transfer on features that are small enough to work out by hand."""

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from lexigraft.analysis.theory import rademacher
from lexigraft.analysis.theory.bound import generalisation_bound
from lexigraft.analysis.theory.coarse_graining import coarse_graining, regrouped, row_of
from lexigraft.analysis.theory.compatibility import key_errors, least_error
from lexigraft.analysis.theory.rademacher import rademacher_complexity


def sparse(rows):
    return scipy.sparse.csr_array(np.array(rows, dtype=np.float64))


def merged(features, canonical, weights=None):
    return (features @ coarse_graining(canonical, weights).T).tocsr()


def test_rows_of_the_graining_are_means_of_what_is_merged() -> None:
    # Ids 0 and 2 fold onto 2, 1 and 3 stay; V' is numbered in the order of the canonical ids.
    graining = coarse_graining([2, 1, 2, 3], [3, 7, 1, 1])
    assert graining.toarray().tolist() == [[0, 1, 0, 0], [0.75, 0, 0.25, 0], [0, 0, 0, 1]]
    assert coarse_graining([2, 1, 2, 3]).toarray()[1].tolist() == [0.5, 0, 0.5, 0]
    assert row_of([2, 1, 2, 3]).tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize(("canonical", "weights"), [([1, 2, 2], None), ([0, 0], [1.0, 0.0])])
def test_what_is_no_graining_is_refused(canonical, weights) -> None:
    with pytest.raises(ValueError, match="must be"):
        coarse_graining(canonical, weights)


def test_groups_dealt_at_random_have_the_same_sizes() -> None:
    canonical = np.array([0, 0, 0, 3, 4, 4, 6, 6, 8])
    dealt = regrouped(canonical, np.random.default_rng(0))
    assert sorted(np.unique(dealt, return_counts=True)[1]) == [1, 1, 2, 2, 3]
    assert (dealt[3], dealt[8]) == (3, 8)
    assert dealt.tolist() != canonical.tolist()
    assert np.array_equal(dealt[dealt], dealt)


def test_complexity_of_two_pairs() -> None:
    # Like signs: |3 + 1| / 2 and |0 + 2| / 2, so 2; unlike ones: |3 - 1| / 2 and |0 - 2| / 2, so 1.
    found = rademacher_complexity([sparse([[3, 0], [1, 2]])], draws=4000, seed=0)
    assert set(found.norms) == {1.0, 2.0}
    # Deviation 1/2 over the root of 4000 draws.
    assert found.error == pytest.approx(0.5 / math.sqrt(4000), rel=0.01)
    assert abs(found.mean - 1.5) < 4 * found.error


def test_one_pair_has_no_chance_in_it() -> None:
    found = rademacher_complexity([sparse([[0.5, 2.5, 0]])], draws=10, seed=0)
    assert (found.mean, found.error) == (2.5, 0.0)
    nothing = rademacher_complexity([sparse([[0.0, 0.0]])], draws=10, seed=0)
    assert nothing.mean == 0.0


def test_a_class_takes_the_largest_of_its_members_under_each_draw() -> None:
    # Like signs: 1 and 0; unlike ones: 0 and 1. Each member alone has 1/2.
    members = [sparse([[1], [1]]), sparse([[1], [-1]])]
    assert set(rademacher_complexity(members, draws=50, seed=1).norms) == {1.0}
    assert set(rademacher_complexity(members[:1], draws=50, seed=1).norms) == {0.0, 1.0}


def test_signs_do_not_depend_on_how_many_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    features = scipy.sparse.random_array((30, 40), density=0.2, rng=np.random.default_rng(1))
    whole = rademacher_complexity([features.tocsr()], draws=50, seed=3).norms
    monkeypatch.setattr(rademacher, "ENTRIES_AT_ONCE", 7 * 40)
    assert np.allclose(rademacher_complexity([features.tocsr()], draws=50, seed=3).norms, whole)


@pytest.mark.parametrize("draws", [0, 1])
def test_too_few_draws_for_a_standard_error(draws: int) -> None:
    with pytest.raises(ValueError, match="draws"):
        rademacher_complexity([sparse([[1.0]])], draws=draws, seed=0)


KEYS = 6
FEATURES = arrays(np.float64, (5, KEYS), elements=st.floats(0, 10))
GROUPS = st.lists(st.integers(0, KEYS - 1), min_size=KEYS, max_size=KEYS)
WEIGHTS = arrays(np.float64, KEYS, elements=st.floats(0.01, 10))


def map_of(groups):
    """The first member of each group is its canonical one."""
    return [groups.index(group) for group in groups]


@settings(max_examples=150, deadline=None)
@given(st.lists(FEATURES, min_size=1, max_size=3), GROUPS, WEIGHTS, st.integers(0, 2**32 - 1))
def test_lemma_3_1(features, groups, weights, seed: int) -> None:
    """Row-stochastic aggregation does not increase the complexity of any class, draw by draw."""
    before = [sparse(each) for each in features]
    after = [merged(each, map_of(groups), weights) for each in before]
    fine, coarse = (rademacher_complexity(each, draws=20, seed=seed) for each in (before, after))
    assert np.all(coarse.norms <= fine.norms + 1e-9)
    assert coarse.mean <= fine.mean + 1e-9


@settings(max_examples=50, deadline=None)
@given(FEATURES, FEATURES, st.integers(0, 2**32 - 1))
def test_differences_at_most_double_the_complexity(relevant, other, seed: int) -> None:
    """The corollary of theorem 3.2, over the class that holds both sides."""
    sides = [sparse(relevant), sparse(other)]
    pointwise = rademacher_complexity(sides, draws=20, seed=seed)
    pairwise = rademacher_complexity([sides[0] - sides[1]], draws=20, seed=seed)
    assert np.all(pairwise.norms <= 2 * pointwise.norms + 1e-9)


def test_error_of_keys_that_are_merged() -> None:
    features = sparse([[2, 0, 1], [0, 0.5, 1]])
    after = merged(features, [0, 0, 2])
    # u' of the first two keys is 1 and 1/4. Key 0: c = 1 leaves |2 - 1| = 1 and |0 - 1/4|.
    # Key 1: |0 - c| and |1/2 - c/4| are equal at c = 0.4. Key 2 is alone.
    assert key_errors(features, after, row_of([0, 0, 2])) == pytest.approx([1.0, 0.4, 0.0])
    assert key_errors(features, features, row_of([0, 1, 2])).tolist() == [0, 0, 0]


def test_another_key_can_stand_in_for_a_merged_one() -> None:
    # Keys 0 and 1 are merged; key 2 is active where key 0 is, and as high.
    features = sparse([[2, 0, 2], [0, 3, 0]])
    after = merged(features, [0, 0, 2])
    assert key_errors(features, after, row_of([0, 0, 2]))[0] == pytest.approx(1.2)
    assert least_error(features, after, 0) == pytest.approx(0.0, abs=1e-9)
    # Key 1 has no such company: all of the budget on u' = (1, 1.5) leaves 1 and 1.5, and |0 - c|
    # meets |3 - 1.5 c| at c = 1.2, beyond the budget.
    assert least_error(features, after, 1) == pytest.approx(1.5)


@pytest.mark.parametrize("seed", range(5))
def test_columns_are_generated_until_the_program_is_solved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = scipy.sparse.random_array((20, 300), density=0.5, rng=rng, format="csr")
    canonical = np.arange(300) // 2 * 2
    after = merged(features, canonical)
    whole, own, ones = after.toarray(), features.toarray()[:, 5], np.ones((20, 1))
    limits = np.vstack([np.hstack([whole, -ones]), np.hstack([-whole, -ones])])
    limits = np.vstack([limits, np.append(np.ones(150), 0)])
    aims = np.concatenate([own, -own, [1]])
    wanted = linprog(np.append(np.zeros(150), 1), A_ub=limits, b_ub=aims).fun
    assert least_error(features, after, 5) == pytest.approx(wanted, abs=2e-4)
    assert key_errors(features, after, row_of(canonical))[5] >= wanted - 1e-9


def test_the_bound_term_by_term() -> None:
    found = generalisation_bound(
        complexity=0.05,
        compatibility_error=0.2,
        pairs=400,
        budget=2.0,
        lipschitz=0.5,
        failure_probability=math.exp(-4),
    )
    # 0.5 x 0.2; 4 x 2 x 0.5 x 0.05; 2 x 3 x sqrt(4 / 400).
    assert (found.compatibility, found.estimation) == pytest.approx((0.1, 0.2))
    assert found.confidence == pytest.approx(0.6)
    assert found.total == pytest.approx(0.9)
