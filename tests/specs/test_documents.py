"""YAML that is refused names its file, its key, what was found and what is allowed."""

from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.specs.documents import read_document

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rate"],
    "properties": {"rate": {"type": "number"}, "name": {"type": "string"}},
}


def read(tmp_path: Path, text: str) -> object:
    path = tmp_path / "scale.yaml"
    path.write_text(text, encoding="utf-8")
    return read_document(path, SCHEMA)


def test_exponents_without_a_point_are_numbers(tmp_path: Path) -> None:
    assert read(tmp_path, "rate: 1e-4\nname: é") == {"rate": 0.0001, "name": "é"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'rate' is missing"),
        ("rate: high", 'rate: found "high"; allowed: a value of type number'),
        ("rate: .nan", "rate: found nan; allowed: a finite number"),
        ("rate: 1\nrate: 2", "key 'rate' stands twice in the mapping that begins on line 1"),
        ("rate: [1", "not valid YAML"),
        ("- 1", "found [1]; allowed: a value of type object"),
        ("rate: 1\nnam: x", "unknown key 'nam'; did you mean 'name'? allowed: rate, name"),
        ("rate: !!python/object/apply:os.getcwd []", "not valid YAML"),
    ],
)
def test_bad_yaml(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(LexigraftError) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(str(tmp_path / "scale.yaml"))
    assert sentence in str(refused.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"absent.yaml: No such file"):
        read_document(tmp_path / "absent.yaml", SCHEMA)
