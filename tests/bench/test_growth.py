"""Exponents by hand, curves in processes of their own, and what is said of them."""

import csv
from pathlib import Path

import pytest
from measured import nothing
from typer.testing import CliRunner

from lexigraft.bench.bench import find
from lexigraft.bench.growth import planning
from lexigraft.bench.growth.curve import Curve, exponent
from lexigraft.bench.growth.curves import curves
from lexigraft.bench.growth.figure import write_figure
from lexigraft.bench.growth.measure import Grown, Point, measure_growth
from lexigraft.bench.growth.report import csv_text, markdown_text
from lexigraft.bench.memory import Peak
from lexigraft.cli import app

MIB = 2**20
runner = CliRunner()


def test_exponents_by_hand() -> None:
    values = [10, 100, 1000]
    assert exponent(values, [0.2, 2, 20]) == pytest.approx(1)
    assert exponent(values, [1, 100, 10_000]) == pytest.approx(2)
    assert exponent(values, [3, 3, 3]) == pytest.approx(0)
    assert exponent([4, 16, 64], [1, 2, 4]) == pytest.approx(0.5)
    # Logarithms -1, 0, 1 and 0, 0, 3: the middle weighs nothing, the slope is 3 / 2.
    assert exponent(values, [1, 1, 1000]) == pytest.approx(1.5)


@pytest.mark.parametrize(("values", "measured"), [([1], [1]), ([1, 2], [0, 1]), ([0, 2], [1, 1])])
def test_no_exponent_without_two_values_above_0(values: list[int], measured: list[int]) -> None:
    with pytest.raises(ValueError, match="two or more values above 0"):
        exponent(values, measured)


def grown(name: str = "growth-x", *, with_memory: bool = True) -> Grown:
    """Time 1, 1, 100 (exponent 1, then 2); memory less than 1 MiB, 10 MiB, 100 MiB (1)."""
    sizes = {"items": 3}
    curve = Curve(
        name=name,
        title="a thing of {items} items",
        axis="length",
        label="length|L",
        prepare=nothing,
        fixed={"full": sizes, "small": sizes},
        values={"full": (10, 100, 1000), "small": (1, 2, 3)},
        with_memory=with_memory,
    )
    seconds = ([3.0, 1.0, 0.5], [1.0, 1.0, 1.0], [100.0, 90.0, 110.0])
    extra = (0, 10 * MIB, 100 * MIB)
    return Grown(
        curve,
        "full",
        [
            Point(value, own, Peak(bytes_, 10**9) if with_memory else None)
            for value, own, bytes_ in zip((10, 100, 1000), seconds, extra, strict=True)
        ],
    )


def test_both_exponents_of_time_and_memory() -> None:
    one = grown()
    assert one.seconds == [1, 1, 100]
    assert one.exponents(one.seconds) == pytest.approx((1, 2))
    assert one.mebibytes == [1, 10, 100]
    assert one.exponents(one.mebibytes) == pytest.approx((1, 1))


def test_the_report_has_every_call_and_says_what_was_not_measured() -> None:
    both = [grown(), grown("growth-y", with_memory=False)]
    lines = list(csv.DictReader(csv_text(both).splitlines()))
    assert [line["value"] for line in lines] == ["10", "100", "1000"] * 2
    assert (lines[0]["seconds"], lines[0]["all_seconds"]) == ("1", "3 1 0.5")
    assert (lines[1]["extra_bytes"], lines[4]["extra_bytes"]) == (str(10 * MIB), "")
    cells = [
        [cell.strip() for cell in line.split(" | ")]
        for line in markdown_text(both, {"cores": "2"}).splitlines()
        if "a thing of 3 items" in line
    ]
    assert [row[2:] for row in cells] == [
        ["**1.00**", "2.00", "**1.00**", "1.00 |"],
        ["**1.00**", "2.00", "–", "– |"],
    ]


def test_the_figure_is_the_same_bytes_for_the_same_values(tmp_path: Path) -> None:
    both = [grown(), grown("growth-y", with_memory=False)]
    for name in ("a", "b"):
        write_figure(both, tmp_path / name)
    for kind in ("png", "svg"):
        first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
        assert first == second
        assert len(first) > 5_000


def test_every_curve_has_three_sizes_and_a_name_of_its_own() -> None:
    for name, curve in curves().items():
        assert name.startswith("growth-")
        for sizes in ("full", "small"):
            values = curve.values[sizes]
            assert len(values) >= 3
            assert list(values) == sorted(set(values))
            assert curve.describe(sizes)
    compared, grow = find(["growth-search", "head", "growth-length"])
    assert [one.name for one in compared] == ["head"]
    assert [one.name for one in grow] == ["growth-search", "growth-length"]


@pytest.mark.parametrize("name", curves())
def test_the_work_of_each_curve_runs(
    name: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    curve = curves()[name]
    for value in curve.values["small"]:
        curve.work("small", value).run()


def test_a_curve_is_measured_in_a_process_for_each_size() -> None:
    one = measure_growth(curves()["growth-search"], "small", calls=2, threads=1)
    assert one.values == [200, 400, 800]
    assert [len(point.seconds) for point in one.points] == [2, 2, 2]
    assert min(one.seconds) > 0
    assert min(point.memory.total for point in one.points if point.memory) > 10**7
    assert all(point.memory for point in one.points)


@pytest.mark.parametrize("jobs", [10, 100])
def test_a_plan_has_the_jobs_that_are_asked_for(
    jobs: int, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert planning.ours(jobs=jobs).run() == jobs


def test_planning_elsewhere_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = runner.invoke(app, ["bench", "growth-planning", "--out", "out"])
    assert done.exit_code == 2
    assert f"{tmp_path}: no Snakefile with its workflow; planning is measured in" in done.output
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_growth_report_alone(tmp_path: Path) -> None:
    out = tmp_path / "bench"
    words = ["bench", "growth-search", "--sizes", "small", "--pairs", "1", "--threads", "1"]
    for _ in range(2):  # A second run takes the place of the first.
        done = runner.invoke(app, [*words, "--out", str(out)])
        assert done.exit_code == 0, done.output
    names = ["growth.csv", "growth.md", "growth.png", "growth.svg"]
    assert sorted(path.name for path in out.iterdir()) == names
