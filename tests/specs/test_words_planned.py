"""Experiments about words: what a file may state, what is planned for them, the paper's values."""

import shutil
from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config
from lexigraft.specs.experiments import Experiment, load_experiment
from lexigraft.specs.neighbours import Word
from lexigraft.specs.plan import Plan, build_plan

HEAD = "title: T\nsource: {document: ours}\n"
TABLE_4 = """
collaborations: Ġcollabor ations
  Ġcollaborate 0.123 Ġcollaboration 0.118 Ġcollaborators 0.107 Ġcollaborated 0.098 Ġcollaborative 0.090
nationalists: Ġnational ists
  nationalist 0.192 nationalism 0.126 liberals 0.056 conservatives 0.044 militants 0.039
clears: Ġcle ars
  cleared 0.165 clearing 0.064 clearer 0.049 removes 0.043 facilitates 0.030
centimetres: Ġcent imet res
  centimeters 0.178 cm 0.169 kilograms 0.068 inches 0.056 kilometres 0.051
"""  # noqa: E501


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    for name in ("schemas", "scales", "experiments"):
        shutil.copytree(root / "workflow" / name, tmp_path / "workflow" / name)
    shutil.copy(root / "workflow" / "claims.yaml", tmp_path / "workflow")
    return tmp_path


def load(tree: Path, text: str) -> Experiment:
    (tree / "workflow" / "experiments" / "t.yaml").write_text(HEAD + text, encoding="utf-8")
    return load_experiment(tree, "t")


def planned(root: Path, scale: str, *experiments: str) -> Plan:
    return build_plan(load_config(root, {"scale": scale, "experiments": list(experiments)}))


def test_the_papers_words_with_what_it_reports(root: Path) -> None:
    neighbours = load_experiment(root, "table4").neighbours
    lines = TABLE_4.strip().splitlines()
    assert len(neighbours.words) == 4
    for word, head, anchors in zip(neighbours.words, lines[::2], lines[1::2], strict=True):
        name, _, pieces = head.partition(": ")
        assert (word.text, " ".join(word.sub_tokens)) == (name, pieces)
        assert " ".join(f"{token} {weight:.3f}" for token, weight in word.anchors) == (
            anchors.strip()
        )


def test_a_word_needs_nothing_reported(tree: Path) -> None:
    text = "neighbours: {run: {target: bert-uncased}, words: [{word: heat}], sample: 2, seed: 7}"
    found = load(tree, text)
    assert found.neighbours.words == (Word("heat"),)
    assert (found.neighbours.sample, found.neighbours.seed) == (2, 7)
    assert (found.rows, found.columns) == ((), ())


def test_only_what_neighbours_need_is_planned(root: Path) -> None:
    small = planned(root, "mini", "table4")
    stages = sorted(spec.stage for spec in small.stages.values())
    assert stages == ["backbone", "backbone", "corpus", "transfer"]
    (transfer,) = (i for i, spec in small.stages.items() if spec.stage == "transfer")
    assert small.evaluations(["table4"]) == [f"results/transfer/{transfer}"]
    neighbours = small.experiments["table4"].neighbours
    assert neighbours.transfer == transfer
    assert (neighbours.source, neighbours.target) == ("neox", "minilm")


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        ("{backbone: neox}", "backbone: found 'neox', a vocabulary whose model is not trained"),
        ("{target: neox}", "target: found 'neox', a vocabulary whose model is not trained"),
        ("{target: bert-uncased, space: neox}", "space: found 'neox', a vocabulary whose model"),
    ],
)
def test_a_vocabulary_alone_is_for_words_alone(
    root: Path, tree: Path, run: str, sentence: str
) -> None:
    (tree / "workflow" / "backbones").symlink_to(root / "workflow" / "backbones")
    load(tree, f"columns: [zero_shot.ndcg@10]\nrows: [{{id: a, label: A, run: {run}}}]")
    with pytest.raises(LexigraftError) as refused:
        planned(tree, "mini", "t")
    assert f"row 'a': {sentence}" in str(refused.value)


@pytest.mark.parametrize("scale", ["smoke", "paper"])
def test_elsewhere_the_words_are_those_of_the_main_rows_transfer(root: Path, scale: str) -> None:
    assert set(planned(root, scale, "table4").stages) < set(planned(root, scale, "table2").stages)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "neighbours: {run: {}, words: []}",
            "neighbours.words: found []; allowed: 1 or more values",
        ),
        ("neighbours: {run: {}, words: [{word: no}]}", "found false; allowed: a value of type"),
        (
            "neighbours: {run: {}, words: [{word: two words}]}",
            'found "two words"; allowed: one word, as the target\'s vocabulary writes it',
        ),
        ("neighbours: {run: {}, words: [{word: a}, {word: a}]}", "words: 'a' stands twice"),
        (
            "neighbours: {run: {mlm.steps: 3}, words: [{word: a}]}",
            'neighbours.run: found "mlm.steps"; allowed: backbone, target or transfer.*',
        ),
        (
            "neighbours: {run: {}, at: {huge: {}}, words: [{word: a}]}",
            "neighbours: at: 'huge' is no scale; allowed: development, mini, mini-backbones",
        ),
        (
            "neighbours: {run: {}, words: [{word: a}]}\ncolumns: [zero_shot.ndcg@10]",
            "columns: found beside neighbours; allowed beside rows or a sweep only",
        ),
        ("rows: [{id: a, label: A, run: {}}]", "'columns' is missing beside 'rows'"),
    ],
)
def test_a_wrong_file_is_refused(tree: Path, text: str, sentence: str) -> None:
    with pytest.raises(LexigraftError) as refused:
        load(tree, text)
    assert "t.yaml" in str(refused.value)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        ("{}", "target: found none; allowed at scale smoke: bert-uncased"),
        ("{target: minilm}", "target: found 'minilm'; allowed at scale smoke: bert-uncased"),
        (
            "{backbone: roberta, target: bert-uncased, transfer.initialisation: subtoken}",
            "transfer.initialisation: found 'subtoken'; allowed: 'semantic'",
        ),
    ],
)
def test_a_run_without_neighbours_is_refused(tree: Path, run: str, sentence: str) -> None:
    load(tree, f"neighbours: {{run: {run}, words: [{{word: a}}]}}")
    with pytest.raises(LexigraftError) as refused:
        planned(tree, "smoke", "t")
    assert "t.yaml: neighbours.run: " in str(refused.value)
    assert sentence in str(refused.value)
