"""A planned row's own values: the mean over the sets of a role, for each seed, and its health."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.report.results import Results
from lexigraft.specs.columns import LOW_RECALL, Column
from lexigraft.specs.experiments import PlannedExperiment, PlannedRow


@dataclass(frozen=True)
class Measured:
    """What we measured for one cell, in the unit that is printed."""

    by_seed: Mapping[int, float]
    evaluations: tuple[str, ...]
    """Ids of the evaluate stage that the values are from."""

    @property
    def mean(self) -> float:
        return statistics.fmean(self.by_seed.values())

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation over seeds (n - 1); None for a single seed."""
        return statistics.stdev(self.by_seed.values()) if len(self.by_seed) > 1 else None


@dataclass(frozen=True)
class Collapse:
    """A model that a health check found collapsed, over all of its sets and seeds."""

    verdict: str
    """`dense collapse` or `dead outputs`."""
    collapsed: int
    """In how many evaluations of a set."""
    of: int
    active_share: float | None
    """Median share of vocabulary entries active, where collapsed; None for a dense head."""
    mean_cosine: float | None
    """Median cosine of unrelated texts, where collapsed; None where no two have a direction."""

    def sentence(self) -> str:
        """Where it collapsed and by which numbers, as a footnote says it."""
        numbers = []
        if self.active_share is not None:
            numbers.append(f"{100 * self.active_share:.1f} % of the vocabulary active")
        if self.mean_cosine is not None:
            numbers.append(f"cosine of unrelated texts {self.mean_cosine:.2f}")
        where = f"collapsed ({self.verdict}) on {self.collapsed} of {self.of} evaluated sets"
        return f"{where}: {', '.join(numbers)}" if numbers else where


@dataclass(frozen=True)
class EngineRecall:
    """What an approximate engine found of exact search's hits, over all sets and seeds of a row."""

    of_best: float
    """Mean share of the best 10."""
    of_all: float
    """Mean share of all, down to the depth that was searched."""
    least: float
    """The smaller share of the set where it is smallest."""
    where: str
    """That set."""

    def sentence(self) -> str:
        """The shares, as a footnote says them; that they are low where they are."""
        told = (
            f"which finds {self.of_best:.1%} of exact search's best 10 documents and "
            f"{self.of_all:.1%} of all it retrieves"
        )
        if self.least < LOW_RECALL:
            told += f"; low, {self.least:.1%} on {self.where}: judge the engine, not the model"
        return told.replace("%", " %")


def roles_of(experiment: PlannedExperiment) -> dict[str, tuple[str, ...]]:
    """Role to the names of its sets at this scale.

    Raises:
        LexigraftError: two rows or seeds differ in the sets of a role, so that their means would
            not be comparable.
    """
    found: dict[str, tuple[str, ...]] = {}
    first = ""
    for row in experiment.rows:
        for seed, roles in row.evaluations.items():
            here = {
                role: tuple(name for _, name in pairs) for role, pairs in roles.items() if pairs
            }
            if not first:
                found, first = here, f"{row.id!r}, seed {seed}"
            elif here != found:
                raise LexigraftError(
                    f"experiment {experiment.name!r}: row {row.id!r}, seed {seed} is evaluated on "
                    f"{here}, row {first} on {found}; allowed: the same sets for every row"
                )
    return found


def measure(row: PlannedRow, column: Column, results: Results) -> Measured | None:
    """Mean over the role's sets for each seed; None if the row, the role or the measure has none.

    Raises:
        LexigraftError: a planned evaluation or a measure of it is missing, or only some of the sets
            have the measure.
    """
    by_seed: dict[int, float] = {}
    used: list[str] = []
    for seed, roles in row.evaluations.items():
        pairs = [pair for pair in roles.get(column.role, ()) if column.only in ("", pair[1])]
        values = [results.value(identity, name, column.metric) for identity, name in pairs]
        given = [value for value in values if value is not None]
        if not given:
            continue
        if len(given) < len(values):
            without = [
                name for (_, name), value in zip(pairs, values, strict=True) if value is None
            ]
            raise LexigraftError(
                f"row {row.id!r}, seed {seed}: {column.metric} is null for the sets "
                f"{', '.join(without)} and a number for the others of {column.role}"
            )
        by_seed[seed] = column.factor * statistics.fmean(given)
        used += [identity for identity, _ in pairs]
    if by_seed and len(by_seed) < len(row.evaluations):
        raise LexigraftError(
            f"row {row.id!r}: {column.key} is there for seeds {sorted(by_seed)} only"
        )
    return Measured(by_seed, tuple(dict.fromkeys(used))) if by_seed else None


def evaluations_of(row: PlannedRow) -> dict[int, tuple[str, ...]]:
    """Seed to the ids of the evaluate stage that a row reads, each once."""
    return {
        seed: tuple(dict.fromkeys(identity for pairs in roles.values() for identity, _ in pairs))
        for seed, roles in row.evaluations.items()
    }


def collapse_of(row: PlannedRow, results: Results) -> Collapse | None:
    """The collapse that the evaluation's health checks found in a row, if any.

    Raises:
        LexigraftError: a health record without its verdict or numbers.
    """
    checked = 0
    sick: list[dict[str, Any]] = []
    verdicts: list[str] = []
    for roles in row.evaluations.values():
        for identity, name in dict.fromkeys(pair for pairs in roles.values() for pair in pairs):
            health = results.record(identity, name).get("health")
            if health is None:
                continue
            checked += 1
            missing = {"verdict", "active_share", "mean_cosine"} - set(health)
            if missing:
                path = results.evaluation(identity) / "metrics.json"
                raise LexigraftError(f"{path}: set {name!r}: health lacks {min(missing)!r}")
            if health["verdict"] != "healthy":
                sick.append(health)
                verdicts.append(health["verdict"])
    if not sick:
        return None
    return Collapse(
        verdict=" and ".join(sorted(set(verdicts))),
        collapsed=len(sick),
        of=checked,
        active_share=_median(health["active_share"] for health in sick),
        mean_cosine=_median(health["mean_cosine"] for health in sick),
    )


def engine_recall_of(row: PlannedRow, results: Results) -> EngineRecall | None:
    """What the search engine found of exact search's hits; None for an exact engine."""
    shares: list[tuple[float, float, str]] = []
    for roles in row.evaluations.values():
        for identity, name in dict.fromkeys(pair for pairs in roles.values() for pair in pairs):
            record = results.record(identity, name)
            of_all, of_best = record.get("engine_recall"), record.get("engine_recall@10")
            if of_all is not None and of_best is not None:
                shares.append((of_best, of_all, name))
    if not shares:
        return None
    least, where = min((min(of_best, of_all), name) for of_best, of_all, name in shares)
    return EngineRecall(
        of_best=statistics.fmean(share[0] for share in shares),
        of_all=statistics.fmean(share[1] for share in shares),
        least=least,
        where=where,
    )


def _median(values: Iterable[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return statistics.median(given) if given else None
