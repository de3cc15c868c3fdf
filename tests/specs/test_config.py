"""Values of the command line get the type that the schema says; wrong ones are refused."""

from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.config import load_config, retyped
from lexigraft.specs.documents import schema

VALUES = {"scale": "mini", "experiments": ["table2"]}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("results=1_2344_5678", {"results": "1_2344_5678"}),
        ("results=007", {"results": "007"}),
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
        ({"scale": "huge"}, "scale: found 'huge'; allowed: mini, paper, smoke"),
        ({"scale": 3}, "scale: found 3; allowed: a value of type string"),
        ({"rows": "al"}, """rows: found "al"; did you mean 'all'? allowed: main, all"""),
        ({"experiments": ["tabel2"]}, "experiments: found 'tabel2'; allowed: figure1, table2"),
        ({"significance": float("nan")}, "significance: found nan; allowed: a finite number"),
        ({"seeds": []}, "seeds: found []"),
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


@pytest.mark.parametrize("scale", ["smoke", "mini", "paper"])
def test_every_shipped_scale_loads(root: Path, scale: str) -> None:
    config = load_config(root, VALUES | {"scale": scale})
    assert config.scale.evaluation["zero_shot"]
    assert {"bert-uncased", "modernbert"} <= set(config.scale.backbones)
