"""Rows become stages; equal needs are shared; impossible runs and changed meanings are refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.chain import Chain
from lexigraft.specs.checks import check_run
from lexigraft.specs.config import Config, load_config
from lexigraft.specs.experiments import experiment_names
from lexigraft.specs.plan import Plan, build_plan
from lexigraft.specs.run import Run, axes, with_deltas
from lexigraft.specs.scales import load_scale

HEAD = {"backbone": "modernbert", "target": "bert-uncased", "transfer.part": "head"}


def planned(root: Path, **values: object) -> Plan:
    return build_plan(load_config(root, {"scale": "paper", "experiments": ["table2"]} | values))


def of_stage(plan: Plan, stage: str) -> list[str]:
    return [identity for identity, spec in plan.stages.items() if spec.stage == stage]


def test_the_main_rows_share_what_they_have_in_common(root: Path) -> None:
    plan = planned(root, rows="main")
    # BERT and ModernBERT; dense, sparse, sparse calibrated of each, and ModernBERT-VT with 5 seeds.
    assert len(of_stage(plan, "backbone")) == 2
    assert len(of_stage(plan, "transfer")) == 1
    assert len(of_stage(plan, "mlm")) == 5
    assert len(of_stage(plan, "finetune")) == 6 + 5
    # MS MARCO (dev and TREC-DL 2019) and 13 BEIR sets; BM25 has no vectors.
    assert len(of_stage(plan, "encode")) == 11 * 14
    assert len(of_stage(plan, "evaluate")) == 12 * 14


def test_a_rows_results_are_found_by_seed_and_role(root: Path) -> None:
    row = next(r for r in planned(root).experiments["table2"].rows if r.id == "modernbert-vt")
    assert list(row.evaluations) == [42, 1, 2, 3, 4]
    roles = row.evaluations[42]
    assert [name for _, name in roles["dl19"]] == ["trec-dl-2019"]
    assert len(roles["zero_shot"]) == 13
    assert roles["dl19"][0][0] == roles["in_domain"][0][0]


def test_rows_that_claims_compare_get_many_seeds_where_the_scale_says_so(
    root: Path, tmp_path: Path
) -> None:
    tree = tmp_path
    shutil.copytree(root / "workflow", tree / "workflow")
    path = tree / "workflow/scales/mine.yaml"
    path.write_text("extends: smoke\nseeds: {one: [42], many: [5, 6], compared: many}\n")
    mine = planned(tree, scale="mine", rows="all").experiments["table2"]
    seeds = {row.id: list(row.evaluations) for row in mine.rows if row.evaluations}
    assert seeds["bert-splade"] == seeds["modernbert-vt"] == [5, 6]
    # No claim of workflow/claims.yaml names it, and BM25 has nothing random.
    assert seeds["bert-splade-further-mlm"] == [42]
    assert seeds["bm25"] == [5]
    path.write_text("extends: smoke\nseeds: {one: [42], many: [5, 6]}\n")
    mine = planned(tree, scale="mine", rows="all").experiments["table2"]
    seeds = {row.id: list(row.evaluations) for row in mine.rows if row.evaluations}
    assert (seeds["bert-splade"], seeds["modernbert-vt"]) == ([42], [5, 6])


def test_cited_rows_are_not_planned(root: Path) -> None:
    rows = {row.id: row for row in planned(root).experiments["table2"].rows}
    assert rows["esplade"].evaluations == {}
    assert rows["esplade"].cited == "Dudek et al., 2023"
    assert rows["esplade"].reported[0] == 51.2


def test_a_cited_row_is_run_where_the_scale_has_its_backbone(root: Path) -> None:
    plan = planned(root, scale="paper", experiments=["table1"])
    (row,) = (row for row in plan.experiments["table1"].rows if row.id == "splade-v3")
    names = {identity for pairs in row.evaluations[42].values() for identity, _ in pairs}
    assert len(names) == 13
    assert not any("splade-v3" in identity for identity in of_stage(plan, "finetune"))


def test_a_column_of_each_set_is_one_a_set(root: Path) -> None:
    small = planned(root, scale="smoke", experiments=["table1"]).experiments["table1"]
    assert small.columns[2:4] == ("zero_shot/networkx.ndcg@10", "zero_shot/bm25s.ndcg@10")
    assert {row.reported[2:4] for row in small.rows} == {(None, None)}
    large = planned(root, scale="paper", experiments=["table1"]).experiments["table1"]
    (row,) = (row for row in large.rows if row.id == "bert-splade")
    values = dict(zip(large.columns, row.reported, strict=True))
    assert values["zero_shot/arguana.ndcg@10"] == 51.6
    assert values["zero_shot.ndcg@10"] == 50.6


@pytest.mark.parametrize("scale", ["smoke", "mini", "paper"])
def test_nothing_is_planned_that_no_report_reads(root: Path, scale: str) -> None:
    for name in experiment_names(root):
        plan = planned(root, scale=scale, experiments=[name], rows="all")
        read: set[str] = set()
        open_ones = [Path(folder).name for folder in plan.evaluations([name])]
        while open_ones:
            identity = open_ones.pop()
            read.add(identity)
            open_ones += set(plan.stages[identity].inputs().values()) - read
        assert set(plan.stages) == read, name


def test_all_but_vectors_stays(root: Path) -> None:
    plan = planned(root, scale="mini")
    removed = set(map(plan.folder, plan.stages)) - set(plan.kept)
    assert removed == {plan.folder(identity) for identity in of_stage(plan, "encode")}
    rules = (root / "workflow" / "rules").glob("*.smk")
    assert [path.stem for path in rules if "temp(" in path.read_text()] == ["encode"]


def test_commands_state_inputs_and_what_differs_from_defaults(root: Path) -> None:
    plan = planned(root, rows="main")
    (identity,) = of_stage(plan, "transfer")
    words = plan.options(identity).split()
    assert words[::2] == ["--source", "--target", "--text"]
    calibrations = [plan.options(i) for i in of_stage(plan, "calibrate")]
    assert sum("--method rate" in words for words in calibrations) == 2


def test_every_axis_of_a_run_can_be_stated_in_yaml() -> None:
    names = [name for name, _ in axes()]
    assert {"backbone", "mlm.steps", "transfer.initialisation", "finetune.head"} <= set(names)
    run = with_deltas(Run(), {"mlm.corruption": [1, 0, 0], "mlm.learning_rate": 1})
    assert run.mlm.corruption == (1.0, 0.0, 0.0)
    assert isinstance(run.mlm.learning_rate, float)


@pytest.mark.parametrize(
    ("deltas", "sentence"),
    [
        ({"backbone": "gpt"}, "backbone: found 'gpt'; allowed at scale paper: bert-uncased"),
        ({"calibrate.rate": 1.0}, "calibrate.rate: found 1.0; allowed: between 0 and 1"),
        ({"mlm.corruption": [0.5, 0.1, 0.1]}, "allowed: three shares that sum to 1"),
        ({"calibrated": True, "finetune.head": "dense"}, "a dense head has none"),
        (
            {"finetune.head": "dense", "finetune.activation": "double_log"},
            "finetune.activation: found 'double_log'; allowed with a dense head: log1p",
        ),
        (
            {"finetune.head": "dense", "finetune.pooling": "sum"},
            "finetune.pooling: found 'sum'; allowed with a dense head: max",
        ),
        ({"retrieve.engine": "bm25", "adapted": True}, "bm25 has no model"),
        ({"target": "bert-uncased"}, "the backbone itself"),
        ({"finetune.negatives": 0}, "margin_mse needs 1 or more"),
        ({"finetune.learning_rate": -1.0}, "allowed: 0 or more"),
        ({"teacher.method": "dense"}, "teacher_backbone: found ''"),
        (
            {"retrieve.engine": "seismic", "finetune.head": "dense"},
            "retrieve.engine: seismic searches sparse vectors; a dense head needs exact",
        ),
        (
            {"retrieve.engine": "bm25", "retrieve.query_cut": 5},
            "retrieve.query_cut: found 5; read by seismic only, the engine is bm25",
        ),
        ({"retrieve.k1": 1.2}, "retrieve.k1: found 1.2; read by bm25 only, the engine is exact"),
        ({"retrieve.n_postings": 0}, "retrieve.n_postings: found 0; allowed: 1 or more"),
        ({"retrieve.max_fraction": 0.5}, "retrieve.max_fraction: found 0.5; allowed: 1 or more"),
        ({"retrieve.min_cluster_size": 0}, "min_cluster_size: found 0; allowed: 1 or more"),
        ({"retrieve.query_cut": 0}, "retrieve.query_cut: found 0; allowed: 1 or more"),
        ({"retrieve.centroid_fraction": 0.0}, "found 0.0; allowed: above 0, up to 1"),
        ({"retrieve.summary_energy": 1.1}, "found 1.1; allowed: above 0, up to 1"),
        ({"retrieve.heap_factor": 1.1}, "retrieve.heap_factor: found 1.1; allowed: 0 to 1"),
        (
            {"retrieve.n_postings": 2**40},
            "retrieve.n_postings: found 1099511627776; allowed: at most",
        ),
        ({"retrieve.b": 1.5}, "retrieve.b: found 1.5; allowed: 0 to 1"),
        ({"retrieve.k1": -0.1}, "retrieve.k1: found -0.1; allowed: 0 or more"),
        (
            {"finetune.head": "dense", "finetune.query_encoder": "idf"},
            "finetune.query_encoder: found 'idf'; allowed with a dense head: model",
        ),
        (
            {"finetune.query_learning_rate": 0.0},
            "finetune.query_learning_rate: found 0.0; allowed: above 0",
        ),
        ({"finetune.l0_threshold": -1}, "finetune.l0_threshold: found -1; allowed: 0 or more"),
        ({"encode.query_length": 2}, "encode.query_length: found 2; allowed: 3 or more"),
        ({"transfer.part": "head"}, "transfer.part: found 'head'; a target vocabulary is needed"),
        (HEAD | {"finetune.head": "dense"}, "a dense encoder does not use its output head"),
        (HEAD | {"finetune.query_encoder": "idf"}, "allowed with transfer.part head: model"),
        (HEAD | {"adapted": True}, "mlm.objective: found 'mlm', which predicts the tokens that"),
        ({"adapted": True, "mlm.objective": "emlm"}, "'emlm'; it needs an output vocabulary"),
        ({"adapted": True, "mlm.trains": "head"}, "mlm.trains: found 'head'; it needs an output"),
        ({"adapted": True, "mlm.objective": "sap"}, "mlm.objective: found 'sap'; it needs a targ"),
        ({"space": "gpt"}, "space: found 'gpt'; allowed at scale paper"),
        ({"sap_teacher": "gpt"}, "sap_teacher: found 'gpt'; allowed at scale paper"),
    ],
)
def test_an_impossible_run_is_refused(root: Path, deltas: dict[str, object], sentence: str) -> None:
    with pytest.raises(LexigraftError) as refused:
        check_run(with_deltas(Run(), deltas), load_scale(root, "paper"), "x.yaml: row 'y'")
    assert str(refused.value).startswith("x.yaml: row 'y': ")
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    "deltas",
    [
        {"adapted": True, "mlm.length": 65},
        {"calibrated": True, "calibrate.length": 65},
        {"finetune.query_length": 65},
        {"finetune.document_length": 65},
        {"encode.query_length": 65},
        {"encode.document_length": 65},
    ],
)
@pytest.mark.parametrize("backbone", ["bert-uncased", "roberta"])
def test_a_length_beyond_the_positions_of_our_own_backbone_is_refused(
    root: Path, deltas: dict[str, object], backbone: str
) -> None:
    scale = load_scale(root, "smoke")
    axis = list(deltas)[-1]
    run = with_deltas(scale.run, {"backbone": backbone} | deltas)
    with pytest.raises(LexigraftError) as refused:
        check_run(run, scale, "x")
    told = f"x: {axis}: found 65; allowed: at most 64, the positions of the backbone '{backbone}'"
    assert told in str(refused.value)
    check_run(with_deltas(run, {axis: 64}), scale, "x")


def test_a_length_of_a_stage_that_does_not_run_is_no_matter(root: Path) -> None:
    scale = load_scale(root, "smoke")
    check_run(with_deltas(scale.run, {"mlm.length": 65, "calibrate.length": 65}), scale, "x")
    lexical = {"retrieve.engine": "bm25", "encode.document_length": 65}
    check_run(with_deltas(scale.run, lexical), scale, "x")


def test_a_result_made_under_another_default_is_refused(root: Path, tmp_path: Path) -> None:
    plan = planned(root, rows="main", results=str(tmp_path))
    identity = of_stage(plan, "mlm")[0]
    folder = Path(plan.folder(identity))
    folder.mkdir(parents=True)
    record = plan.stages[identity].record()
    (folder / "spec.json").write_text(json.dumps(record), encoding="utf-8")
    config: Config = replace(plan.config)
    build_plan(config)
    (folder / "spec.json").write_text(json.dumps(record | {"steps": 7}), encoding="utf-8")
    with pytest.raises(LexigraftError, match="steps was 7 when this result was made"):
        build_plan(config)
    (folder / "spec.json").write_text("{", encoding="utf-8")
    with pytest.raises(LexigraftError, match=rf"not valid JSON .*; remove {folder} to make it"):
        build_plan(config)


def test_where_no_row_is_a_main_one_all_are(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "workflow", tmp_path / "workflow")
    (tmp_path / "workflow" / "experiments" / "mine.yaml").write_text(
        "title: Mine\nsource: {document: ours}\ncolumns: [zero_shot.ndcg@10]\nrows:\n"
        "  - {id: mine-a, label: A, run: {backbone: roberta}}\n"
        "  - {id: mine-b, label: B, run: {backbone: bert-cased}}\n"
    )
    plan = planned(tmp_path, experiments=["mine"], rows="main")
    assert [bool(row.evaluations) for row in plan.experiments["mine"].rows] == [True, True]


def mine(tree: Path, root: Path, text: str) -> None:
    shutil.copytree(root / "workflow", tree / "workflow")
    head = "title: Mine\nsource: {document: ours}\n"
    (tree / "workflow" / "experiments" / "mine.yaml").write_text(head + text)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "columns: [zero_shot.ndcg@7]\nrows: [{id: a, label: A, run: {}}]\n",
            "columns: 'zero_shot.ndcg@7' is not among what is measured; allowed: ndcg@10, mrr@10",
        ),
        (
            "columns: [zero_shot.foo@3]\nrows: [{id: a, label: A, run: {}}]\n",
            "column 'zero_shot.foo@3': measure 'foo@3'; allowed: ndcg@k",
        ),
        (
            "columns: [zero_shot.ndcg@10]\n"
            "rows: [{id: a, label: A, run: {evaluate.metrics: [foo@1]}}]\n",
            "row 'a': evaluate.metrics: found 'foo@1'; allowed: ndcg@k",
        ),
        (
            "columns: [zero_shot.ndcg@10]\n"
            "rows: [{id: bert-splade, label: A, run: {backbone: modernbert}}]\n",
            "row 'bert-splade' is another run than the row of that id in",
        ),
    ],
)
def test_what_could_not_be_told_at_the_end_is_refused_at_the_start(
    root: Path, tmp_path: Path, text: str, sentence: str
) -> None:
    mine(tmp_path, root, text)
    with pytest.raises(LexigraftError) as refused:
        planned(tmp_path, experiments=["mine"])
    assert sentence in str(refused.value)


def test_a_scale_may_state_options_for_some_of_its_rows(root: Path) -> None:
    scale = load_scale(root, "paper")
    stated = {"retrieve.engine": "seismic", "retrieve.query_cut": 20}
    scale = replace(scale, run=with_deltas(scale.run, stated))
    check_run(with_deltas(scale.run, {"retrieve.engine": "bm25"}), scale, "x")
    check_run(with_deltas(scale.run, {"retrieve.heap_factor": 0.5}), scale, "x")


def test_the_engine_is_an_axis_of_search_alone(root: Path, tmp_path: Path) -> None:
    head = "columns: [zero_shot.ndcg@10, zero_shot.engine_recall, zero_shot.engine_recall@10]\n"
    mine(tmp_path, root, head + "sweep: {retrieve.engine: [exact, seismic]}\n")
    plan = planned(tmp_path, experiments=["mine"])
    sets = len(of_stage(plan, "encode"))
    assert len(of_stage(plan, "finetune")) == 1
    assert len(of_stage(plan, "retrieve")) == len(of_stage(plan, "evaluate")) == 2 * sets
    assert sum("--engine seismic" in plan.options(i) for i in of_stage(plan, "retrieve")) == sets
    facts = [row.facts["engine"] for row in plan.experiments["mine"].rows]
    assert facts == ["exact", "seismic"]


def test_values_of_vectors_are_an_axis_of_encoding_alone(root: Path) -> None:
    before = planned(root, scale="mini", experiments=["table2"])
    after = planned(root, scale="mini", experiments=["table2", "vectors"])
    new = [spec for identity, spec in after.stages.items() if identity not in before.stages]
    # float32 is the default, so it is table 2's run; mini has one collection.
    assert sorted(spec.stage for spec in new) == sorted(["encode", "retrieve", "evaluate"] * 2)
    values = [spec.record()["values"] for spec in new if spec.stage == "encode"]
    assert values == ["float16", "int8"]


def test_the_seed_is_an_axis_too(root: Path, tmp_path: Path) -> None:
    mine(tmp_path, root, "columns: [zero_shot.ndcg@10]\nsweep: {seed: [1, 2]}\n")
    plan = planned(tmp_path, experiments=["mine"])
    assert [list(row.evaluations) for row in plan.experiments["mine"].rows] == [[1], [2]]


def test_a_space_is_read_where_neighbours_are_looked_for_in_it(root: Path) -> None:
    scale = load_scale(root, "mini")
    minilm = scale.backbones["minilm"].id

    def spaces(**deltas: object) -> set[str]:
        moved = {"backbone": "modernbert", "target": "bert-uncased", **deltas}
        stages: dict[str, StageSpec] = {}
        Chain(scale.run_with(moved), scale, stages).transferred()
        return {s.inputs().get("space", "") for s in stages.values() if s.stage == "transfer"}

    assert scale.run.space == "minilm"
    assert spaces() == {minilm}
    assert spaces(space="") == {""}
    assert spaces(target="minilm") == {""}
    assert spaces(**{"transfer.initialisation": "subtoken"}) == {""}


def test_head_only_rows_share_all_but_their_own_stages(root: Path) -> None:
    plan = planned(root, scale="smoke", experiments=["table2", "table6"], rows="main")
    alone = planned(root, scale="smoke", experiments=["table2"], rows="main")
    new = {i: spec for i, spec in plan.stages.items() if i not in alone.stages}
    # Two head transfers are one; the teacher of sap is the BERT (Splade) of table 2.
    assert [spec.part for spec in new.values() if spec.stage == "transfer"] == ["head"]
    adapted = [spec for spec in new.values() if spec.stage == "mlm"]
    assert [spec.objective for spec in adapted] == ["emlm", "sap"]
    rows = {row.id: row for row in alone.experiments["table2"].rows}
    (evaluation, _), *_ = rows["bert-splade"].evaluations[42]["in_domain"]
    encode = alone.stages[alone.stages[alone.stages[evaluation].run].vectors]
    assert adapted[1].teacher == encode.model
    assert adapted[0].teacher == ""


def test_at_paper_scale_sap_distils_splade_v3(root: Path) -> None:
    plan = planned(root, experiments=["table6"])
    (sap,) = [s for s in plan.stages.values() if getattr(s, "objective", "") == "sap"]
    assert plan.stages[sap.teacher].location == "naver/splade-v3"


def test_the_options_of_the_head_leave_the_ids_of_others(root: Path) -> None:
    # Recorded before there were transfer.part, mlm.objective and mlm.teacher.
    plan = planned(root, rows="main")
    assert of_stage(plan, "transfer") == ["modernbert-to-bert-uncased-semantic-eed4535eea"]
    assert "modernbert-to-bert-uncased-semantic-mlm-b784ebfaa6" in of_stage(plan, "mlm")
