"""One model from backbone to metrics as a typed record; every field is an ablation axis."""

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from lexigraft.errors import LexigraftError
from lexigraft.specs.options import (
    DISTILLING,
    CalibrateOptions,
    EncodeOptions,
    EvaluateOptions,
    FinetuneOptions,
    MlmOptions,
    RetrieveOptions,
    TeacherOptions,
    TheoryOptions,
    TransferOptions,
    VocabularyOptions,
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One row of one table for one seed.

    A delta names a field by its dotted path: `backbone`, `transfer.initialisation`, `mlm.steps`.
    """

    backbone: str = "bert-uncased"
    """Name of a backbone of the scale."""
    target: str = ""
    """Backbone whose vocabulary the model is moved to; `trained` for one that is trained on the
    run's own text; empty keeps its own."""
    space: str = ""
    """Backbone in whose input embeddings semantic initialisation looks for neighbours; empty for
    the target's own."""
    adapted: bool = False
    """Whether the masked-language-model stage runs."""
    calibrated: bool = False
    """Whether activation potential calibration runs."""
    finetuned: bool = True
    """Whether the model is fine-tuned; false encodes it as it is, such as a public SPLADE."""
    teacher_backbone: str = ""
    """Backbone that is the bi-encoder of the dense teacher methods."""
    sap_teacher: str = ""
    """Backbone that is the sparse teacher of sap; empty for the target backbone, fine-tuned as the
    run itself is."""
    seed: int = 42
    """Seed of everything that is random after the backbone."""
    transfer: TransferOptions = field(default_factory=TransferOptions)
    mlm: MlmOptions = field(default_factory=MlmOptions)
    calibrate: CalibrateOptions = field(default_factory=CalibrateOptions)
    teacher: TeacherOptions = field(default_factory=TeacherOptions)
    finetune: FinetuneOptions = field(default_factory=FinetuneOptions)
    encode: EncodeOptions = field(default_factory=EncodeOptions)
    retrieve: RetrieveOptions = field(default_factory=RetrieveOptions)
    evaluate: EvaluateOptions = field(default_factory=EvaluateOptions)
    theory: TheoryOptions = field(default_factory=TheoryOptions)
    domain: bool = False
    """Whether text and training pairs are those of the scale's domain instead of its general ones;
    the backbone's own pre-training stays general."""
    vocabulary: VocabularyOptions = field(default_factory=VocabularyOptions)

    @property
    def lexical(self) -> bool:
        """Whether the run has no model: it searches words (BM25)."""
        return self.retrieve.engine == "bm25"

    @property
    def head(self) -> str:
        """What scores: the head that is fine-tuned, or bm25."""
        return "bm25" if self.lexical else self.finetune.head

    @property
    def random(self) -> bool:
        """Whether the seed plays a part: not in BM25, nor in a model that is encoded as it is."""
        changed = self.target or self.adapted or self.calibrated or self.finetuned
        return bool(changed) and not self.lexical

    @property
    def facts(self) -> dict[str, Any]:
        """What figures tell rows apart by."""
        return {
            "backbone": "" if self.lexical else self.backbone,
            "head": self.head,
            "engine": self.retrieve.engine,
            "target": self.target,
            "adapted": self.adapted,
            "calibrated": self.calibrated,
            "lowercase": self.finetune.lowercase,
            "distilled": self.finetuned
            and not self.lexical
            and self.finetune.objective in DISTILLING,
        }


def axes(record: type[Any] = Run, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and type of every axis, in the order of the fields."""
    hints = get_type_hints(record)
    for each in fields(record):
        hint = hints[each.name]
        if is_dataclass(hint):
            assert isinstance(hint, type)
            yield from axes(hint, f"{prefix}{each.name}.")
        else:
            yield prefix + each.name, hint


@cache
def axis_types() -> Mapping[str, Any]:
    """`axes` of a run, looked up once: a plan of thousands of rows asks for each."""
    return dict(axes())


def json_type(hint: Any) -> dict[str, Any]:
    """JSON schema of a field's type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": json_type(arguments[0])}
    if origin in (Union, UnionType):
        return {"anyOf": [json_type(argument) for argument in arguments]}
    names = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": names[hint]}


def deltas_schema() -> dict[str, Any]:
    """Closed JSON schema of deltas on a run, made from the dataclasses so that it cannot lag."""
    properties = {name: json_type(hint) for name, hint in axis_types().items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def with_deltas(run: Run, deltas: Mapping[str, Any]) -> Run:
    """The run with some fields changed.

    Raises:
        LexigraftError: a name that is no axis. (Types are the schema's affair.)
    """
    types = axis_types()
    for name, value in deltas.items():
        if name not in types:
            raise LexigraftError(f"{name!r} is no field of a run; allowed: {', '.join(types)}")
        run = _replaced(run, name.split("."), as_type(value, types[name]))
    return run


def as_type(value: Any, hint: Any) -> Any:
    """A schema-checked JSON value as the field's own type: lists become tuples, 1 becomes 1.0."""
    if isinstance(value, list):
        item = get_args(hint)[0]
        return tuple(as_type(element, item) for element in value)
    return hint(value) if hint in (int, float) else value


def _replaced(record: Any, path: list[str], value: Any) -> Any:
    if len(path) > 1:
        value = _replaced(getattr(record, path[0]), path[1:], value)
    return dataclasses.replace(record, **{path[0]: value})
