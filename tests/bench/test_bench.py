"""Each comparison at small sizes, in its pair of processes; the command and its refusals."""

import csv
from pathlib import Path

import numpy as np
import pytest
from measured import nothing
from typer.testing import CliRunner

from lexigraft.bench.bench import find
from lexigraft.bench.comparison import Comparison, comparisons
from lexigraft.bench.comparisons import search, transfer
from lexigraft.bench.growth.curves import curves
from lexigraft.bench.measure import measure
from lexigraft.bench.sides import both_sides
from lexigraft.cli import app
from lexigraft.errors import LexigraftError

runner = CliRunner()


def test_a_name_brings_its_comparison_and_none_brings_all() -> None:
    assert [one.name for one in find(["search", "head", "search"])[0]] == ["search", "head"]
    assert find([]) == (list(comparisons().values()), list(curves().values()))


@pytest.mark.slow
@pytest.mark.parametrize("name", comparisons())
def test_both_sides_agree(name: str) -> None:
    comparison = comparisons()[name]
    for package in comparison.packages:
        pytest.importorskip(package)
    measured = measure(comparison, "small", pairs=2, threads=1)
    assert measured.difference <= comparison.tolerance
    assert len(measured.ratios) == 2
    assert min(measured.ratios) > 0
    assert min(peak.total for peak in measured.memory.values()) > 10**7


@pytest.mark.slow
def test_the_command_writes_a_report_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "bench"
    words = ["bench", "search", "--sizes", "small", "--pairs", "3", "--threads", "1"]
    for _ in range(2):  # A second run takes the place of the first.
        done = runner.invoke(app, [*words, "--out", str(out)])
        assert done.exit_code == 0, done.output
    names = ["bench.csv", "bench.md", "bench.png", "bench.svg"]
    assert sorted(path.name for path in out.iterdir()) == names
    assert [path.name for path in tmp_path.iterdir()] == ["bench"]
    (line,) = csv.DictReader((out / "bench.csv").read_text().splitlines())
    assert line["comparison"] == "search"
    assert len(line["all_seconds_ours"].split()) == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["serch"], "bench: found 'serch'; allowed: head, head-250k, "),
        (["head", "--pairs", "0"], "--pairs: found 0; allowed: 1 or more"),
        (["head", "--threads", "0"], "--threads: found 0; allowed: 1 to "),
        (["head", "--threads", "100000"], "--threads: found 100000; allowed: 1 to "),
    ],
)
def test_a_sentence_and_code_2_for_bad_input(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    done = runner.invoke(app, ["bench", *words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert sentence in done.output
    assert not (tmp_path / "out").exists()


def test_an_absent_package_is_named_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lexigraft.bench.comparison.find_spec", lambda name: None)
    done = runner.invoke(app, ["bench", "transfer", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    sentence = "transfer: needs the package entmax, which is not installed; install it with: pip"
    assert sentence in done.output
    assert not (tmp_path / "out").exists()


def test_every_package_of_a_peer_is_in_the_extra(root: Path) -> None:
    extra = next(
        line for line in (root / "pyproject.toml").read_text().splitlines() if "bench = [" in line
    )
    pinned = (root / "envs" / "bench.lock").read_text()
    for comparison in comparisons().values():
        for package in comparison.packages:
            assert f'"{package}>=' in extra
            assert f"\n{package}==" in pinned


def a_comparison(name: str, tolerance: float = 0.0) -> Comparison:
    """What the workers know by `name`, with another tolerance here."""
    return Comparison(
        name=name,
        title="",
        peer="a peer",
        ours=nothing,
        theirs=nothing,
        sizes={"full": {}, "small": {}},
        tolerance=tolerance,
    )


def test_results_beyond_the_tolerance_end_the_measurement() -> None:
    with pytest.raises(LexigraftError, match="search: scores of ours and of the peer differ by"):
        measure(a_comparison("search", tolerance=-1.0), "small", pairs=1, threads=1)


def test_a_side_that_fails_shows_its_traceback(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=r"(?s)no such, ours: .*KeyError: 'no such'"),
        both_sides(a_comparison("no such"), "small", 1, tmp_path),
    ):
        pass


def test_a_side_that_is_killed_is_told(tmp_path: Path) -> None:
    with both_sides(a_comparison("search"), "small", 1, tmp_path) as sides:
        sides["peer"].process.kill()
        with pytest.raises(LexigraftError, match="search, a peer: its process was ended by sig"):
            sides["peer"].ask("time")
        assert sides["ours"].ask("time")["seconds"] > 0
    assert sides["ours"].process.returncode is not None


def test_vectors_have_the_terms_that_are_asked_for() -> None:
    queries, documents = search._material(
        vocabulary=300, documents=400, document_terms=20, queries=5, query_terms=6
    )
    for matrix, terms in ((queries, 6), (documents, 20)):
        assert matrix.shape[1] == 300
        assert (np.diff(matrix.indptr) == terms).all()
        matrix.sum_duplicates()
        assert (np.diff(matrix.indptr) == terms).all()
    # A stratum is wider the later it comes, so its terms are rarer.
    frequency = np.bincount(documents.indices, minlength=300)
    assert frequency[:15].mean() > 5 * frequency[150:].mean()


def test_targets_are_anchors_or_new() -> None:
    overlap = transfer._material(source=40, target=30, anchors=17, width=4).overlap
    both = sorted([*overlap.target_ids.tolist(), *overlap.new_ids.tolist()])
    assert both == list(range(30))
    assert len(set(overlap.source_ids.tolist())) == 17
