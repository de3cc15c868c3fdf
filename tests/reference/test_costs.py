"""What experiments cost, by the times of a reference that is written by hand."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lexigraft.cli import app
from lexigraft.errors import LexigraftError
from lexigraft.reference.costs import costs
from lexigraft.specs.config import load_config
from lexigraft.specs.plan import Plan, build_plan

HEAD = "stage,id,environment,finished,seconds\n"


@pytest.fixture
def plan(root: Path) -> Plan:
    stated = {"scale": "smoke", "experiments": ["table4", "table2"], "rows": "main"}
    return build_plan(load_config(root, stated))


def reference(folder: Path, lines: list[str]) -> Path:
    (folder / "reference.json").write_text(json.dumps({"environments": []}))
    (folder / "outputs.csv").write_text(HEAD + "".join(f"{line}\n" for line in lines))
    return folder


def cells(text: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in text.splitlines()[3:]}


def test_a_shared_job_is_counted_once(plan: Plan, tmp_path: Path) -> None:
    """Two minutes a transfer, three a fine-tuning, all else none: with the corpus and two
    backbones one transfer makes table 4; table 2 fine-tunes that very transfer, too."""
    minutes = {"transfer": 2, "finetune": 3}
    times = [f"{s.stage},{s.id},,,{60 * minutes.get(s.stage, 0)}" for s in plan.stages.values()]
    found = costs(plan, reference(tmp_path, times))
    assert found.splitlines()[0] == f"Minutes of one core at scale smoke, by {tmp_path}"
    kinds = [spec.stage for spec in plan.stages.values()]
    trained, moved = kinds.count("finetune"), kinds.count("transfer")
    assert moved == 1
    assert cells(found) == {
        "table4": ["4", "2", "2"],
        "table2": [str(len(kinds)), str(3 * trained + 2), str(3 * trained)],
        "all": [str(len(kinds)), str(3 * trained + 2), str(3 * trained + 2)],
    }


def test_a_job_without_a_time_is_said_to_be_one(plan: Plan, tmp_path: Path) -> None:
    times = [
        f"{spec.stage},{spec.id},,,{'' if spec.stage == 'corpus' else 60}"
        for spec in plan.stages.values()
        if spec.stage != "finetune"
    ]
    found = cells(costs(plan, reference(tmp_path, times)))
    assert found["table4"] == ["4", "3", "3", "1"]
    trained = sum(spec.stage == "finetune" for spec in plan.stages.values())
    assert found["all"][-1] == str(1 + trained)


def test_what_is_no_reference_is_refused(plan: Plan, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"reference\.json: no such file"):
        costs(plan, tmp_path)
    (reference(tmp_path, []) / "reference.json").write_text("{}")
    with pytest.raises(LexigraftError, match="environments"):
        costs(plan, tmp_path)
    (tmp_path / "outputs.csv").write_text("")
    (tmp_path / "reference.json").write_text('{"environments": []}')
    with pytest.raises(LexigraftError, match=r"outputs\.csv: not what was written; its columns"):
        costs(plan, tmp_path)


@pytest.mark.parametrize("seconds", ["soon", "nan", "inf", "-1"])
def test_seconds_that_no_job_takes_are_refused(plan: Plan, tmp_path: Path, seconds: str) -> None:
    with pytest.raises(LexigraftError, match=r"outputs\.csv: line 2: .*ValueError"):
        costs(plan, reference(tmp_path, [f"corpus,a,,,{seconds}"]))


def test_a_reference_of_another_scale_is_refused(plan: Plan, tmp_path: Path) -> None:
    kept = {"environments": [], "scale": "mini"}
    reference(tmp_path, ["corpus,a,,,1"])
    (tmp_path / "reference.json").write_text(json.dumps(kept))
    with pytest.raises(LexigraftError, match=r"a run of scale mini; .* any job of scale smoke"):
        costs(plan, tmp_path)


def test_the_committed_reference_is_of_mini_as_it_is_planned(root: Path) -> None:
    """Another recipe has other ids: then the reference, and what the README says, are to be made
    anew."""
    folder = root / "results" / "reference" / "mini"
    record = json.loads((folder / "reference.json").read_text(encoding="utf-8"))
    values = {"scale": record["scale"], "experiments": record["experiments"]}
    told = costs(build_plan(load_config(root, values)), folder)
    assert "not timed" not in told
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert told.split("\n", 1)[1] in readme


def test_the_command(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    told = CliRunner().invoke(app, ["tables", "--cost"])
    assert told.exit_code == 0
    assert told.stdout.startswith("Minutes of one core at scale mini, by results/reference/mini")
    both = CliRunner().invoke(app, ["tables", "--cost", "--coverage"])
    assert (both.exit_code, "one of them is allowed" in both.output) == (2, True)
    refused = CliRunner().invoke(app, ["tables", "--cost", "--reference", "docs"])
    assert (refused.exit_code, "docs/reference.json: no such file" in refused.output) == (2, True)
