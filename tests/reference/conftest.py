"""A run of one table beside a reference of two."""

from pathlib import Path

import pytest
from small_runs import FLOPS, NDCG, write_claims, write_record, write_table, write_words

SEEDS = {"deviation": "0.4", "seeds": "1 2 3"}


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    folder = tmp_path / "reference"
    cells = {
        ("a", NDCG): {"ours": "54.04", **SEEDS},
        ("a", FLOPS): {"ours": "2.1", **SEEDS, "deviation": "0.01"},
        ("b", NDCG): "51",
        ("b", FLOPS): "1.34",
        ("c", NDCG): "20.7",
        ("c", FLOPS): "",
    }
    write_table(folder, "t2", cells)
    write_words(folder, "t10", {"clears": [("cleared", "0.36"), ("clear", "0.2")]})
    write_record(folder)
    write_claims(
        folder, gap=("holds", 4.7, 0.012), gain=("holds", 3.0, 0.001), late=("fails", -1.0, 0.02)
    )
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """As the reference, but: a prints 54.1, b is 0.3 higher and costs 0.02 more, c collapsed."""
    folder = tmp_path / "results"
    cells = {
        ("a", NDCG): {"ours": "54.06", **SEEDS},
        ("a", FLOPS): {"ours": "2.1", **SEEDS, "deviation": "0.01"},
        ("b", NDCG): "51.3",
        ("b", FLOPS): "1.36",
        ("c", NDCG): {"ours": "20.7", "collapse": "dense collapse"},
        ("c", FLOPS): {"ours": "", "collapse": "dense collapse"},
    }
    write_table(folder, "t2", cells)
    write_claims(
        folder,
        gap=("within noise", 4.5, 0.061),
        gain=("holds", 3.1, 0.001),
        late=("not run here", 0.0, 1.0),
    )
    return folder
