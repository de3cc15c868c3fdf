"""Claims: a sentence of a paper as relations between rows of experiments."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lexigraft.errors import LexigraftError
from lexigraft.specs.documents import read_document, schema
from lexigraft.specs.experiments import Experiment

Operator = Literal["<", ">", "<=", ">="]
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Relation:
    """`left > right`, of a metric's value for two rows."""

    left: str
    operator: Operator
    right: str

    @property
    def direction(self) -> int:
        """+1 if the left row is claimed to be higher (or not lower), else -1."""
        return 1 if self.operator in (">", ">=") else -1

    @property
    def strict(self) -> bool:
        """Whether a difference is claimed, not only that there is none the other way."""
        return self.operator in ("<", ">")

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True)
class Claim:
    """One entry of `workflow/claims.yaml`."""

    id: str
    text: str
    source: Mapping[str, Any]
    metric: str
    """`role.measure`, as a column of an experiment."""
    relations: tuple[Relation, ...]
    margin: float = 0.0
    """Points (hundredths) that still count as no difference, for `<=` and `>=`."""
    reported: Mapping[str, float] = field(default_factory=dict)
    """Row id to what the source reports."""
    note: str = ""
    likely_reason: Mapping[str, str] = field(default_factory=dict)
    """Scale to why it may not show there."""

    @property
    def family(self) -> str:
        """What its tests are corrected together with: the table or figure that it is about."""
        kind = next((kind for kind in ("table", "figure") if kind in self.source), "")
        which = f"{kind} {self.source[kind]}" if kind else "text"
        return f"{self.source['document']}, {which}"

    @property
    def rows(self) -> frozenset[str]:
        """Ids of the rows that it compares."""
        return frozenset(side for r in self.relations for side in (r.left, r.right))

    def offset(self, relation: Relation) -> float:
        """What the difference of the rows is tested against, in points.

        `a > b` is `a - b > 0`; with a margin m, `a >= b` is `a - b > -m`, and `a <= b` is
        `a - b < m`.
        """
        return 0.0 if relation.strict else -relation.direction * self.margin

    def reported_difference(self, relation: Relation) -> float | None:
        """Left minus right as the source reports them, in points."""
        if relation.left not in self.reported or relation.right not in self.reported:
            return None
        return self.reported[relation.left] - self.reported[relation.right]

    def reported_agrees(self, relation: Relation) -> bool | None:
        """Whether the source's own numbers bear the relation out."""
        difference = self.reported_difference(relation)
        if difference is None:
            return None
        return relation.direction * (difference - self.offset(relation)) > TOLERANCE


def load_claims(root: Path) -> tuple[Claim, ...]:
    """Read `workflow/claims.yaml` under a root.

    Raises:
        LexigraftError: the file is missing or breaks its schema, two claims share an id, a row is
            compared with itself, a margin is missing or not needed, or a value is reported for a
            row that the claim does not compare.
    """
    path = root / "workflow" / "claims.yaml"
    return parse_claims(read_document(path, schema("claims", root)), str(path))


def parse_claims(document: Iterable[Mapping[str, Any]], name: str) -> tuple[Claim, ...]:
    """Claims of a document that has been checked against the schema.

    Raises:
        LexigraftError: as `load_claims`; the message begins with `name`.
    """
    claims: dict[str, Claim] = {}
    for entry in document:
        claim = _claim(entry, name)
        if claim.id in claims:
            raise LexigraftError(f"{name}: claim {claim.id!r} stands twice")
        claims[claim.id] = claim
    return tuple(claims.values())


def _claim(entry: Mapping[str, Any], name: str) -> Claim:
    where = f"{name}: claim {entry['id']!r}"
    relations = tuple(parse_relation(text, where) for text in entry["holds"])
    needs_margin = any(not relation.strict for relation in relations)
    if needs_margin and "margin" not in entry:
        raise LexigraftError(f"{where}: <= and >= need a margin in points; none is given")
    if "margin" in entry and not needs_margin:
        raise LexigraftError(f"{where}: a margin is for <= and >= only; found {entry['holds']}")
    compared = {row for relation in relations for row in (relation.left, relation.right)}
    reported = entry.get("reported", {})
    strangers = sorted(set(reported) - compared)
    if strangers:
        raise LexigraftError(
            f"{where}: reported: {strangers[0]!r} is in no relation; "
            f"allowed: {', '.join(sorted(compared))}"
        )
    return Claim(
        id=entry["id"],
        text=" ".join(entry["text"].split()),
        source=entry["source"],
        metric=entry["metric"],
        relations=relations,
        margin=float(entry.get("margin", 0.0)),
        reported={row: float(value) for row, value in reported.items()},
        note=" ".join(entry.get("note", "").split()),
        likely_reason={
            scale: " ".join(reason.split())
            for scale, reason in entry.get("likely_reason", {}).items()
        },
    )


def parse_relation(text: str, where: str) -> Relation:
    """The relation that `modernbert-vt > bert-splade` states.

    Raises:
        LexigraftError: it has another form, or compares a row with itself.
    """
    parts = text.split()
    if len(parts) != 3 or parts[1] not in ("<", ">", "<=", ">="):
        raise LexigraftError(f"{where}: relation {text!r}; allowed: `row > row`, with < > <= or >=")
    left, operator, right = parts
    if left == right:
        raise LexigraftError(f"{where}: relation {text!r} compares a row with itself")
    return Relation(left, operator, right)  # type: ignore[arg-type]


def check_claims(claims: Iterable[Claim], experiments: Iterable[Experiment]) -> None:
    """Check claims against every experiment that there is, configured or not.

    Raises:
        LexigraftError: a row is in no experiment, or a reported value is none of those that the
            experiments give for that row and metric.
    """
    known: set[str] = set()
    # Two tables of a paper may round one value differently, so each is allowed.
    values: dict[tuple[str, str], list[float]] = {}
    for experiment in experiments:
        for row in experiment.rows:
            known.add(row.id)
            for column, value in zip(experiment.columns, row.reported, strict=bool(row.reported)):
                if value is not None:
                    values.setdefault((row.id, column), []).append(value)
    for claim in claims:
        for relation in claim.relations:
            for side in (relation.left, relation.right):
                if side not in known:
                    raise LexigraftError(
                        f"claim {claim.id!r}: '{relation}': {side!r} is a row of no experiment"
                    )
        for name, value in claim.reported.items():
            stated = sorted(set(values.get((name, claim.metric), [value])))
            if all(abs(found - value) > TOLERANCE for found in stated):
                raise LexigraftError(
                    f"claim {claim.id!r}: reported: {name} is {value}, the experiments report "
                    f"{' or '.join(map(str, stated))} for {claim.metric}"
                )
