"""A run and a reference as files, small enough to compare by eye."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lexigraft.report.csv_table import FIELDS
from lexigraft.report.neighbours_forms import FIELDS as WORD_FIELDS

NDCG, FLOPS = "zero_shot.ndcg@10", "zero_shot.flops"
ENVIRONMENT = {
    "commit": "aaa",
    "versions": {"python": "3.11.7", "torch": "2.13.0+cpu"},
    "hardware": {"machine": "x86_64", "processor": "AMD EPYC"},
    "threads": 1,
}
RECORD = {
    "scale": "mini",
    "rows": "all",
    "seeds": [42],
    "significance": 0.05,
    "experiments": ["t2"],
    "finished": "2026-11-30T06:00:31Z",
    "environments": [ENVIRONMENT],
    "stages": {"evaluate": {"outputs": 1, "seconds": 3.5, "untimed": 0}},
}
Cells = Mapping[tuple[str, str], str | dict[str, str]]


def write_table(folder: Path, name: str, cells: Cells, scale: str = "mini") -> Path:
    """A table of models: row and column to our value, or to the fields of its line."""
    lines = []
    for (row, column), value in cells.items():
        stated = {"ours": value} if isinstance(value, str) else value
        common = {"experiment": name, "scale": scale, "row": row, "column": column}
        lines.append(
            common | {"status": "run", "seeds": "42", "evaluations": f"evaluate/{row}-1"} | stated
        )
    return _write(folder / "tables" / f"{name}.csv", FIELDS, lines)


def write_words(folder: Path, name: str, anchors: Mapping[str, list[tuple[str, str]]]) -> Path:
    """A table of words: word to its anchors and their weights."""
    lines = [
        {
            "experiment": name,
            "scale": "mini",
            "word": word,
            "fate": "new",
            "rank": str(rank),
            "anchor": anchor,
            "weight": weight,
            "with_weight": "3",
            "transfer": "transfer/moved-1",
        }
        for word, pairs in anchors.items()
        for rank, (anchor, weight) in enumerate(pairs, 1)
    ]
    return _write(folder / "tables" / f"{name}.csv", WORD_FIELDS, lines)


def _write(path: Path, fields: tuple[str, ...], lines: list[dict[str, str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return path


def write_record(reference: Path, **changes: Any) -> None:
    """`reference.json` and `outputs.csv` beside the tables."""
    reference.mkdir(exist_ok=True)
    (reference / "reference.json").write_text(json.dumps(RECORD | changes), encoding="utf-8")
    (reference / "outputs.csv").write_text(
        "stage,id,environment,finished,seconds\n"
        "evaluate,a-1,0,2026-11-30T06:00:31Z,3.5\n"
        "encode,gone-1,,,\n",
        encoding="utf-8",
    )


def write_provenance(results: Path, place: str, **changes: Any) -> None:
    """The provenance of an output of the run."""
    record = {**ENVIRONMENT, "finished": "2026-12-01T00:00:00Z", "seconds": 4.0, "inputs": {}}
    (results / place).mkdir(parents=True, exist_ok=True)
    (results / place / "provenance.json").write_text(json.dumps(record | changes), encoding="utf-8")


def write_claims(folder: Path, **verdicts: tuple[str, float, float]) -> None:
    """Claims of one relation: id to verdict, difference and p."""
    claims = [
        {
            "id": name,
            "text": f"The claim {name}.",
            "verdict": verdict,
            "relations": [
                {
                    "relation": f"{name} > base",
                    "verdict": verdict,
                    "difference": difference,
                    "p_adjusted": p,
                }
            ],
        }
        for name, (verdict, difference, p) in verdicts.items()
    ]
    text = json.dumps({"scale": "mini", "level": 0.05, "claims": claims})
    (folder / "claims.json").write_text(text, encoding="utf-8")
