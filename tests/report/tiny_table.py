"""Rows and results as files, for tables small enough to work out by hand."""

import json
from pathlib import Path
from typing import Any

HEALTHY = {"active_share": 0.03, "mean_cosine": 0.1, "verdict": "healthy"}
DENSE = {"active_share": 0.97, "mean_cosine": 0.99, "verdict": "dense collapse"}


def write_evaluation(results: Path, identity: str, sets: dict[str, dict[str, Any]]) -> None:
    folder = results / "evaluate" / identity
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.json").write_text(json.dumps({"sets": sets}), encoding="utf-8")


def measures(ndcg: float, mrr: float, length: float | None, health: Any) -> dict[str, Any]:
    return {"ndcg@10": ndcg, "mrr@10": mrr, "document_length": length, "health": health}


def ran(*identities: str) -> dict[int, dict[str, tuple[tuple[str, str], ...]]]:
    """Evaluations of seeds 1, 2, ..., one id each."""
    return {
        seed: {
            "zero_shot": ((identity, "a"), (identity, "b")),
            "in_domain": ((identity, "dev"),),
        }
        for seed, identity in enumerate(identities, 1)
    }
