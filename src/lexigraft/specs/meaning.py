"""An id means one thing: the same in every experiment, and the same as when its result was made."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object
from lexigraft.specs.experiments import Experiment
from lexigraft.specs.run import Run
from lexigraft.specs.scales import Scale

if TYPE_CHECKING:
    from lexigraft.specs.plan import Plan


def refuse_two_meanings(experiments: Iterable[Experiment], scale: Scale) -> None:
    """An id is one run, wherever it stands: claims name rows by it."""
    seen: dict[str, tuple[Run, Path]] = {}
    for experiment in experiments:
        for row in experiment.rows:
            if row.deltas is None:
                continue
            found = scale.run_with(row.deltas_at(scale.lineage))
            before, path = seen.setdefault(row.id, (found, experiment.path))
            if before != found:
                raise LexigraftError(
                    f"{experiment.path}: row {row.id!r} is another run than the row of that id in "
                    f"{path}; allowed: an id of its own"
                )


def refuse_changed_meaning(plan: "Plan") -> None:
    """Refuse a stored result whose `spec.json` says something else than its id means now.

    Raises:
        LexigraftError: a default changed after the result was made; the message names the field.
    """
    for identity, spec in plan.stages.items():
        path = Path(plan.folder(identity)) / "spec.json"
        if not path.is_file():
            continue
        stored = read_object(path, f"remove {path.parent} to make it again")
        current = spec.record()
        for name, value in current.items():
            if name in stored and stored[name] != value:
                raise LexigraftError(
                    f"{path}: {name} was {stored[name]!r} when this result was made and its id "
                    f"means {value!r} now; raise the version of {type(spec).__name__}, or remove "
                    f"{plan.config.results} whole: what was made from this result is as old"
                )
