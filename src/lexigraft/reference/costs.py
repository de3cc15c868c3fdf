"""What each experiment costs, by the times that a reference recorded: told before it is run."""

from collections.abc import Iterable
from pathlib import Path, PurePath

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object
from lexigraft.reference.outputs import OUTPUTS, RECORD, read_outputs
from lexigraft.report.markdown import width
from lexigraft.specs.plan import Plan

HEAD = ("", "jobs", "alone", "after those above", "not timed")


def costs(plan: Plan, reference: Path) -> str:
    """Plain text: for each experiment its jobs and the minutes of work in them.

    Times are those that a job's work took on the reference's machine, added up over jobs: of runs
    on several cores it is the sum that counts, not how long a person waited. What starting a job
    and making the tables takes comes on top.

    Args:
        plan: experiments at a scale, in the order in which they are told.
        reference: folder of a reference; outputs of the plan that it lacks, or that it has no time
            of, are counted as not timed.

    Raises:
        LexigraftError: the reference is missing, not what was written, or has no time of any job
            of the plan.
    """
    record = read_object(reference / RECORD, "a reference is made by `lexigraft reference`")
    environments = member(record, "environments", list, str(reference / RECORD))
    outputs = read_outputs(reference / OUTPUTS, environments)
    seconds = {output.id: output.seconds for output in outputs if output.seconds is not None}
    scale = plan.config.scale.name
    if not seconds.keys() & _needed(plan, plan.experiments):
        kept = member(record, "scale", str, str(reference / RECORD))
        raise LexigraftError(
            f"{reference}: a run of scale {kept}; it has no time of any job of scale {scale}"
        )
    lines: list[tuple[str, ...]] = [HEAD]
    seen: set[str] = set()
    for name in plan.experiments:
        needed = _needed(plan, [name])
        lines.append(_line(name, needed, needed - seen, seconds))
        seen |= needed
    lines.append(_line("all", seen, seen, seconds))
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    widths = [max(width(line[place]) for line in lines) for place in range(len(lines[0]))]
    title = f"Minutes of one core at scale {scale}, by {reference}"
    return "\n".join([title, "", *(_aligned(line, widths) for line in lines)])


def _needed(plan: Plan, experiments: Iterable[str]) -> set[str]:
    """Ids of all stages that some experiments need, from the first to the last."""
    ids: set[str] = set()
    ahead = [PurePath(folder).name for folder in plan.evaluations(experiments)]
    while ahead:
        identity = ahead.pop()
        if identity not in ids:
            ids.add(identity)
            ahead += plan.stages[identity].inputs().values()
    return ids


def _line(name: str, needed: set[str], new: set[str], seconds: dict[str, float]) -> tuple[str, ...]:
    untimed = len(needed - seconds.keys())
    alone, after = (_minutes(seconds.get(i, 0.0) for i in ids) for ids in (needed, new))
    return name, str(len(needed)), alone, after, str(untimed) if untimed else ""


def _minutes(seconds: Iterable[float]) -> str:
    return f"{sum(seconds) / 60:.0f}"


def _aligned(line: tuple[str, ...], widths: list[int]) -> str:
    first, *numbers = [(cell, wide) for cell, wide in zip(line, widths, strict=True)]
    return "  ".join([first[0].ljust(first[1]), *(c.rjust(w) for c, w in numbers)]).rstrip()
