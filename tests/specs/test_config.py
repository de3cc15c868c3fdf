"""Values of the command line get the type that the schema says; wrong ones are refused."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config, retyped
from lexigraft.specs.documents import schema
from lexigraft.specs.experiments import experiment_names
from lexigraft.specs.scales import load_scale

VALUES = {"scale": "mini", "experiments": ["table2"]}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("results=1_2344_5678", {"results": "1_2344_5678"}),
        ("results=007", {"results": "007"}),
        ("--config=results=1_2", {"results": "1_2"}),
        ("results=true", {"results": "true"}),
        ("seeds=001", {"seeds": [1]}),
        ("seeds=[42, 1]", {"seeds": [42, 1]}),
        ("significance=1e-4", {"significance": 0.0001}),
        ("experiments=table2", {"experiments": ["table2"]}),
        ("experiments=[table2]", {"experiments": ["table2"]}),
        ("experiments=['table2','figure1']", {"experiments": ["table2", "figure1"]}),
    ],
)
def test_the_text_of_the_command_line_gets_its_keys_type(
    root: Path, word: str, expected: dict[str, object]
) -> None:
    argv = ["snakemake", "--cores", "2", "--config", word, "-n"]
    assert retyped(argv, schema("config", root)["properties"]) == expected


def test_what_was_typed_wins_over_snakemakes_parse(root: Path) -> None:
    parsed = {**VALUES, "results": 123445678}
    config = load_config(
        root, parsed, ["snakemake", "--config", "results=1_2344_5678", "seeds=001"]
    )
    assert config.results == Path("1_2344_5678")
    assert config.many == (1,)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"sale": "mini"}, "unknown key 'sale'; did you mean 'scale'?"),
        (
            {"scale": "huge"},
            "scale: found 'huge'; allowed: development, mini, mini-backbones, paper, smoke",
        ),
        ({"scale": 3}, "scale: found 3; allowed: a value of type string"),
        ({"rows": "al"}, """rows: found "al"; did you mean 'all'? allowed: main, all"""),
        ({"experiments": ["tabel2"]}, "experiments: found 'tabel2'; allowed: figure1, table1,"),
        ({"significance": float("nan")}, "significance: found nan; allowed: a finite number"),
        ({"seeds": []}, "seeds: found []; allowed: 1 or more values"),
        ({"experiments": []}, "experiments: found []; allowed: 1 or more values"),
        ({"results": "a{b}"}, 'results: found "a{b}"; allowed: folder that runs write to, a path'),
    ],
)
def test_a_wrong_configuration_is_refused_in_one_sentence(
    root: Path, change: dict[str, object], sentence: str
) -> None:
    with pytest.raises(LexigraftError) as refused:
        load_config(root, VALUES | change)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("word", ["seeds=one", "significance=much"])
def test_a_word_of_the_wrong_type_is_refused(root: Path, word: str) -> None:
    with pytest.raises(LexigraftError, match="allowed: a value of type"):
        load_config(root, VALUES, ["snakemake", "--config", word])


@pytest.mark.parametrize("scale", ["smoke", "mini", "mini-backbones", "development", "paper"])
def test_every_shipped_scale_loads(root: Path, scale: str) -> None:
    config = load_config(root, VALUES | {"scale": scale})
    assert config.scale.evaluation["zero_shot"]
    assert {"bert-uncased", "modernbert"} <= set(config.scale.backbones)


def test_the_configuration_names_every_experiment_of_the_paper_in_its_order(root: Path) -> None:
    stated = yaml.safe_load((root / "config.yaml").read_text(encoding="utf-8"))
    tables = [f"table{number}" for number in range(1, 11)]
    ours = ["figure1", *tables, "theory", "vectors"]
    assert [name for name in stated["experiments"] if name in ours] == ours
    assert [name for name in experiment_names(root) if name in ours] == ours
    for scale in ("smoke", "mini", "development", "paper"):
        assert load_config(root, stated | {"scale": scale}).rows == "all"


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the workflow's files."""
    shutil.copytree(root / "workflow", tmp_path / "workflow")
    return tmp_path


def _scale(tree: Path, name: str, text: str) -> None:
    (tree / "workflow" / "scales" / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_a_scale_that_extends_another_states_what_differs(tree: Path) -> None:
    _scale(
        tree,
        "mine",
        "extends: mini\ntitle: Mine\nrun: {finetune.steps: 7}\n"
        "evaluation: {zero_shot: [docstrings/pandas]}\n",
    )
    mine, mini = load_scale(tree, "mine"), load_scale(tree, "mini")
    assert (mine.name, mine.title, mine.run.finetune.steps) == ("mine", "Mine", 7)
    assert mine.evaluation["zero_shot"] == ("docstrings/pandas",)
    assert mine.evaluation["in_domain"] == mini.evaluation["in_domain"]
    assert mine.backbones == mini.backbones
    assert mine.run.mlm == mini.run.mlm


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("extends: huge\n", "extends: found 'huge'; allowed: another scale"),
        ("extends: mine\n", "extends: found 'mine'; allowed: another scale"),
        ("extends: [mini]\n", "extends: found ['mini']; allowed: another scale"),
        (
            "extends: development\n",
            "'development' extends a scale itself; allowed: one that does not",
        ),
        ("extends: mini\nrun: {finetune.step: 7}\n", "mine.yaml: run: unknown key 'finetune.step'"),
        ("extends: mini\ncollections: 3\n", "mine.yaml: collections: found 3"),
        ("title: Mine\n", "mine.yaml: 'cost' is missing"),
        ("extends: mini\nrun: {seed: 7}\n", "run.seed: a scale states its seeds under 'seeds'"),
        ("extends: mini\nseeds: {one: [-1]}\n", "seeds.one: found -1; allowed: 0 to"),
        ("extends: mini\nseeds: {many: [1, 1]}\n", "seeds.many: found [1, 1]; allowed: each seed"),
        (
            "extends: mini\nseeds: {compared: all}\n",
            'seeds.compared: found "all"; allowed: one, many',
        ),
    ],
)
def test_a_wrong_extension_is_refused_in_one_sentence(tree: Path, text: str, sentence: str) -> None:
    _scale(tree, "mine", text)
    with pytest.raises(LexigraftError) as refused:
        load_scale(tree, "mine")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_development_scale_never_reads_minis_evaluation_sets(root: Path) -> None:
    mini, development = load_scale(root, "mini"), load_scale(root, "development")
    unseen = set(mini.collections["docstrings"].zero_shot_packages)
    there = development.collections["docstrings"]
    assert unseen.isdisjoint((*there.train_packages, *there.zero_shot_packages))
    assert set(there.zero_shot_packages) <= set(mini.collections["docstrings"].train_packages)
    assert (development.run, development.one) == (mini.run, mini.one)


@pytest.mark.parametrize(
    ("find", "write", "sentence"),
    [
        ("heads: 2", "heads: 3", "backbones.bert-uncased.hidden_size: found 32; allowed: a mult"),
        ("heads: 2", "heads: 0", "backbones.bert-uncased.heads: found 0; allowed: 1 or more"),
        ("    steps: 4", "    steps: 0", "backbones.bert-uncased.steps: found 0; allowed: 1 or"),
        ("    steps: 4", "    steps: -1", "backbones.bert-uncased.steps: found -1; allowed: 1"),
        ("    length: 32", "    length: 65", "length: found 65; allowed: at most positions (64)"),
        ("e: 600", "e: 5", "vocabulary_size: found 5; allowed: 6 or more with wordpiece"),
        ("byte_bpe,", "byte_bpe, vocabulary_size: 260,", "found 260; allowed: 261 or more with by"),
        ("s: 20", "s: -1", "collections.docstrings.in_domain_queries: found -1; allowed: 0 or"),
        ("negatives: 3", "negatives: -1", "collections.docstrings.negatives: found -1"),
        ("mlm.steps: 4", "mlm.steps: 0", "run: mlm.steps: found 0; allowed: 1 or more"),
        (
            "docstrings/networkx",
            "docstrings/nosuch",
            "evaluation.zero_shot: 'docstrings/nosuch' names no set of docstrings; "
            "allowed: in-domain, networkx, bm25s",
        ),
        ("s: 20", "s: 0", "'docstrings/in-domain' names no set of docstrings; allowed: networkx"),
    ],
)
def test_a_scale_that_could_only_fail_is_refused_with_its_key(
    tree: Path, find: str, write: str, sentence: str
) -> None:
    path = tree / "workflow" / "scales" / "smoke.yaml"
    text = path.read_text(encoding="utf-8")
    assert find in text
    path.write_text(re.sub(re.escape(find), write, text, count=1), encoding="utf-8")
    with pytest.raises(LexigraftError) as refused:
        load_scale(tree, "smoke")
    assert str(refused.value).startswith(f"{path}: ")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
