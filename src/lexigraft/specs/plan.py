"""From a configuration to the stages that it needs: every id, what it reads, what makes it."""

import dataclasses
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.chain import Chain
from lexigraft.specs.checks import check_run, refuse_untrained
from lexigraft.specs.claims import check_claims, load_claims
from lexigraft.specs.columns import EACH, THEORY, expand_columns, parse_column
from lexigraft.specs.config import Config
from lexigraft.specs.experiments import (
    Experiment,
    PlannedExperiment,
    PlannedRow,
    Row,
    experiment_names,
    load_experiment,
)
from lexigraft.specs.meaning import refuse_changed_meaning, refuse_two_meanings
from lexigraft.specs.neighbours import PlannedNeighbours
from lexigraft.specs.run import Run
from lexigraft.specs.scales import Scale
from lexigraft.specs.words import flag, option


@dataclass(frozen=True)
class Plan:
    """All stages of the configured experiments."""

    config: Config
    stages: Mapping[str, StageSpec]
    """Id to spec."""
    experiments: Mapping[str, PlannedExperiment]

    def folder(self, identity: str) -> str:
        """`<results>/<stage>/<id>` of a planned id."""
        return f"{self.config.results}/{self.stages[identity].stage}/{identity}"

    def inputs(self, identity: str) -> list[str]:
        """Folders that a stage reads."""
        return [self.folder(read) for read in self.stages[identity].inputs().values()]

    def options(self, identity: str) -> str:
        """Command-line options of a stage: what it reads and what differs from the defaults."""
        spec = self.stages[identity]
        words = []
        for name, read in spec.inputs().items():
            words += [f"--{flag(name)}", self.folder(read)]
        for field in fields(spec):
            value = getattr(spec, field.name)
            if "reads" in field.metadata or field.name == "name":
                continue
            if value != field.default:
                words += option(field.name, value)
        return shlex.join(words)

    @property
    def retrained(self) -> list[str]:
        """Folders of the backbones that the scale pre-trains to be shipped."""
        scale = self.config.scale
        return [self.folder(scale.backbones[name].id) for name in scale.retrained]

    @property
    def kept(self) -> list[str]:
        """Folders of all stages whose output stays."""
        return [self.folder(identity) for identity, spec in self.stages.items() if spec.kept]

    @property
    def tables(self) -> list[str]:
        """Experiments that have a table: all."""
        return list(self.experiments)

    @property
    def figures(self) -> list[str]:
        """Experiments that have a picture."""
        return [name for name, experiment in self.experiments.items() if experiment.figure]

    @property
    def with_words(self) -> str:
        """Command-line words that name the experiments to the command that reports on all."""
        return shlex.join(word for name in self.experiments for word in ("--with", name))

    @property
    def config_words(self) -> str:
        """Command-line words that state the rest of the configuration to the report commands."""
        config = self.config
        words = ["--scale", config.scale.name, "--rows", config.rows]
        words += ["--results", str(config.results)]
        words += [word for seed in config.many for word in ("--seed", str(seed))]
        return shlex.join(words)

    def evaluations(self, experiments: Iterable[str]) -> list[str]:
        """Folders of all evaluations (of words: of the transfer) that some experiments read, each
        once.

        Raises:
            LexigraftError: an experiment that the configuration does not name.
        """
        for name in experiments:
            if name not in self.experiments:
                raise LexigraftError(
                    f"config.yaml or --config: experiments: {name!r} is asked for and not among "
                    f"the configured ones: {', '.join(self.experiments)}"
                )
        ids = {
            identity
            for name in experiments
            for row in self.experiments[name].rows
            for roles in row.evaluations.values()
            for pairs in roles.values()
            for identity, _ in pairs
        } | {
            neighbours.transfer
            for name in experiments
            if (neighbours := self.experiments[name].neighbours) is not None
        }
        return sorted(self.folder(identity) for identity in ids)


def build_plan(config: Config) -> Plan:
    """Expand the configured experiments.

    Raises:
        LexigraftError: an experiment or a claim is wrong, a run impossible, or a stored result was
            made under other defaults.
    """
    stages: dict[str, StageSpec] = {}
    planned = {}
    everything = {
        name: load_experiment(config.root, name) for name in experiment_names(config.root)
    }
    claims = load_claims(config.root)
    check_claims(claims, everything.values())
    refuse_two_meanings(everything.values(), config.scale)
    compared = {row for claim in claims for row in claim.rows}
    many = compared if config.scale.compared == "many" else set()
    for name in config.experiments:
        experiment = everything[name]
        # Where no row is marked as a main one, all are.
        all_rows = config.rows == "all" or not any(row.main for row in experiment.rows)
        rows = tuple(
            _planned(
                row,
                experiment,
                config,
                stages,
                runs=all_rows or row.main,
                many=row.seeds == "many" or row.id in many,
            )
            for row in experiment.rows
        )
        planned[name] = PlannedExperiment(
            name=name,
            title=experiment.title,
            source=experiment.source,
            columns=expand_columns(experiment.columns, _sets(config.scale)),
            rows=rows,
            scale=config.scale.name,
            figure=experiment.figure,
            note=experiment.note,
            neighbours=_planned_neighbours(experiment, config.scale, stages),
        )
    scale = config.scale
    for name in scale.retrained:
        for spec in (scale.collections[scale.text], scale.backbones[name]):
            stages[spec.id] = spec
    plan = Plan(config, stages, planned)
    refuse_changed_meaning(plan)
    return plan


def _planned(
    row: Row,
    experiment: Experiment,
    config: Config,
    stages: dict[str, StageSpec],
    *,
    runs: bool,
    many: bool,
) -> PlannedRow:
    evaluations = {}
    facts: dict[str, Any] = {}
    where = f"{experiment.path}: row {row.id!r}"
    deltas = row.deltas_at(config.scale.lineage)
    run = config.scale.run_with(deltas)
    if row.cited and run.backbone not in config.scale.backbones:
        facts = {"missing": run.backbone}
    elif row.deltas is not None:
        check_run(run, config.scale, where)
        refuse_untrained(run, config.scale, where)
        facts = run.facts
        if runs:
            _check_columns(experiment, run)
            _refuse_theory_without_keys(experiment, run, where)
            seeds = config.many if many else config.scale.one
            seeds = (run.seed,) if "seed" in deltas else seeds
            seeds = seeds if run.random else seeds[:1]
            for seed in seeds:
                chain = Chain(dataclasses.replace(run, seed=seed), config.scale, stages)
                evaluations[seed] = chain.evaluations(_roles(experiment.columns))
    return PlannedRow(
        id=row.id,
        label=row.label,
        group=row.group,
        cited=row.cited,
        reported=_expanded(row.reported, experiment, config.scale, row.reported_sets),
        reported_spread=_expanded(row.reported_spread, experiment, config.scale, {}),
        main=row.main,
        note=row.note,
        teachers=row.teachers,
        evaluations=evaluations,
        random=run.random,
        facts=facts,
    )


def _planned_neighbours(
    experiment: Experiment, scale: Scale, stages: dict[str, StageSpec]
) -> PlannedNeighbours | None:
    stated = experiment.neighbours
    if stated is None:
        return None
    where = f"{experiment.path}: neighbours.run"
    run = scale.run_with(stated.deltas_at(scale.lineage))
    check_run(run, scale, where)
    if not run.target:
        known = ", ".join(scale.backbones)
        raise LexigraftError(f"{where}: target: found none; allowed at scale {scale.name}: {known}")
    if (strategy := run.transfer.initialisation) != "semantic":
        raise LexigraftError(
            f"{where}: transfer.initialisation: found {strategy!r}; allowed: 'semantic', which "
            "alone has anchors"
        )
    return PlannedNeighbours(
        transfer=Chain(run, scale, stages).transferred().id,
        source=run.backbone,
        target=run.target,
        words=stated.words,
        sample=stated.sample,
        seed=stated.seed,
    )


def _sets(scale: Scale) -> dict[str, list[str]]:
    """Role to the names of its sets."""
    return {role: [e.split("/")[1] for e in entries] for role, entries in scale.evaluation.items()}


def _expanded(
    values: tuple[float | None, ...],
    experiment: Experiment,
    scale: Scale,
    of_sets: Mapping[str, float],
) -> tuple[float | None, ...]:
    """Values of an experiment's columns as values of the columns that those expand to."""
    if not values and not of_sets:
        return ()
    given = values or (None,) * len(experiment.columns)
    expanded: list[float | None] = []
    for key, value in zip(experiment.columns, given, strict=True):
        if f"/{EACH}." in key:
            columns = map(parse_column, expand_columns([key], _sets(scale)))
            expanded += [of_sets.get(column.only) for column in columns]
        else:
            expanded.append(value)
    return tuple(expanded)


def _check_columns(experiment: Experiment, run: Run) -> None:
    for key in experiment.columns:
        column = parse_column(key)
        if column.ranked and column.metric not in run.evaluate.metrics:
            raise LexigraftError(
                f"{experiment.path}: columns: {key!r} is not among what is measured; allowed: "
                f"{', '.join(run.evaluate.metrics)} (evaluate.metrics)"
            )


def _refuse_theory_without_keys(experiment: Experiment, run: Run, where: str) -> None:
    if THEORY in _roles(experiment.columns) and run.head in ("bm25", "dense"):
        raise LexigraftError(
            f"{where}: found the head {run.head}; columns of {THEORY} need a sparse one"
        )


def _roles(columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(parse_column(column).role for column in columns))
