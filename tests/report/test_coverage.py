"""What becomes of each row of the paper's tables."""

import re
from pathlib import Path

import pytest
import yaml

from lexigraft.report.coverage import PAPER, coverage
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import build_plan


def lines(root: Path, scale: str, *experiments: str, rows: str = "all") -> list[str]:
    values = {"scale": scale, "experiments": list(experiments), "rows": rows}
    plan = build_plan(load_config(root, values))
    return coverage(plan.experiments.values()).splitlines()


def told(text: list[str], label: str) -> str:
    (line,) = [line for line in text if line.strip().startswith(label)]
    return line.strip().removeprefix(label).strip()


def test_a_row_is_run_or_cited_with_the_reason(root: Path) -> None:
    small = lines(root, "mini", "table1", "table2", "vectors")
    assert told(small, "SPLADE-v3 ") == (
        "cited from Lassance et al., 2024: scale mini has no backbone splade-v3"
    )
    assert told(small, "Reference baselines: DPR") == (
        "cited from Karpukhin et al., 2020b: another system, which is not built here"
    )
    assert told(small, "Reference baselines: BM25") == "run"
    assert small[-1] == "Beyond the paper: vectors"
    large = lines(root, "paper", "table1")
    assert told(large, "SPLADE-v3 ") == "run"
    assert told(large, "ModernBERT-VT ") == "run, 5 seeds"


def test_a_row_that_is_no_main_one_is_said_to_be(root: Path) -> None:
    text = lines(root, "mini", "table2", rows="main")
    assert told(text, "Our results: + lowercase input") == "not run: no main row (--rows all)"


@pytest.mark.parametrize("scale", ["smoke", "mini"])
def test_by_default_every_row_is_run_or_cited(root: Path, scale: str) -> None:
    stated = yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    plan = build_plan(load_config(root, stated | {"scale": scale}))
    text = coverage(plan.experiments.values()).splitlines()
    rows = [line for line in text if line.startswith("  ")]
    assert len(rows) > 100
    assert all(re.search(r"  (run|cited from .+)\b", row) for row in rows)
    assert not [line for line in text if "not run" in line or "no experiment" in line]


def test_a_table_that_no_experiment_is_about_is_named(root: Path) -> None:
    text = lines(root, "mini", "table1")
    headings = [line for line in text if line.startswith(("Table", "Figure", "Section"))]
    assert len(headings) == len(PAPER) == 12
    assert text[text.index(next(h for h in headings if h.startswith("Table 9"))) + 1] == (
        "  no experiment is about it"
    )
