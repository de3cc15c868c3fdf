import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.columns import parse_column


def test_effectiveness_is_printed_in_hundredths_with_one_decimal():
    column = parse_column("zero_shot.ndcg@10")
    assert (column.role, column.metric, column.heading) == ("zero_shot", "ndcg@10", "nDCG@10")
    assert (column.factor, column.decimals, column.ranked) == (100, 1, True)
    assert parse_column("in_domain.recall@1000").heading == "R@1000"


def test_efficiency_is_printed_as_it_is_and_never_best():
    column = parse_column("in_domain.flops")
    assert (column.factor, column.decimals, column.ranked) == (1, 2, False)


def test_what_an_engine_finds_is_in_hundredths_and_never_best():
    for key in ("zero_shot.engine_recall", "zero_shot.engine_recall@10"):
        column = parse_column(key)
        assert (column.factor, column.decimals, column.ranked) == (100, 1, False)


@pytest.mark.parametrize(
    ("key", "named"),
    [("zeroshot.ndcg@10", "zero_shot"), ("dl19.ncdg@10", "ndcg@k"), ("ndcg@10", "in_domain")],
)
def test_unknown_names_are_refused_with_what_is_allowed(key: str, named: str):
    with pytest.raises(LexigraftError, match=named):
        parse_column(key)


def test_measures_of_the_theory_are_printed_as_they_are_and_are_no_others():
    column = parse_column("theory.complexity")
    assert (column.role_heading, column.heading) == ("Section 3", "Complexity")
    assert (column.factor, column.decimals, column.ranked) == (1, 4, False)
    with pytest.raises(LexigraftError, match="measure 'ndcg@10'; allowed: keys, complexity"):
        parse_column("theory.ndcg@10")
    with pytest.raises(LexigraftError, match="measure 'complexity'"):
        parse_column("in_domain.complexity")
