"""Claims held against results: holds, fails, within noise, or not run here.

A claim holds when each of its relations is significant in the stated direction, fails when one is
significant in the other direction, and is within noise otherwise. p-values are corrected by Holm's
method over all comparisons of claims about the same table.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from lexigraft.analysis.comparison import Comparison, compare
from lexigraft.evaluation.significance import holm
from lexigraft.files import whole_file, write_json
from lexigraft.progress import track
from lexigraft.report.measured import Collapse, collapse_of
from lexigraft.report.results import Results
from lexigraft.specs.claims import Claim, Relation
from lexigraft.specs.columns import parse_column
from lexigraft.specs.experiments import PlannedExperiment, PlannedRow

Verdict = Literal["holds", "fails", "within noise", "not run here"]
VERDICTS: tuple[Verdict, ...] = ("holds", "fails", "within noise", "not run here")
LEVEL = 0.05


@dataclass(frozen=True)
class Finding:
    """One relation of a claim against the results."""

    relation: Relation
    verdict: Verdict
    reason: str = ""
    """Why it is not run here."""
    comparison: Comparison | None = None
    p_adjusted: float | None = None
    detectable: float | None = None
    """Smallest difference, in points, that its test could have seen (see `Comparison`)."""
    reported_difference: float | None = None
    reported_agrees: bool | None = None
    collapsed: Mapping[str, Collapse] | None = None
    """Row id to its collapse, for rows that did."""
    evaluations: tuple[str, ...] = ()

    @property
    def blind(self) -> bool:
        """Whether it is undecided by a test that could well have missed a difference as reported:
        one closer to what it was tested against than the detectable difference."""
        if self.comparison is None or self.detectable is None or self.reported_difference is None:
            return False
        effect = abs(self.reported_difference - self.comparison.offset)
        return self.verdict == "within noise" and effect < self.detectable


@dataclass(frozen=True)
class Judgement:
    """A claim and what became of it."""

    claim: Claim
    verdict: Verdict
    findings: tuple[Finding, ...]


def judge_claims(
    claims: Iterable[Claim],
    experiments: Mapping[str, PlannedExperiment],
    results: Path,
    level: float = LEVEL,
) -> tuple[Judgement, ...]:
    """Hold every claim against the results.

    Args:
        experiments: every configured experiment by its name.
        level: family-wise level of significance.

    Raises:
        LexigraftError: a planned result is missing or two rows are not comparable.
    """
    claims, read = tuple(claims), Results(results)
    families: dict[str, dict[_Test, tuple[PlannedRow, PlannedRow]]] = {}
    for claim in claims:
        for relation in claim.relations:
            rows = _rows(claim, relation, experiments)
            if isinstance(rows, str):
                continue
            test, turned = _test(claim, relation)
            families.setdefault(claim.family, {})[test] = rows[::-1] if turned else rows
    compared: dict[str, dict[_Test, Comparison]] = {}
    adjusted: dict[str, dict[_Test, float]] = {}
    for family, tests in track(families.items(), "test claims", unit="tables"):
        compared[family] = _compared(tests, read)
        corrected = holm([comparison.p for comparison in compared[family].values()])
        adjusted[family] = dict(zip(compared[family], corrected, strict=True))
    judgements = []
    for claim in claims:
        findings = []
        for relation in claim.relations:
            rows = _rows(claim, relation, experiments)
            finding = Finding(
                relation,
                "not run here",
                reported_difference=claim.reported_difference(relation),
                reported_agrees=claim.reported_agrees(relation),
            )
            if isinstance(rows, str):
                findings.append(replace(finding, reason=rows))
                continue
            test, turned = _test(claim, relation)
            p_values = adjusted[claim.family]
            comparison = compared[claim.family][test]
            comparison = comparison.turned() if turned else comparison
            collapses = {row.id: collapse_of(row, read) for row in rows}
            findings.append(
                replace(
                    finding,
                    verdict=_verdict(relation, comparison, p_values[test], level),
                    comparison=comparison,
                    p_adjusted=p_values[test],
                    detectable=comparison.detectable(level / len(p_values)),
                    collapsed={name: c for name, c in collapses.items() if c is not None},
                    evaluations=_evaluations(rows, claim),
                )
            )
        judgements.append(Judgement(claim, _overall(findings), tuple(findings)))
    return tuple(judgements)


def write_claims(
    claims: Iterable[Claim],
    experiments: Mapping[str, PlannedExperiment],
    results: Path,
    out_prefix: Path,
    level: float = LEVEL,
) -> None:
    """Write `<out_prefix>.json` and `<out_prefix>.md`.

    A claim about a row that is in no configured experiment is counted and left out.

    Raises:
        LexigraftError: a planned result is missing or two rows are not comparable.
    """
    from lexigraft.report.claims import claims_markdown, claims_record

    claims = tuple(claims)
    rows = {row.id for experiment in experiments.values() for row in experiment.rows}
    asked = [claim for claim in claims if claim.rows <= rows]
    judgements = judge_claims(asked, experiments, results, level)
    left_out = len(claims) - len(asked)
    scale = next((experiment.scale for experiment in experiments.values()), "")
    write_json(
        out_prefix.with_name(out_prefix.name + ".json"),
        claims_record(judgements, scale, level, results, left_out),
    )
    with whole_file(out_prefix.with_name(out_prefix.name + ".md")) as partial:
        partial.write_text(claims_markdown(judgements, scale, level, left_out), encoding="utf-8")


class _Test(NamedTuple):
    """A hypothesis: `a > b` and `b < a` are the same one and count once in a family."""

    metric: str
    left: str
    right: str
    offset: float


def _test(claim: Claim, relation: Relation) -> tuple[_Test, bool]:
    """The hypothesis of a relation, rows in the order of their names, and whether they turned."""
    offset = claim.offset(relation)
    if relation.left < relation.right:
        return _Test(claim.metric, relation.left, relation.right, offset), False
    return _Test(claim.metric, relation.right, relation.left, 0.0 - offset), True


def _compared(
    tests: Mapping[_Test, tuple[PlannedRow, PlannedRow]], results: Results
) -> dict[_Test, Comparison]:
    """Every hypothesis of a family, in the order of their names.

    Rows on one measure share their deviation over seeds; a collapsed row has its own, so what it is
    compared with is tested by the two rows alone.
    """
    vary: dict[str, dict[str, PlannedRow]] = {}
    for test, rows in tests.items():
        for row in rows:
            if row.random and collapse_of(row, results) is None:
                vary.setdefault(test.metric, {})[row.id] = row
    found = {}
    for test in sorted(tests):
        left, right = tests[test]
        alike = vary.get(test.metric, {})
        apart = any(row.random and row.id not in alike for row in (left, right))
        column, others = parse_column(test.metric), () if apart else alike.values()
        found[test] = compare(left, right, column, results, test.offset, others)
    return found


def _rows(
    claim: Claim, relation: Relation, experiments: Mapping[str, PlannedExperiment]
) -> tuple[PlannedRow, PlannedRow] | str:
    """Both rows with results on the claim's role, or why there are none."""
    role = parse_column(claim.metric).role
    found = []
    reasons = []
    for name in (relation.left, relation.right):
        candidates = [row for e in experiments.values() for row in e.rows if row.id == name]
        ready = [
            row
            for row in candidates
            if row.evaluations and all(roles.get(role) for roles in row.evaluations.values())
        ]
        if ready:
            found.append(ready[0])
        elif not candidates:
            reasons.append(f"{name} is in no configured experiment")
        elif candidates[0].cited:
            reasons.append(f"{name} is cited, not run")
        elif any(row.evaluations for row in candidates):
            reasons.append(f"{name} has no {role} sets at this scale")
        else:
            reasons.append(f"{name} is not among the rows that were asked for")
    return "; ".join(reasons) if reasons else (found[0], found[1])


def _verdict(relation: Relation, comparison: Comparison, p: float, level: float) -> Verdict:
    if p > level or comparison.sign == 0:
        return "within noise"
    return "holds" if comparison.sign == relation.direction else "fails"


def _overall(findings: list[Finding]) -> Verdict:
    verdicts = {finding.verdict for finding in findings}
    order: tuple[Verdict, ...] = ("fails", "not run here", "within noise")
    return next((verdict for verdict in order if verdict in verdicts), "holds")


def _evaluations(rows: tuple[PlannedRow, PlannedRow], claim: Claim) -> tuple[str, ...]:
    role = parse_column(claim.metric).role
    return tuple(
        dict.fromkeys(
            identity
            for row in rows
            for roles in row.evaluations.values()
            for identity, _ in roles[role]
        )
    )
