"""Judged claims as a record for programs and as Markdown for people."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lexigraft.analysis.claims import VERDICTS, Finding, Judgement
from lexigraft.report import text
from lexigraft.report.markdown import aligned, escape
from lexigraft.report.results import measures_place
from lexigraft.specs.columns import parse_column

SIGNS = {"holds": "✓", "fails": "✗", "within noise": "~", "not run here": "·"}
BLIND = "too little power for a difference as reported"
HOW = """\
A claim holds when each of its relations is significant in the stated direction, fails when one \
is significant in the other direction, and is within noise otherwise. The test is a paired \
randomisation test over queries, with every set of a role weighing the same, and, where a row \
has several seeds, Student's t over seeds as well, with the deviation pooled over all rows that \
the claims about one table compare on a measure (collapsed ones apart); BM25, in which nothing is \
random, is a constant. p is the greater of the two, corrected by Holm's method over the claims \
about one table. `detectable` is the smallest difference that the \
test would find with a chance of 80 % under the strictest step of that correction: where it \
exceeds the reported difference (less the margin, where a claim has one), an effect of the \
reported size could well be missed here. \
Tokens a word, printed as they are, have no chance in them, so any difference decides. \
Differences are left minus right, in hundredths; those about section 3 are as they are, and draws \
of Rademacher signs stand in the place of queries: their tests speak of the sample at hand, not of \
other pairs or other trainings."""


def claims_record(
    judgements: Iterable[Judgement], scale: str, level: float, results: Path, left_out: int = 0
) -> dict[str, Any]:
    """What `claims.json` holds; `left_out` claims are about experiments that are not configured."""
    judgements = tuple(judgements)
    return {
        "scale": scale,
        "level": level,
        "decided_by": HOW,
        "counts": _counts(judgements),
        "left_out": left_out,
        "claims": [
            {
                "id": judgement.claim.id,
                "text": judgement.claim.text,
                "source": dict(judgement.claim.source),
                "metric": judgement.claim.metric,
                "margin": judgement.claim.margin,
                "verdict": judgement.verdict,
                "note": judgement.claim.note,
                "likely_reason": _likely_reason(judgement, scale),
                "relations": [_finding_record(f, results) for f in judgement.findings],
            }
            for judgement in judgements
        ],
    }


def _finding_record(finding: Finding, results: Path) -> dict[str, Any]:
    record: dict[str, Any] = {
        "relation": str(finding.relation),
        "verdict": finding.verdict,
        "reported_difference": _rounded(finding.reported_difference),
        "reported_agrees": finding.reported_agrees,
    }
    comparison = finding.comparison
    if comparison is None:
        return {**record, "reason": finding.reason}
    return {
        **record,
        "difference": _rounded(comparison.difference),
        "by_set": {name: _rounded(value) for name, value in comparison.pairs.by_set().items()},
        "tested_against": comparison.offset,
        "p_queries": _rounded(comparison.p_queries),
        "p_seeds": _rounded(comparison.p_seeds),
        "error_seeds": _rounded(comparison.error_seeds),
        "df_seeds": comparison.df_seeds,
        "p_adjusted": _rounded(finding.p_adjusted),
        "detectable": _rounded(finding.detectable),
        "blind": finding.blind,
        "queries": len(comparison.pairs.sets),
        "seeds": [comparison.seeds_left, comparison.seeds_right],
        "collapsed": {name: c.verdict for name, c in (finding.collapsed or {}).items()},
        "evaluations": [measures_place(results, name) for name in finding.evaluations],
    }


def claims_markdown(
    judgements: Iterable[Judgement], scale: str, level: float, left_out: int = 0
) -> str:
    """What `claims.md` holds: a summary, then each claim with its relations, table by table."""
    judgements = tuple(judgements)
    counts = _counts(judgements)
    summary = ", ".join(f"{counts[verdict]} {SIGNS[verdict]} {verdict}" for verdict in VERDICTS)
    parts = [
        "# Claims",
        f"At scale `{scale}`, level {level:g}: {len(judgements)} claims, {summary}."
        + (
            f" {left_out} more are about experiments that are not configured here."
            if left_out
            else ""
        ),
        HOW,
    ]
    families: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        families.setdefault(judgement.claim.family, []).append(judgement)
    for family, members in families.items():
        parts.append(f"## {family.replace('-', ' ').capitalize()}")
        parts += [part for judgement in members for part in _claim_parts(judgement, scale)]
    return "\n\n".join(parts) + "\n"


def _claim_parts(judgement: Judgement, scale: str) -> list[str]:
    claim = judgement.claim
    column = parse_column(claim.metric)
    section = f", section {claim.source['section']}" if "section" in claim.source else ""
    margin = f", margin {claim.margin:g}" if claim.margin else ""
    parts = [
        f"### {SIGNS[judgement.verdict]} {judgement.verdict}: {escape(claim.text)}",
        f"`{claim.id}`{section}; {column.role_heading.lower()} {column.heading}{margin}",
    ]
    lines = [["Relation", "Verdict", "Ours", "Reported", "Detectable", "p", "Remarks"]]
    for finding in judgement.findings:
        comparison = finding.comparison
        lines.append(
            [
                f"`{finding.relation}`",
                f"{SIGNS[finding.verdict]} {finding.verdict}",
                text.signed(comparison.difference if comparison else None, column),
                text.signed(finding.reported_difference, column),
                text.number(finding.detectable, column),
                text.p_value(finding.p_adjusted),
                "; ".join(_remarks(finding)),
            ]
        )
    parts.append(aligned(lines, right=range(2, 6)))
    if claim.note:
        parts.append(escape(claim.note))
    if reason := _likely_reason(judgement, scale):
        parts.append(f"Likely reason at this scale: {escape(reason)}")
    return parts


def _likely_reason(judgement: Judgement, scale: str) -> str:
    """Why a claim that was tested does not hold, as far as the claims file says."""
    shown = judgement.verdict in ("fails", "within noise")
    return judgement.claim.likely_reason.get(scale, "") if shown else ""


def _remarks(finding: Finding) -> list[str]:
    remarks = [finding.reason] if finding.reason else []
    for name, collapse in (finding.collapsed or {}).items():
        remarks.append(f"{name} collapsed ({collapse.verdict})")
    if finding.reported_agrees is False:
        remarks.append("the reported values do not bear it out")
    if finding.blind:
        remarks.append(BLIND)
    comparison = finding.comparison
    if comparison is not None and max(comparison.seeds_left, comparison.seeds_right) > 1:
        remarks.append(f"seeds {comparison.seeds_left} and {comparison.seeds_right}")
    return remarks


def _counts(judgements: tuple[Judgement, ...]) -> dict[str, int]:
    return {v: sum(judgement.verdict == v for judgement in judgements) for v in VERDICTS}


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
