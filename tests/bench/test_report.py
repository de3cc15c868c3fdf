"""Ratios by hand, and what the report says of them."""

import csv
from pathlib import Path

import pytest
from measured import by_hand

from lexigraft.bench.figure import write_figure
from lexigraft.bench.report import csv_text, markdown_text


def test_ratios_are_of_pairs() -> None:
    one = by_hand()
    assert one.ratios == [4.0, 2.0, 3.0]
    assert one.ratio == 3.0
    assert one.memory_ratio == 0.25
    assert (one.median_seconds("ours"), one.median_seconds("peer")) == (2.0, 6.0)


def test_csv_has_every_call_and_the_targets() -> None:
    (line,) = csv.DictReader(csv_text([by_hand(time=4.0, memory=0.5)]).splitlines())
    assert (line["time_ratio"], line["time_ratio_least"], line["time_ratio_most"]) == (
        "3",
        "2",
        "4",
    )
    assert (line["time_ratio_target"], line["memory_ratio_target"]) == ("4", "0.5")
    assert line["all_seconds_peer"] == "4 6 6"
    assert line["extra_bytes_ours"] == "10000000"
    assert line["difference"] == "2e-07"


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ({"time": 3.0}, "≥ 3 ✓"),
        ({"time": 3.1}, "≥ 3.1 ✗"),
        ({"memory": 0.25}, "≤ 0.25 ✓"),
        ({"memory": 0.125}, "≤ 0.125 ✗"),
        ({"total_bytes": 10**9}, "≤ 1 GB in all ✓"),
        ({"total_bytes": 9 * 10**8}, "≤ 0.9 GB in all ✗"),
    ],
)
def test_markdown_judges_targets(target: dict[str, float], shown: str) -> None:
    text = markdown_text([by_hand(**target)], {"cores": "2"})
    assert shown in text
    assert "a thing of 5,000 items" in text
    assert r"a\|peer" in text
    assert "| cores" in text


def test_small_sizes_have_no_targets_and_say_so() -> None:
    text = markdown_text([by_hand("small", time=100.0)], {})
    assert "✗" not in text.split("| Comparison")[1]
    assert "They say nothing about speed" in text
    assert "a thing of 5 items" in text


def test_the_figure_is_the_same_bytes_for_the_same_values(tmp_path: Path) -> None:
    measured = [by_hand(time=2.0), by_hand(name="two", memory=0.5)]
    for name in ("a", "b"):
        write_figure(measured, tmp_path / name)
    for kind in ("png", "svg"):
        first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
        assert first == second
        assert len(first) > 5_000
