"""Stage `theory`: section 3 of Vocabulary Transfer on judged pairs of a query and a document."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lexigraft.analysis.theory.coarse_graining import coarse_graining, regrouped
from lexigraft.analysis.theory.figures import theory_figure
from lexigraft.analysis.theory.measure import Theory, measure_theory
from lexigraft.analysis.theory.pairs import draw_pairs, encode_pairs
from lexigraft.corpora.collection import Collection
from lexigraft.corpora.evaluation_set import EvaluationSet
from lexigraft.encoders.encoder import Encoder
from lexigraft.encoders.loading import load_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import write_json
from lexigraft.progress import track
from lexigraft.report.figures import save_figure
from lexigraft.specs.stages import TheorySpec
from lexigraft.stages.encode import device
from lexigraft.stages.evaluate import write_measures
from lexigraft.stages.job import Job
from lexigraft.vocabulary.folding import fold_map
from lexigraft.vocabulary.pieces import Pieces
from lexigraft.vocabulary.unigrams import count_unigrams

PER_DRAW = ("complexity", "complexity_pairwise", "estimation", "bound")


def run(spec: TheorySpec, job: Job) -> None:
    """Write metrics.json and per_query.parquet (a draw of signs in the place of a query), with the
    rest of what was found in theory.json and the complexity over sample sizes as a figure.

    Raises:
        LexigraftError: the encoder is not sparse, or there is no such set or no relevant pair.
    """
    sets = list(_sets(job.inputs["collection"], spec.evaluation_set))
    encoder = load_encoder(job.inputs["model"], device=device())
    found = {each.name: _measure(each, encoder, spec) for each in track(sets, "measure theory")}
    write_measures(
        job.out,
        {name: facts for name, (facts, _, _) in found.items()},
        {name: per_draw for name, (_, per_draw, _) in found.items()},
    )
    record = {
        "normaliser": spec.normaliser,
        "dealt": spec.dealt,
        "weights": spec.weights,
        "sets": {name: facts | more for name, (facts, _, more) in found.items()},
    }
    write_json(job.out / "theory.json", record)
    save_figure(lambda: theory_figure(record), job.out / "theory")


def _sets(folder: Path, name: str) -> Iterator[EvaluationSet]:
    """The sets of a collection, or the one of a BEIR folder that its test split judges."""
    if not (folder / "manifest.json").is_file():
        only = EvaluationSet.read(folder)
        if name not in ("", only.name):
            raise LexigraftError(f"--evaluation-set: found {name!r}; allowed: {only.name}")
        yield only
        return
    collection = Collection.open(folder)
    names = collection.set_names()
    if not names:
        raise LexigraftError(f"{folder}: no evaluation set, so no judged pairs")
    if name and name not in names:
        raise LexigraftError(f"--evaluation-set: found {name!r}; allowed: {', '.join(names)}")
    for each in [name] if name else names:
        yield collection.evaluation_set(each)


def _measure(
    evaluation_set: EvaluationSet, encoder: Encoder, spec: TheorySpec
) -> tuple[dict[str, Any], dict[str, dict[str, float]], dict[str, Any]]:
    """Measures of a set, those that each draw has, and what else there is to know."""
    pairs = draw_pairs(evaluation_set, spec.pairs, spec.seed)
    features = encode_pairs(
        encoder,
        evaluation_set,
        pairs,
        query_length=spec.query_length or encoder.default_length("query"),
        document_length=spec.document_length or encoder.default_length("document"),
    )
    canonical = _canonical(encoder, spec)
    weights = None
    if spec.weights == "frequency":
        texts = [evaluation_set.documents[d] for d in dict.fromkeys(d for _, d in pairs)]
        counted = count_unigrams(encoder.tokenizer, texts, len(canonical))
        weights = counted.log_probabilities.double().exp().numpy()
    graining = coarse_graining(canonical, weights)
    theory = measure_theory(features, graining, canonical, spec, spec.seed)
    facts = _facts(theory, pairs=len(pairs), keys=graining.shape[0])
    return facts, _per_draw(theory, spec), _more(theory, encoder, canonical, features.pointwise)


def _canonical(encoder: Encoder, spec: TheorySpec) -> Any:
    if spec.normaliser == "none":
        return np.arange(encoder.dimensions)
    canonical = fold_map(
        encoder.tokenizer,
        positions=spec.normaliser == "case+positions",
        accents=spec.normaliser == "case+accents",
        size=encoder.dimensions,
    ).numpy()
    return regrouped(canonical, np.random.default_rng(spec.seed)) if spec.dealt else canonical


def _facts(theory: Theory, pairs: int, keys: int) -> dict[str, Any]:
    pairwise = theory.pairwise[1] if theory.pairwise else None
    return {
        "pairs": pairs,
        "keys": keys,
        "complexity": theory.after.mean,
        "complexity_error": theory.after.error,
        "complexity_pairwise": pairwise.mean if pairwise else None,
        "complexity_pairwise_error": pairwise.error if pairwise else None,
        "compatibility_error": theory.error,
        "compatibility_error_least": theory.least,
        "estimation": theory.bound.estimation,
        "confidence": theory.bound.confidence,
        "bound": theory.bound.total,
    }


def _per_draw(theory: Theory, spec: TheorySpec) -> dict[str, dict[str, float]]:
    """Every measure that is linear in the norm has a value under each draw."""
    norms = theory.after.norms
    estimation = 4 * spec.budget * spec.lipschitz * norms
    rest = theory.bound.compatibility + theory.bound.confidence
    values = {"complexity": norms, "estimation": estimation, "bound": rest + estimation}
    if theory.pairwise is not None:
        values["complexity_pairwise"] = theory.pairwise[1].norms
    return {
        name: {f"draw {number}": float(value) for number, value in enumerate(values[name])}
        for name in PER_DRAW
        if name in values
    }


def _more(theory: Theory, encoder: Encoder, canonical: Any, features: Any) -> dict[str, Any]:
    before, drop = theory.before, theory.before.norms - theory.after.norms
    merged = np.flatnonzero(np.bincount(canonical)[canonical] > 1)
    active = np.unique(features.indices)
    worst = np.flatnonzero(canonical == canonical[theory.worst_key])
    pieces = Pieces(encoder.tokenizer)
    return {
        "keys_before": len(canonical),
        "keys_merged": len(merged),
        "active_keys": len(active),
        "active_keys_merged": len(np.intersect1d(active, merged)),
        "largest_feature": theory.largest,
        "complexity_pairwise_before": theory.pairwise[0].mean if theory.pairwise else None,
        "complexity_before": before.mean,
        "complexity_before_error": before.error,
        "complexity_drop": float(drop.mean()),
        "complexity_drop_error": float(drop.std(ddof=1) / np.sqrt(len(drop))),
        "complexity_drop_least": float(drop.min()),
        "bound_before": theory.bound_before.total,
        "worst_key": pieces.shown(theory.worst_key) if theory.error else None,
        "worst_group": [pieces.shown(int(i)) for i in worst] if theory.error else [],
        "curve": [
            {"pairs": size, "before": first, "after": second}
            for size, first, second in theory.curve
        ],
    }
