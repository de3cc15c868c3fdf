"""Stage `theory`: section 3 of Vocabulary Transfer on judged pairs of a query and a document."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lexigraft.analysis.theory.coarse_graining import coarse_graining, regrouped
from lexigraft.analysis.theory.figures import theory_figure
from lexigraft.analysis.theory.measure import Theory, measure_theory
from lexigraft.analysis.theory.pairs import draw_pairs, encode_pairs
from lexigraft.analysis.theory.record import details, measures, per_draw
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


def run(spec: TheorySpec, job: Job) -> None:
    """Write metrics.json and per_query.parquet (a draw of signs in the place of a query), with the
    rest of what was found in theory.json and the complexity over sample sizes as a figure.

    Raises:
        LexigraftError: the encoder is not sparse, or there is no such set or no relevant pair.
    """
    sets = list(_sets(job.inputs["collection"], spec.evaluation_set))
    encoder = load_encoder(job.inputs["model"], device=device())
    canonical, pieces = _canonical(encoder, spec), Pieces(encoder.term_tokenizer)
    found = {
        each.name: _theory(each, encoder, canonical, spec)
        for each in track(sets, "measure theory", unit="sets")
    }
    facts = {name: measures(theory) for name, theory in found.items()}
    write_measures(job.out, facts, {name: per_draw(t, spec) for name, t in found.items()})
    record = {
        "normaliser": spec.normaliser,
        "dealt": spec.dealt,
        "weights": spec.weights,
        "sets": {n: {**facts[n], **details(t, pieces, canonical)} for n, t in found.items()},
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


def _theory(
    evaluation_set: EvaluationSet, encoder: Encoder, canonical: Any, spec: TheorySpec
) -> Theory:
    pairs = draw_pairs(evaluation_set, spec.pairs, spec.seed)
    features = encode_pairs(
        encoder,
        evaluation_set,
        pairs,
        query_length=spec.query_length or encoder.default_length("query"),
        document_length=spec.document_length or encoder.default_length("document"),
    )
    weights = None
    if spec.weights == "frequency":
        texts = [evaluation_set.documents[d] for d in dict.fromkeys(d for _, d in pairs)]
        counted = count_unigrams(encoder.term_tokenizer, texts, len(canonical))
        weights = counted.log_probabilities.double().exp().numpy()
    return measure_theory(features, coarse_graining(canonical, weights), canonical, spec, spec.seed)


def _canonical(encoder: Encoder, spec: TheorySpec) -> Any:
    """(V,) the map of the normaliser."""
    if encoder.head != "splade":
        raise LexigraftError(f"{encoder.name}: a {encoder.head} encoder; keys need a sparse one")
    if spec.normaliser == "none":
        return np.arange(encoder.dimensions)
    canonical = fold_map(
        encoder.term_tokenizer,
        positions=spec.normaliser == "case+positions",
        accents=spec.normaliser == "case+accents",
        size=encoder.dimensions,
    ).numpy()
    return regrouped(canonical, np.random.default_rng(spec.seed)) if spec.dealt else canonical
