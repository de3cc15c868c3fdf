"""The difference of two rows on one measure, and what its test could have seen.

The difference is that of the means over the role's sets (each set weighs the same, whatever its
number of queries), of per-query values that are averaged over a row's seeds. Two tests guard it:

- over queries: paired randomisation, for the models as trained;
- over seeds, where there are several: Student's t with a pooled deviation, that of both rows and of
  the others that it is told vary alike (as in an analysis of variance: with three seeds, two rows
  alone say little about the deviation). With a single seed on one side this asks whether that run
  is a plausible draw from the other's seeds; a row in which nothing is random (BM25) is a constant
  instead, and the other's seeds are tested against it.

Both must be significant, so the p-value of the comparison is the greater one. A measure without
chance (`Column.certain`) needs no test: each set is one pair, and any difference is a real one.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from lexigraft.errors import LexigraftError
from lexigraft.evaluation.significance import minimum_detectable_difference, paired_test
from lexigraft.report.measured import measure
from lexigraft.report.results import Results
from lexigraft.specs.columns import Column
from lexigraft.specs.experiments import PlannedRow

POWER = 0.8
"""Chance with which a true difference of the detectable size is found."""
ROUNDING = 1e-9
"""What a mean over seeds may be off by, though all are equal."""


@dataclass(frozen=True)
class Pairs:
    """Values (N,) of the same queries (or of the same sets, where there is no chance) under two
    rows, in the unit that is printed."""

    left: NDArray[np.float64]
    right: NDArray[np.float64]
    sets: Sequence[str]

    def by_set(self) -> dict[str, float]:
        """Mean difference in each set."""
        labels = np.array(self.sets)
        return {
            name: float((self.left - self.right)[labels == name].mean())
            for name in dict.fromkeys(self.sets)
        }


@dataclass(frozen=True)
class Comparison:
    """Left minus right, in the unit that is printed."""

    pairs: Pairs
    difference: float
    offset: float
    """What the difference was tested against; 0 but for relations with a margin."""
    p_queries: float
    p_seeds: float | None
    """None where nothing shows a deviation over seeds."""
    error_seeds: float | None
    """Standard error of the difference over seeds."""
    df_seeds: int
    """Degrees of freedom of that error; 0 where there is none."""
    seeds_left: int
    seeds_right: int
    certain: bool = False
    """Whether there is no chance in the measure."""

    @property
    def p(self) -> float:
        """Two-sided p-value, before any correction."""
        return self.p_queries if self.p_seeds is None else max(self.p_queries, self.p_seeds)

    @property
    def sign(self) -> int:
        """Side of the offset on which the difference lies."""
        return int(np.sign(self.difference - self.offset))

    def turned(self) -> "Comparison":
        """Right minus left."""
        return replace(
            self,
            pairs=Pairs(self.pairs.right, self.pairs.left, self.pairs.sets),
            difference=-self.difference,
            offset=0.0 - self.offset,
            seeds_left=self.seeds_right,
            seeds_right=self.seeds_left,
        )

    def detectable(self, level: float) -> float:
        """The smallest difference that a two-sided test at `level` finds with probability `POWER`.

        Quantiles of level and power times the standard error, over queries and over seeds; the
        greater of both, as both tests decide. 0 where there is no chance.
        """
        if self.certain:
            return 0.0
        found = minimum_detectable_difference(
            self.pairs.left, self.pairs.right, self.pairs.sets, level=level, power=POWER
        )
        if self.error_seeds is None:
            return found
        df = self.df_seeds
        factor = float(student.isf(level / 2, df) + student.ppf(POWER, df))
        return max(found, factor * self.error_seeds)


def compare(
    left: PlannedRow,
    right: PlannedRow,
    column: Column,
    results: Results,
    offset: float = 0.0,
    alike: Iterable[PlannedRow] = (),
) -> Comparison:
    """Compare two rows that were both run on the column's role.

    Args:
        alike: rows whose values are taken to vary over seeds as those of the two do; the deviation
            is pooled over all of them.

    Raises:
        LexigraftError: the rows' sets or judged queries differ, or a result is missing.
    """
    pairs = _pairs(left, right, column, results)
    if column.certain:
        difference = statistics.fmean((pairs.left - pairs.right).tolist())
        return Comparison(
            pairs=pairs,
            difference=difference,
            offset=offset,
            p_queries=1.0 if math.isclose(difference, offset, abs_tol=ROUNDING) else 0.0,
            p_seeds=None,
            error_seeds=None,
            df_seeds=0,
            seeds_left=len(left.evaluations),
            seeds_right=len(right.evaluations),
            certain=True,
        )
    difference, p_queries = paired_test(pairs.left, pairs.right + offset, pairs.sets)
    values = [_seed_values(row, column, results) for row in (left, right)]
    both = (left.id, right.id)
    others = [_seed_values(row, column, results) for row in alike if row.id not in both]
    random = (left.random, right.random)
    seeds = pooled_t(values[0], values[1], offset, random=random, alike=others)
    return Comparison(
        pairs=pairs,
        difference=difference + offset,
        offset=offset,
        p_queries=p_queries,
        p_seeds=seeds.p if seeds else None,
        error_seeds=seeds.error if seeds else None,
        df_seeds=seeds.df if seeds else 0,
        seeds_left=len(values[0]),
        seeds_right=len(values[1]),
    )


def per_query(row: PlannedRow, column: Column, results: Results) -> dict[str, dict[str, float]]:
    """Set to query to the printed value, averaged over the row's seeds; of a measure without
    chance, set to its one value.

    Raises:
        LexigraftError: a result is missing, or seeds differ in their queries.
    """
    totals: dict[str, dict[str, float]] = {}
    for roles in row.evaluations.values():
        for identity, name in roles[column.role]:
            values = _of_queries(identity, name, column, results)
            total = totals.setdefault(name, dict.fromkeys(values, 0.0))
            if total.keys() != values.keys():
                raise LexigraftError(
                    f"row {row.id!r}, set {name!r}: its seeds are evaluated on different queries"
                )
            for query, value in values.items():
                total[query] += column.factor * value / len(row.evaluations)
    return totals


def _of_queries(identity: str, name: str, column: Column, results: Results) -> dict[str, float]:
    if not column.certain:
        return results.per_query(identity, name, column.metric)
    value = results.value(identity, name, column.metric)
    if value is None:
        raise LexigraftError(f"{results.evaluation(identity)}: set {name!r}: no {column.metric}")
    return {"": value}


class SeedTest(NamedTuple):
    """Student's t-test of a difference of means over seeds."""

    p: float
    """Two-sided."""
    error: float
    """Standard error of the difference."""
    df: int


def pooled_t(
    left: Sequence[float],
    right: Sequence[float],
    offset: float = 0.0,
    random: tuple[bool, bool] = (True, True),
    alike: Sequence[Sequence[float]] = (),
) -> SeedTest | None:
    """Student's t-test with a deviation pooled over both samples and those that vary alike.

    A sample of one adds no degree of freedom but has its share in the error. A side that is not
    random is a known constant and adds neither. None where no sample shows a deviation, or neither
    side is random.
    """
    sides = [sample for sample, drawn in zip((left, right), random, strict=True) if drawn]
    samples = [*sides, *alike]
    df = sum(len(sample) - 1 for sample in samples)
    if df < 1 or not sides:
        return None
    squares = sum((value - statistics.fmean(sample)) ** 2 for sample in samples for value in sample)
    error = math.sqrt(squares / df * sum(1 / len(side) for side in sides))
    distance = abs(statistics.fmean(left) - statistics.fmean(right) - offset)
    if error == 0:
        return SeedTest(0.0 if distance > 0 else 1.0, 0.0, df)
    return SeedTest(float(2 * student.sf(distance / error, df)), error, df)


def _pairs(left: PlannedRow, right: PlannedRow, column: Column, results: Results) -> Pairs:
    left_sets, right_sets = (per_query(row, column, results) for row in (left, right))
    if left_sets.keys() != right_sets.keys():
        raise LexigraftError(
            f"{column.key}: row {left.id!r} is evaluated on {', '.join(left_sets)}, "
            f"row {right.id!r} on {', '.join(right_sets)}; allowed: the same sets"
        )
    left_values, right_values, sets = [], [], []
    for name, values in left_sets.items():
        strangers = sorted(values.keys() ^ right_sets[name].keys())
        if strangers:
            raise LexigraftError(
                f"rows {left.id!r} and {right.id!r}, set {name!r}: {len(strangers)} queries are "
                f"judged for one of them only, such as {strangers[0]!r}"
            )
        for query in sorted(values):
            left_values.append(values[query])
            right_values.append(right_sets[name][query])
            sets.append(name)
    return Pairs(np.array(left_values), np.array(right_values), sets)


def _seed_values(row: PlannedRow, column: Column, results: Results) -> list[float]:
    measured = measure(row, column, results)
    assert measured is not None
    return list(measured.by_seed.values())
