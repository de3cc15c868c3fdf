"""What the evaluate stage left on disk, read strictly: a value that is missing is an error."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object

if TYPE_CHECKING:
    import pandas as pd


def measures_folder(results: Path, identity: str) -> Path:
    """Folder of an output that holds measures: the theory stage's, else the evaluate stage's."""
    theory = results / "theory" / identity
    return theory if theory.is_dir() else results / "evaluate" / identity


def measures_place(results: Path, identity: str) -> str:
    """That folder as `evaluate/<id>`: a results folder may be copied elsewhere."""
    return measures_folder(results, identity).relative_to(results).as_posix()


class Results:
    """The `results` folder of a workflow; every file is read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._metrics: dict[str, dict[str, Any]] = {}
        self._per_query: dict[str, pd.DataFrame] = {}

    def evaluation(self, identity: str) -> Path:
        """Folder of one output of the evaluate stage, or of the theory stage."""
        return measures_folder(self.folder, identity)

    def sets(self, identity: str) -> dict[str, Any]:
        """Name of each set to its measures, from `metrics.json`."""
        if identity not in self._metrics:
            path = self.evaluation(identity) / "metrics.json"
            self._metrics[identity] = member(read_object(path), "sets", dict, str(path))
        return self._metrics[identity]

    def record(self, identity: str, name: str) -> dict[str, Any]:
        """All measures of one set.

        Raises:
            LexigraftError: no such evaluation, or no such set in it.
        """
        sets = self.sets(identity)
        if name not in sets:
            path = self.evaluation(identity) / "metrics.json"
            raise LexigraftError(f"{path}: no set {name!r}; found: {', '.join(sets)}")
        record: dict[str, Any] = sets[name]
        return record

    def value(self, identity: str, name: str, metric: str) -> float | None:
        """One measure of one set as stored; None where the model has no such measure.

        Raises:
            LexigraftError: the measure is missing, no number, NaN or infinite.
        """
        record = self.record(identity, name)
        where = f"{self.evaluation(identity) / 'metrics.json'}: set {name!r}"
        if metric not in record:
            raise LexigraftError(f"{where}: no measure {metric!r}; found: {', '.join(record)}")
        value = record[metric]
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise LexigraftError(f"{where}: {metric} is {value!r}; allowed: a number or null")
        if not math.isfinite(value):
            raise LexigraftError(f"{where}: {metric} is {value}; allowed: a finite number")
        return float(value)

    def per_query(self, identity: str, name: str, metric: str) -> dict[str, float]:
        """Query id to the stored value of one measure in one set.

        Raises:
            LexigraftError: the file is missing or unreadable, holds no such values, holds a query
                twice or a value that is not finite, or its mean is not that of `metrics.json`.
        """
        path = self.evaluation(identity) / "per_query.parquet"
        # Imported here: figures of the stages read this module too, and no values of queries.
        import pandas as pd

        if identity not in self._per_query:
            try:
                self._per_query[identity] = pd.read_parquet(path)
            except FileNotFoundError:
                raise LexigraftError(f"{path}: no such file") from None
            except (OSError, ValueError) as error:
                raise LexigraftError(f"{path}: not readable as Parquet ({error})") from None
        frame = self._per_query[identity]
        missing = {"set", "query", "metric", "value"} - set(frame.columns)
        if missing:
            raise LexigraftError(f"{path}: no column {min(missing)!r}")
        chosen = frame[(frame["set"] == name) & (frame["metric"] == metric)]
        queries = chosen["query"].astype(str)
        values = chosen["value"].astype(float)
        where = f"{path}: set {name!r}, {metric}"
        if chosen.empty:
            raise LexigraftError(f"{where}: no values")
        if queries.duplicated().any():
            raise LexigraftError(f"{where}: query {queries[queries.duplicated()].iloc[0]!r} twice")
        if not values.map(math.isfinite).all():
            query = queries[~values.map(math.isfinite)].iloc[0]
            raise LexigraftError(f"{where}: the value of query {query!r} is not finite")
        mean = self.value(identity, name, metric)
        if mean is None or abs(float(values.mean()) - mean) > 1e-5:
            raise LexigraftError(
                f"{where}: the queries' mean is {values.mean():.6f}, metrics.json says {mean}"
            )
        return dict(zip(queries, values, strict=True))
