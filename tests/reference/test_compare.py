"""A run against a reference: what is equal, what differs and by how much, worked out by eye."""

from pathlib import Path

import pytest
from small_runs import (
    ENVIRONMENT,
    FLOPS,
    NDCG,
    write_claims,
    write_provenance,
    write_record,
    write_table,
    write_words,
)

from lexigraft.errors import LexigraftError
from lexigraft.reference.circumstances import Circumstance
from lexigraft.reference.compare import Comparison, Difference, TableComparison, compare


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a lock of its own."""
    monkeypatch.chdir(tmp_path)


def table(found: Comparison, name: str = "t2") -> TableComparison:
    return next(table for table in found.tables if table.name == name)


def test_cells_are_counted_and_differences_told(results: Path, reference: Path) -> None:
    found = compare(results, reference, 1)
    t2 = table(found)
    # Five numbers and the collapse of c; alike are a's FLOPS and c's nDCG.
    assert (t2.cells, t2.equal, t2.tolerated) == (6, 2, 1)
    assert t2.differing == (
        Difference("c", "collapse", "dense collapse", ""),
        Difference("b", NDCG, "51.3", "51.0", 0.3, 3.0),
        Difference("b", FLOPS, "1.36", "1.34", 0.02, 2.0),
    )
    assert t2.largest == t2.differing[1]
    assert not found.agrees
    assert found.tables_not_made_here == ("t10",)
    assert found.tables_not_in_reference == ()


@pytest.mark.parametrize(("tolerance", "differing"), [(0, 4), (0.19, 4), (0.2, 3), (2, 2), (3, 1)])
def test_the_tolerance_counts_in_the_last_printed_digit(
    results: Path, reference: Path, tolerance: float, differing: int
) -> None:
    # 54.06 and 54.04 are 0.02 apart, a fifth of the last printed digit; a verdict is no number.
    t2 = table(compare(results, reference, tolerance))
    assert (len(t2.differing), t2.tolerated) == (differing, 4 - differing)


def test_what_prints_alike_is_equal_at_any_tolerance(results: Path, reference: Path) -> None:
    write_table(results, "t2", {("a", NDCG): "54.01"})
    assert table(compare(results, reference, 0)).equal == 1


@pytest.mark.parametrize(("ours", "within"), [("54.44", True), ("53.64", True), ("54.45", False)])
def test_a_difference_within_the_references_spread_is_said_to_be(
    results: Path, reference: Path, ours: str, within: bool
) -> None:
    write_table(results, "t2", {("a", NDCG): ours, ("b", NDCG): "53"})
    a, b = sorted(table(compare(results, reference, 1)).differing, key=lambda d: d.row)
    assert (a.within_spread, a.deviation, a.seeds) == (within, 0.4, 3)
    # One seed has no spread.
    assert (b.within_spread, b.deviation, b.seeds) == (False, None, 0)


def test_rows_and_columns_of_one_side(results: Path, reference: Path) -> None:
    write_table(
        results,
        "t2",
        {
            ("a", NDCG): "54.04",
            ("a", "in_domain.mrr@10"): "30",
            ("b", NDCG): {"ours": "", "status": "not run", "evaluations": ""},
            ("new", NDCG): "10",
        },
    )
    found = compare(results, reference, 1)
    t2 = table(found)
    assert (t2.rows_only_here, t2.rows_only_in_reference) == (("new",), ("c",))
    assert (t2.columns_only_here, t2.columns_only_in_reference) == (("in_domain.mrr@10",), (FLOPS,))
    assert (t2.rows_not_run_here, t2.rows_not_run_in_reference) == (("b",), ())
    assert (t2.cells, t2.equal, t2.differing) == (1, 1, ())
    # c and FLOPS are lost.
    assert not t2.agrees


def test_what_is_new_or_not_run_is_no_difference(results: Path, reference: Path) -> None:
    write_claims(results, gain=("holds", 3.0, 0.001), other=("fails", -3.0, 0.001))
    cells = {
        (row, column): {"ours": "", "status": "not run", "evaluations": ""}
        for row in ("a", "b")
        for column in (NDCG, FLOPS)
    }
    write_table(results, "t2", {**cells, ("c", NDCG): "20.7", ("new", NDCG): "10"})
    # A table that is not compared is not read either.
    (results / "tables" / "mine.csv").write_text("damaged")
    found = compare(results, reference, 1)
    assert found.agrees
    assert found.tables_not_in_reference == ("mine",)
    assert found.claims is not None
    assert (found.claims.compared, found.claims.not_judged_here) == (1, 2)
    assert found.claims.not_judged_in_reference == 1


def test_a_value_that_is_lost_or_new_differs(results: Path, reference: Path) -> None:
    write_table(results, "t2", {("a", NDCG): "54.04", ("b", NDCG): "", ("c", FLOPS): "0.5"})
    t2 = table(compare(results, reference, 1))
    assert t2.differing == (
        Difference("a", FLOPS, "", "2.10"),
        Difference("b", NDCG, "", "51.0"),
        Difference("b", FLOPS, "", "1.34"),
        Difference("c", NDCG, "", "20.7"),
        Difference("c", FLOPS, "0.50", ""),
    )
    assert t2.largest is None


def test_ids_are_texts_however_they_look(results: Path, reference: Path) -> None:
    rows = ("0.1", "0.10", "1e2", "100", "007", "7", "nan", "NA", "-", "TRUE")
    for folder in (results, reference):
        write_table(folder, "t2", {(row, NDCG): str(n) for n, row in enumerate(rows)})
    t2 = table(compare(results, reference, 0))
    assert (t2.cells, t2.equal) == (10, 10)
    write_table(results, "t2", {(row, NDCG): str(n) for n, row in enumerate(rows) if row != "100"})
    assert table(compare(results, reference, 0)).rows_only_in_reference == ("100",)


def test_words_are_compared_by_anchor_and_weight(results: Path, reference: Path) -> None:
    anchors = {"clears": [("cleared", "0.3612"), ("NaN", "0.2")]}
    write_words(results, "t10", anchors)
    t10 = table(compare(results, reference, 1), "t10")
    # Fate, number of anchors, two anchors and two weights.
    assert (t10.cells, t10.equal, t10.tolerated) == (6, 4, 0)
    assert t10.differing == (
        Difference("clears", "anchor 2", "NaN", "clear"),
        Difference("clears", "weight 1", "0.361", "0.360", 0.0012, 1.2),
    )


def test_a_table_of_no_digit_comes_before_table_2_before_table_10(
    results: Path, reference: Path
) -> None:
    write_words(results, "t10", {"clears": [("cleared", "0.36"), ("clear", "0.2")]})
    for folder in (results, reference):
        write_table(folder, "figure", {("a", NDCG): "1"})
    found = compare(results, reference, 1)
    assert [each.name for each in found.tables] == ["figure", "t2", "t10"]


def test_claims_whose_verdict_changed(results: Path, reference: Path) -> None:
    claims = compare(results, reference, 1).claims
    assert claims is not None
    assert (claims.compared, claims.not_judged_here, claims.not_judged_in_reference) == (2, 1, 0)
    (changed,) = claims.changed
    assert (changed.claim, changed.here, changed.reference) == ("gap", "within noise", "holds")
    (relation,) = changed.relations
    assert relation.relation == "gap > base"
    assert (relation.difference_here, relation.difference_reference) == (4.5, 4.7)
    assert (relation.p_here, relation.p_reference) == (0.061, 0.012)


def test_a_changed_verdict_alone_makes_a_difference(results: Path, reference: Path) -> None:
    (results / "tables" / "t2.csv").write_bytes((reference / "tables" / "t2.csv").read_bytes())
    assert not compare(results, reference, 1).agrees
    (results / "claims.json").unlink()
    found = compare(results, reference, 1)
    assert found.claims is None
    assert found.agrees


def test_what_was_made_differently_is_said(results: Path, reference: Path, tmp_path: Path) -> None:
    hardware = {"machine": "x86_64", "processor": "Xeon"}
    versions = {"python": "3.11.7", "torch": "2.14.0"}
    write_provenance(
        results, "evaluate/a-1", commit="bbb", hardware=hardware, versions=versions, threads=2
    )
    # No output of the reference and of no table that is compared: another run's.
    write_provenance(results, "evaluate/other-1", commit="ccc")
    (tmp_path / "envs").mkdir()
    (tmp_path / "envs" / "requirements.lock").write_text("# Pins.\nnumpy==2.5.0\nscipy==1.17.1\n")
    (reference / "requirements.lock").write_text("# Pins.\nnumpy==2.4.6\nscipy==1.17.1\n")
    write_record(reference, significance=0.01)
    assert compare(results, reference, 1).made_differently == (
        Circumstance("significance", "0.05", "0.01"),
        Circumstance("commit", "bbb", "aaa"),
        Circumstance("threads", "2", "1"),
        Circumstance("processor", "Xeon", "AMD EPYC"),
        Circumstance("torch", "2.14.0", "2.13.0+cpu"),
        Circumstance("envs/requirements.lock", "numpy 2.5.0", "numpy 2.4.6"),
    )


def test_the_machine_of_other_outputs_is_not_held_against_a_run(
    results: Path, reference: Path
) -> None:
    other = ENVIRONMENT | {"hardware": {"machine": "x86_64", "processor": "Xeon"}}
    write_record(reference, environments=[ENVIRONMENT, other])
    with (reference / "outputs.csv").open("a") as stream:
        stream.write("finetune,big-1,1,2026-11-30T06:00:31Z,100\n")
    write_provenance(results, "evaluate/a-1")
    assert compare(results, reference, 1).made_differently == ()
    write_provenance(results, "finetune/big-1")
    assert compare(results, reference, 1).made_differently == (
        Circumstance("processor", "AMD EPYC", "AMD EPYC, Xeon"),
    )


def test_rows_of_other_options_are_named(results: Path, reference: Path) -> None:
    write_table(results, "t2", {("a", NDCG): {"ours": "54", "evaluations": "evaluate/a-2"}})
    assert table(compare(results, reference, 1)).rows_of_other_options == ("a",)


def test_another_scale_is_said_first(results: Path, reference: Path) -> None:
    write_table(results, "t2", {("a", NDCG): "10"}, scale="smoke")
    found = compare(results, reference, 1)
    assert (found.scale, found.reference_scale) == ("smoke", "mini")
    assert found.made_differently[0] == Circumstance("scale", "smoke", "mini")


HEAD = "scale,row,status,collapse,column,ours,deviation,seeds,evaluations\n"
LINE = "mini,a,run,,zero_shot.flops,1.5,,42,evaluate/a-1\n"


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        (
            "tables/t2.csv",
            HEAD + LINE.replace("1.5", "nan"),
            "row 'a', column .* found 'nan'; ",
        ),
        (
            "tables/t2.csv",
            HEAD + LINE.replace("1.5", "-inf"),
            "found '-inf'; allowed: a finite",
        ),
        (
            "tables/t2.csv",
            HEAD + LINE.replace("1.5", "high"),
            "found 'high'; allowed: a finite",
        ),
        ("tables/t2.csv", HEAD + LINE.replace("5,,42", "5,x,42"), "found 'x'; allowed: a finite"),
        ("tables/t2.csv", HEAD + LINE + LINE, "the cell 'a', 'zero_shot.flops' stands twice"),
        (
            "tables/t2.csv",
            HEAD + LINE + LINE.replace("mini,a", "x,b"),
            "of the scales mini, x; ",
        ),
        (
            "tables/t2.csv",
            HEAD + LINE.replace("flops", "flips"),
            "column 'zero_shot.flips': meas",
        ),
        ("tables/t2.csv", HEAD + "mini,a\n", "line 2 has not as many fields as the first"),
        ("tables/t2.csv", HEAD, "no cell; names and one line of values or more are needed"),
        ("tables/t2.csv", "", "no cell; names and one line"),
        ("tables/t2.csv", HEAD.replace("ours", "their") + LINE, "no column 'ours'"),
        ("tables/t2.csv", b"\xff\xfe", "not valid CSV"),
        ("claims.json", "[]", "list found, a JSON object is needed"),
        ("claims.json", '{"claims": [3]}', "claims: 0: found 3; a JSON object is needed"),
        ("claims.json", '{"claims": [{"id": 3}]}', "claims: 0: 'id' is 3, a string is needed"),
        ("claims.json", "{", "not valid JSON"),
        ("evaluate/a-1/provenance.json", "{}", "'commit' is missing, a string is needed"),
    ],
)
def test_a_run_that_is_not_what_was_written_is_refused(
    results: Path, reference: Path, file: str, content: str | bytes, told: str
) -> None:
    (results / file).parent.mkdir(parents=True, exist_ok=True)
    (results / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LexigraftError, match=f"{file}: .*{told}"):
        compare(results, reference, 1)


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("reference.json", "", "not valid JSON"),
        ("reference.json", "{}", "'scale' is missing"),
        (
            "reference.json",
            '{"scale": "mini", "environments": [1]}',
            "environments: int found, a JSON object",
        ),
        (
            "reference.json",
            '{"scale": "mini", "environments": [{"commit": "a", "versions": []}]}',
            "environments: 'versions' is .., a JSON object is needed",
        ),
        (
            "outputs.csv",
            "stage,id\nencode,x\n",
            "not what was written; its columns are stage, id, environment",
        ),
        (
            "outputs.csv",
            "stage,id,environment,finished,seconds\nencode,x,7,,\n",
            "line 2: not what was written .IndexError",
        ),
        ("claims.json", None, "no such file"),
        ("outputs.csv", None, "No such file"),
        ("reference.json", None, "no such file"),
    ],
)
def test_a_damaged_reference_is_refused(
    results: Path, reference: Path, file: str, content: str | None, told: str
) -> None:
    if content is None:
        (reference / file).unlink()
    else:
        (reference / file).write_text(content)
    with pytest.raises(LexigraftError, match=f"{file}: .*{told}"):
        compare(results, reference, 1)


def test_nothing_to_compare_is_refused(results: Path, reference: Path) -> None:
    (results / "tables" / "t2.csv").rename(results / "tables" / "t3.csv")
    with pytest.raises(LexigraftError, match="nothing to compare; made are t3, the reference has"):
        compare(results, reference, 1)
    (results / "tables" / "t3.csv").unlink()
    with pytest.raises(LexigraftError, match="tables: no table; run snakemake first"):
        compare(results, reference, 1)


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("inf")])
def test_a_tolerance_out_of_range(results: Path, reference: Path, tolerance: float) -> None:
    with pytest.raises(LexigraftError, match=r"--tolerance: found .*; allowed: a finite number, 0"):
        compare(results, reference, tolerance)
