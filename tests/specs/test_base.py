"""Ids: readable, stable, blind to defaults."""

import hashlib
from dataclasses import dataclass, fields

import pytest

from lexigraft.specs.base import StageSpec, field_docs, reads, slug
from lexigraft.specs.stages import STAGES, MlmSpec


@dataclass(frozen=True, kw_only=True)
class Before(StageSpec):
    stage = "test"
    model: str = reads("model")
    steps: int = 10


@dataclass(frozen=True, kw_only=True)
class After(StageSpec):
    stage = "test"
    model: str = reads("model")
    steps: int = 10
    temperature: float = 1.0


def test_id_is_the_hash_of_the_stated_fields_alone() -> None:
    digest = hashlib.sha256(b'test:{"model":"m","steps":20}').hexdigest()[:10]
    assert Before(name="A model", model="m", steps=20).id == f"a-model-{digest}"


def test_a_new_field_with_a_default_changes_no_id() -> None:
    assert Before(name="x", model="m", steps=3).id == After(name="x", model="m", steps=3).id
    assert After(name="x", model="m").id != After(name="x", model="m", temperature=2.0).id


def test_the_name_is_no_part_of_the_hash() -> None:
    first, second = Before(name="a", model="m").id, Before(name="b", model="m").id
    assert first.split("-")[-1] == second.split("-")[-1]


def test_a_raised_version_changes_the_id() -> None:
    class Raised(Before):
        version = 2

    assert Raised(name="x", model="m").id != Before(name="x", model="m").id


def test_the_record_holds_defaults_and_inputs() -> None:
    record = MlmSpec(model="m", text="t").record()
    assert (record["model"], record["text"], record["mask_probability"]) == ("m", "t", 0.3)
    assert record["corruption"] == [0.8, 0.1, 0.1]
    assert "name" not in record


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ModernBERT VT", "modernbert-vt"),
        ("a/b_c", "a-b-c"),
        ("--", "x"),
        ("Größe 3.5", "gr-e-3.5"),
    ],
)
def test_slug(text: str, expected: str) -> None:
    assert slug(text) == expected


@pytest.mark.parametrize("spec", STAGES.values())
def test_every_field_is_documented(spec: type[StageSpec]) -> None:
    docs = field_docs(spec)
    assert [f.name for f in fields(spec) if not docs.get(f.name)] == []
