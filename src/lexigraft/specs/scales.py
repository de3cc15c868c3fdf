"""Scales: how big a run is, with its collections, backbones and evaluation sets."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.columns import ROLES
from lexigraft.specs.documents import check, read_document, schema
from lexigraft.specs.options import TRAINED
from lexigraft.specs.ranges import check_fields, out_of_range, run_problem
from lexigraft.specs.run import Run, as_type, with_deltas
from lexigraft.specs.shipped import check_shippable, shipped_backbones
from lexigraft.specs.stages import BackboneSpec, CorpusSpec

Spec = TypeVar("Spec", bound=StageSpec)


@dataclass(frozen=True)
class Domain:
    """What runs with `domain: true` have instead of the scale's general collections."""

    training: str
    text: str
    deltas: Mapping[str, Any]
    """On the scale's run."""


@dataclass(frozen=True)
class Scale:
    """How big a run is: values, collections, backbones and evaluation sets."""

    name: str
    lineage: tuple[str, ...]
    """Its name, after that of the scale that it extends."""
    title: str
    rows: str
    one: tuple[int, ...]
    many: tuple[int, ...]
    compared: str
    """one or many: which seeds the rows get that claims compare."""
    run: Run
    training: str
    text: str
    collections: Mapping[str, CorpusSpec]
    backbones: Mapping[str, BackboneSpec]
    evaluation: Mapping[str, tuple[str, ...]]
    """Role to `collection/set` names."""
    domain: Domain | None = None
    positions: Mapping[str, int] = field(default_factory=dict)
    """Backbone to the tokens that it reads, of those whose pre-training the scale states."""
    retrained: tuple[str, ...] = ()
    """Backbones that are pre-trained here to be shipped with the repository."""

    def run_with(self, deltas: Mapping[str, Any]) -> Run:
        """The scale's run, its domain's deltas for a run of the domain, then the given ones.

        Raises:
            LexigraftError: a name that is no axis.
        """
        own = self.domain.deltas if self.domain and deltas.get("domain") else {}
        return with_deltas(self.run, {**own, **deltas})

    def part(self, run: Run) -> tuple[str, str]:
        """Collections that a run takes its training pairs and its text from."""
        if run.domain and self.domain:
            return self.domain.training, self.domain.text
        return self.training, self.text


def load_scale(root: Path, name: str) -> Scale:
    """Read `workflow/scales/<name>.yaml`.

    Raises:
        LexigraftError: no such scale, a part of it names what it does not define, or a value that
            no stage can work with.
    """
    folder = root / "workflow" / "scales"
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise LexigraftError(f"config.yaml or --config: scale: found {name!r}; allowed: {known}")
    document, lineage = _scale_document(path, schema("scale", root))
    collections = {
        key: _spec(CorpusSpec, key, options, f"{path}: collections.{key}")
        for key, options in document["collections"].items()
    }
    text = document["text"]
    domain = document.get("domain")
    named = {key: document[key] for key in ("training", "text")}
    named |= {f"domain.{key}": domain[key] for key in named if domain}
    for key, chosen in named.items():
        if chosen not in collections:
            raise LexigraftError(
                f"{path}: {key}: found {chosen!r}; allowed: {', '.join(collections)}"
            )
    if TRAINED in document["backbones"]:
        raise LexigraftError(f"{path}: backbones: {TRAINED!r} names a vocabulary, not a backbone")
    _refuse_unknown_sets(path, document["evaluation"], collections)
    runs = {"run": document.get("run", {}), "domain.run": (domain or {}).get("run", {})}
    for key, deltas in runs.items():
        if "seed" in deltas:
            raise LexigraftError(f"{path}: {key}.seed: a scale states its seeds under 'seeds'")
    for key, seeds in document["seeds"].items():
        if key == "compared":
            continue
        if problem := next(filter(None, (out_of_range("seed", seed) for seed in seeds)), ""):
            raise LexigraftError(f"{path}: seeds.{key}: {problem}")
        if len(set(seeds)) < len(seeds):
            raise LexigraftError(f"{path}: seeds.{key}: found {seeds}; allowed: each seed once")
    run = with_deltas(Run(), runs["run"])
    for key, found in (("run", run), ("domain.run", with_deltas(run, runs["domain.run"]))):
        if problem := run_problem(found):
            raise LexigraftError(f"{path}: {key}: {problem}")
    backbones = {
        key: _backbone(key, options, collections[text].id, f"{path}: backbones.{key}")
        for key, options in document["backbones"].items()
    }
    positions = {
        key: spec.positions for key, spec in backbones.items() if spec.origin == "pretrain"
    }
    shipped, retrain = tuple(document.get("shipped", ())), document.get("retrain", False)
    check_shippable(backbones, shipped, f"{path}: shipped")
    if not retrain:
        backbones |= shipped_backbones(root, backbones, shipped, f"{path}: shipped")
    return Scale(
        name=name,
        lineage=lineage,
        title=document["title"],
        rows=document["rows"],
        one=tuple(document["seeds"]["one"]),
        many=tuple(document["seeds"]["many"]),
        compared=document["seeds"].get("compared", "one"),
        run=run,
        training=document["training"],
        text=text,
        collections=collections,
        backbones=backbones,
        evaluation={role: tuple(document["evaluation"].get(role, ())) for role in ROLES},
        domain=Domain(domain["training"], domain["text"], runs["domain.run"]) if domain else None,
        positions=positions,
        retrained=shipped if retrain else (),
    )


def _scale_document(path: Path, closed: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A scale's file; with `extends`, what it states laid over the scale that it names. And its
    lineage."""
    document: dict[str, Any] = read_document(path, {"type": "object"})
    if "extends" not in document:
        check(document, closed, str(path))
        return document, (path.stem,)
    name = document.pop("extends")
    base = path.parent / f"{name}.yaml"
    if base == path or not base.is_file():
        raise LexigraftError(f"{path}: extends: found {name!r}; allowed: another scale")
    below = read_document(base, {"type": "object"})
    if "extends" in below:
        raise LexigraftError(
            f"{path}: extends: {name!r} extends a scale itself; allowed: one that does not"
        )
    check(below, closed, str(base))
    merged = _laid_over(below, document)
    check(merged, closed, str(path))
    return merged, (name, path.stem)


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings are merged key by key; any other value replaces the one below."""
    merged = dict(below)
    for key, value in above.items():
        under = below.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[key] = _laid_over(under, value)
        else:
            merged[key] = value
    return merged


def _refuse_unknown_sets(
    path: Path, evaluation: Mapping[str, list[str]], collections: Mapping[str, CorpusSpec]
) -> None:
    for role, sets in evaluation.items():
        for entry in sets:
            collection, name = entry.split("/")
            if collection not in collections:
                raise LexigraftError(
                    f"{path}: evaluation.{role}: {entry!r} names no collection; "
                    f"allowed: {', '.join(collections)}"
                )
            known = collections[collection].set_names()
            if name not in known:
                raise LexigraftError(
                    f"{path}: evaluation.{role}: {entry!r} names no set of {collection}; "
                    f"allowed: {', '.join(known) or 'none, it has no evaluation set'}"
                )


def _spec(kind: type[Spec], name: str, options: Mapping[str, Any], where: str) -> Spec:
    hints = get_type_hints(kind)
    typed = {key: as_type(value, hints[key]) for key, value in options.items()}
    spec = kind(name=name, **typed)
    check_fields(spec, lambda field: f"{where}.{field}")
    return spec


def _backbone(name: str, options: Mapping[str, Any], corpus: str, where: str) -> BackboneSpec:
    spec = _spec(BackboneSpec, name, options, where)
    if spec.origin == "shipped":
        raise LexigraftError(
            f"{where}.origin: found 'shipped'; allowed: pretrain, and {name!r} in the list "
            "'shipped'"
        )
    return dataclasses.replace(spec, corpus=corpus) if spec.origin == "pretrain" else spec
