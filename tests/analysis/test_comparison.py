import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from per_query_values import row, write_values

from lexigraft.analysis.comparison import compare, pooled_t
from lexigraft.errors import LexigraftError
from lexigraft.report.results import Results
from lexigraft.specs.columns import parse_column

NDCG = parse_column("zero_shot.ndcg@10")


def test_a_sign_flip_test_counted_by_hand(tmp_path: Path):
    write_values(tmp_path, "x-1", {"a": [0.6, 0.5, 0.4, 0.3, 0.2, 0.0]})
    write_values(tmp_path, "y-1", {"a": [0.0, 0.0, 0.0, 0.0, 0.0, 0.1]})
    found = compare(row("x"), row("y"), NDCG, Results(tmp_path))
    # The differences sum to 1.9 of at most 2.1. Of the 64 assignments of signs, those that reach
    # 1.9 flip nothing or the 0.1 alone; as many lie on the other side.
    assert found.p_queries == pytest.approx(4 / 64)
    assert found.difference == pytest.approx(100 * 1.9 / 6)
    assert (found.p_seeds, found.p, found.sign) == (None, found.p_queries, 1)


def test_every_set_weighs_the_same(tmp_path: Path):
    sets = ("a", "b")
    write_values(tmp_path, "x-1", {"a": [0.8], "b": [0.1, 0.1, 0.1, 0.1]})
    write_values(tmp_path, "y-1", {"a": [0.2], "b": [0.2, 0.2, 0.2, 0.2]})
    found = compare(row("x", sets), row("y", sets), NDCG, Results(tmp_path))
    assert found.difference == pytest.approx((60 - 10) / 2)
    assert found.pairs.by_set() == pytest.approx({"a": 60.0, "b": -10.0})
    turned = found.turned()
    assert (turned.difference, turned.sign, turned.p) == (-found.difference, -1, found.p)


def test_seeds_are_averaged_for_each_query_and_tested_too(tmp_path: Path):
    for seed, value in enumerate((0.50, 0.52, 0.51), 1):
        write_values(tmp_path, f"x-{seed}", {"a": [value] * 8})
    write_values(tmp_path, "y-1", {"a": [0.40] * 8})
    found = compare(row("x", seeds=3), row("y"), NDCG, Results(tmp_path))
    assert found.difference == pytest.approx(11.0)
    assert found.p_queries == pytest.approx(2 / 256)
    # Pooled variance (0 + 1 + 1) / 2 = 1 on 2 degrees of freedom, error sqrt(1/3 + 1),
    # t = 11 / error, t^2 = 90.75, and for 2 degrees p = 1 - t / sqrt(t^2 + 2).
    assert found.p_seeds == pytest.approx(1 - np.sqrt(90.75 / 92.75))
    assert found.p == found.p_seeds
    assert (found.seeds_left, found.seeds_right) == (3, 1)


def test_several_seeds_on_both_sides_are_students_t():
    left, right = [50.0, 52.0, 51.5], [49.0, 50.5]
    found = pooled_t(left, right)
    assert found is not None
    assert found.p == pytest.approx(scipy.stats.ttest_ind(left, right).pvalue)
    assert pooled_t([1.0], [2.0]) is None
    assert pooled_t([1.0, 1.0], [2.0]) == (0.0, 0.0, 1)
    assert pooled_t([1.0, 1.0], [2.0], offset=-1.0) == (1.0, 0.0, 1)


def test_a_row_in_which_nothing_is_random_is_a_constant(tmp_path: Path):
    for seed, value in enumerate((0.01, 0.02, 0.03), 1):
        write_values(tmp_path, f"x-{seed}", {"a": [value] * 16})
    write_values(tmp_path, "bm25-1", {"a": [0.05] * 16})
    found = compare(row("x", seeds=3), row("bm25", random=False), NDCG, Results(tmp_path))
    # One sample: deviation 1, error 1 / sqrt(3), t = 3 sqrt(3), and for 2 degrees of freedom
    # p = 1 - t / sqrt(t^2 + 2).
    assert found.error_seeds == pytest.approx(1 / np.sqrt(3))
    assert found.df_seeds == 2
    assert found.p_seeds == pytest.approx(1 - np.sqrt(27 / 29))
    # Quantiles of Student's t for 2 degrees, from a table: 4.302653 at 0.975, 1.060660 at 0.8.
    assert found.detectable(0.05) == pytest.approx((4.302653 + 1.060660) / np.sqrt(3), rel=1e-5)
    turned = compare(row("bm25", random=False), row("x", seeds=3), NDCG, Results(tmp_path))
    assert (turned.p_seeds, turned.sign) == (found.p_seeds, 1)
    constants = compare(row("bm25", random=False), row("x"), NDCG, Results(tmp_path))
    assert constants.p_seeds is None


def test_the_deviation_is_pooled_over_rows_that_vary_alike(tmp_path: Path):
    drawn = {"x": (0.40, 0.44), "y": (0.30, 0.32), "z": (0.81, 0.83, 0.88), "one": (0.7,)}
    for name, values in drawn.items():
        for seed, value in enumerate(values, 1):
            write_values(tmp_path, f"{name}-{seed}", {"a": [value] * 8})
    rows = [row(name, seeds=len(values)) for name, values in drawn.items()]
    found = compare(rows[0], rows[1], NDCG, Results(tmp_path), alike=rows)
    # Squares about the means 42, 31, 84: 4 + 4, 1 + 1, 9 + 1 + 16; 36 in all on 1 + 1 + 2 degrees,
    # so the variance is 9 and the error of a difference of two means of two is 3.
    assert (found.error_seeds, found.df_seeds) == (pytest.approx(3.0), 4)
    assert found.p_seeds == pytest.approx(2 * scipy.stats.t.sf(11 / 3, 4))
    alone = compare(rows[0], rows[1], NDCG, Results(tmp_path))
    assert (alone.error_seeds, alone.df_seeds) == (pytest.approx(5**0.5), 2)


def test_an_offset_moves_what_is_tested_not_the_difference(tmp_path: Path):
    write_values(tmp_path, "x-1", {"a": [0.395] * 8})
    write_values(tmp_path, "y-1", {"a": [0.40] * 8})
    found = compare(row("x"), row("y"), NDCG, Results(tmp_path), offset=-1.0)
    assert found.difference == pytest.approx(-0.5)
    assert found.sign == 1  # half a point below, so above `one point below`
    assert found.p_queries == pytest.approx(2 / 256)


def test_the_detectable_difference(tmp_path: Path):
    # Differences 10 and 30 points, sixteen times each: deviation sqrt(32 / 31) * 10.
    write_values(tmp_path, "x-1", {"a": [0.1, 0.3] * 16})
    write_values(tmp_path, "y-1", {"a": [0.0] * 32})
    found = compare(row("x"), row("y"), NDCG, Results(tmp_path))
    error = 10 * np.sqrt(32 / 31) / np.sqrt(32)
    # z of 0.975 and of 0.8, from a table of the normal distribution.
    assert found.detectable(0.05) == pytest.approx((1.959964 + 0.841621) * error, rel=1e-5)


def test_queries_that_differ_are_refused(tmp_path: Path):
    write_values(tmp_path, "x-1", {"a": [0.5, 0.5]})
    write_values(tmp_path, "y-1", {"a": [0.5]})
    with pytest.raises(
        LexigraftError, match=r"1 queries are judged for one of them only, such as 'q1'"
    ):
        compare(row("x"), row("y"), NDCG, Results(tmp_path))
    write_values(tmp_path, "x-2", {"a": [0.5]})
    with pytest.raises(LexigraftError, match="its seeds are evaluated on different queries"):
        compare(row("x", seeds=2), row("y"), NDCG, Results(tmp_path))


def test_sets_that_differ_are_refused(tmp_path: Path):
    write_values(tmp_path, "x-1", {"a": [0.5]})
    write_values(tmp_path, "y-1", {"b": [0.5]})
    with pytest.raises(LexigraftError, match="allowed: the same sets"):
        compare(row("x"), row("y", ("b",)), NDCG, Results(tmp_path))


def test_a_measure_without_chance_is_decided_by_any_difference(tmp_path: Path):
    for name, rates in (("x-1", (1.5, 1.3)), ("y-1", (1.4, 1.3)), ("y-2", (1.4, 1.3))):
        folder = tmp_path / "evaluate" / name
        folder.mkdir(parents=True)
        sets = {a_set: {"fragmentation": v} for a_set, v in zip("ab", rates, strict=True)}
        (folder / "metrics.json").write_text(json.dumps({"sets": sets}))
    column = parse_column("zero_shot.fragmentation")
    sets = ("a", "b")
    found = compare(row("x", sets), row("y", sets, seeds=2), column, Results(tmp_path))
    assert found.difference == pytest.approx(0.05)
    assert found.pairs.by_set() == pytest.approx({"a": 0.1, "b": 0.0})
    assert (found.p, found.sign, found.detectable(0.05)) == (0.0, 1, 0.0)
    same = compare(row("y", sets), row("y", sets), column, Results(tmp_path))
    assert (same.p, same.difference, same.sign) == (1.0, 0.0, 0)
