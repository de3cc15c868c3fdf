"""Evaluations whose per-query values are written down by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lexigraft.specs.experiments import PlannedExperiment, PlannedRow


def write_values(
    results: Path, identity: str, sets: Mapping[str, list[float]], health: Any = None
) -> None:
    """An evaluation with nDCG@10 of queries q0, q1, ... of each set."""
    folder = results / "evaluate" / identity
    folder.mkdir(parents=True)
    rows = [
        (name, f"q{number}", "ndcg@10", value)
        for name, values in sets.items()
        for number, value in enumerate(values)
    ]
    frame = pd.DataFrame(rows, columns=["set", "query", "metric", "value"])
    frame.to_parquet(folder / "per_query.parquet")
    means = {
        name: {"ndcg@10": sum(values) / len(values), "health": health}
        for name, values in sets.items()
    }
    (folder / "metrics.json").write_text(json.dumps({"sets": means}), encoding="utf-8")


def row(name: str, sets: tuple[str, ...] = ("a",), seeds: int = 1, **more: Any) -> PlannedRow:
    """A row with evaluations `<name>-1`, `<name>-2`, ..."""
    evaluations = {
        seed: {"zero_shot": tuple((f"{name}-{seed}", a_set) for a_set in sets)}
        for seed in range(1, seeds + 1)
    }
    return PlannedRow(id=name, label=name, evaluations=evaluations, **more)


def experiments(*rows: PlannedRow) -> dict[str, PlannedExperiment]:
    planned = PlannedExperiment(
        "table2", "", {"document": "paper", "table": 2}, ("zero_shot.ndcg@10",), rows, "mini"
    )
    return {"table2": planned}
