"""A table small enough to work out by hand, with the results behind it."""

from pathlib import Path
from typing import Any

import pytest
from tiny_table import DENSE, HEALTHY, measures, ran, write_evaluation

from lexigraft.specs.experiments import PlannedExperiment, PlannedRow


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two zero-shot sets (a, b) and one in-domain set (dev) of four models."""
    folder = tmp_path / "results"
    models = {
        # nDCG of a, b and dev, MRR of dev, document length, health
        "bm25-1": (0.60, 0.40, 0.0, 0.30, 20.0, None),
        "dense-1": (0.20, 0.30, 0.0, 0.35, None, HEALTHY),
        "naive-1": (0.02, 0.04, 0.0, 0.01, 3800.0, DENSE),
        "moved-1": (0.61, 0.39, 0.0, 0.40, 100.0, HEALTHY),
        "moved-2": (0.63, 0.41, 0.0, 0.42, 110.0, HEALTHY),
        "moved-3": (0.62, 0.40, 0.0, 0.44, 120.0, HEALTHY),
    }
    for identity, (a, b, dev, mrr, length, health) in models.items():
        sets = {
            "a": measures(a, 0.0, length, health),
            "b": measures(b, 0.0, length, health),
            "dev": measures(dev, mrr, length, health),
        }
        write_evaluation(folder, identity, sets)
    return folder


@pytest.fixture
def experiment() -> PlannedExperiment:
    def row(name: str, label: str, group: str, reported: tuple[float | None, ...], **more: Any):
        return PlannedRow(id=name, label=label, group=group, reported=reported, **more)

    return PlannedExperiment(
        name="tiny",
        title="A tiny table",
        source={"document": "vocabulary-transfer", "table": 2},
        columns=(
            "zero_shot.ndcg@10",
            "in_domain.mrr@10",
            "dl19.ndcg@10",
            "zero_shot.document_length",
        ),
        rows=(
            row(
                "bm25",
                "BM25",
                "Baselines",
                (43.7, 18.4, 50.6, None),
                evaluations=ran("bm25-1"),
                facts={"head": "bm25", "calibrated": False},
            ),
            row("dpr", "DPR", "Baselines", (37.5, 31.9, 61.1, None), cited="Someone, 2020"),
            row(
                "dense",
                "BERT (dense)",
                "Baselines",
                (42.1, 32.9, 65.7, None),
                evaluations=ran("dense-1"),
                facts={"head": "dense", "calibrated": False},
            ),
            row(
                "naive",
                "Model_1 & 50%",
                "Ours",
                (47.7, 35.7, 66.3, None),
                teachers=1,
                evaluations=ran("naive-1"),
                facts={"head": "splade", "calibrated": False},
            ),
            row("lower", "+ lowercase", "Ours", (46.8, None, None, None), teachers=1),
            row(
                "moved",
                "VT",
                "Ours",
                (52.4, 38.3, 73.7, 203.1),
                reported_spread=(0.04, 0.08, 0.7, None),
                teachers=1,
                note="Our main row",
                evaluations=ran("moved-1", "moved-2", "moved-3"),
                facts={"head": "splade", "calibrated": True, "distilled": True},
            ),
        ),
        scale="mini",
        figure="dense_vs_sparse",
    )
