"""The stages of one run, from backbone to metrics."""

import dataclasses
from dataclasses import asdict
from typing import Any, TypeVar

from lexigraft.specs.base import StageSpec
from lexigraft.specs.columns import THEORY
from lexigraft.specs.options import DISTILLING, ENGINE_OPTIONS, TRAINED
from lexigraft.specs.run import Run
from lexigraft.specs.scales import Scale
from lexigraft.specs.stages import (
    CalibrateSpec,
    EncodeSpec,
    EvaluateSpec,
    FinetuneSpec,
    MlmSpec,
    RetrieveSpec,
    TeacherSpec,
    TheorySpec,
    TransferSpec,
    VocabularySpec,
)

Spec = TypeVar("Spec", bound=StageSpec)


class Chain:
    """Adds the stages of one run to a plan. Runs that need the same stage share it."""

    def __init__(self, run: Run, scale: Scale, stages: dict[str, StageSpec]) -> None:
        self.run, self.scale, self.stages = run, scale, stages
        self.training, self.text = scale.part(run)

    def evaluations(self, roles: tuple[str, ...]) -> dict[str, tuple[tuple[str, str], ...]]:
        """Role to (id of the evaluate or theory stage, set), for the roles that a table's columns
        name."""
        wanted = {role: self.scale.evaluation[role] for role in roles if role != THEORY}
        names = dict.fromkeys(entry.split("/")[0] for sets in wanted.values() for entry in sets)
        model = None if self.run.lexical else self._finetuned()
        found = {name: self._evaluated(name, model) for name in names}
        pairs = {
            role: tuple((found[entry.split("/")[0]].id, entry.split("/")[1]) for entry in sets)
            for role, sets in wanted.items()
        }
        if THEORY in roles:
            assert model is not None
            pairs[THEORY] = self._theory(model)
        return pairs

    def transferred(self) -> StageSpec:
        """The model as the transfer leaves it, before any training."""
        run = dataclasses.replace(self.run, adapted=False, calibrated=False)
        return Chain(run, self.scale, self.stages)._adapted()

    def _add(self, spec: Spec) -> Spec:
        self.stages[spec.id] = spec
        return spec

    def _collection(self, name: str) -> StageSpec:
        return self._add(self.scale.collections[name])

    def _backbone(self, name: str) -> StageSpec:
        spec = self.scale.backbones[name]
        if spec.corpus:
            self._collection(self.scale.text)
        return self._add(spec)

    def _target(self, text: str) -> StageSpec:
        """What a transfer takes its vocabulary from: a backbone, or a tokenizer trained on text."""
        run = self.run
        if run.target != TRAINED:
            return self._backbone(run.target)
        options = run.vocabulary
        words = [options.tokenizer, *(["uncased"] if options.lowercase else []), str(options.size)]
        return self._add(VocabularySpec(name="-".join(words), text=text, **_options(options)))

    def _space(self) -> str:
        """What semantic initialisation looks for neighbours in, where that is not the target."""
        run = self.run
        if run.transfer.initialisation != "semantic" or run.space in ("", run.target):
            return ""
        return self._backbone(run.space).id

    def _adapted(self) -> StageSpec:
        """The masked language model that is fine-tuned."""
        run, model = self.run, self._backbone(self.run.backbone)
        reads_text = run.target or run.adapted or run.calibrated
        text = self._collection(self.text).id if reads_text else ""
        if run.target:
            target = self._target(text)
            options = _options(run.transfer)
            if run.transfer.initialisation.startswith("random"):
                options["seed"] = run.seed
            moved = model.name + ("-head" if run.transfer.part == "head" else "")
            model = self._add(
                TransferSpec(
                    name=f"{moved}-to-{target.name}-{run.transfer.initialisation}",
                    source=model.id,
                    target=target.id,
                    text=text,
                    space=self._space(),
                    **options,
                )
            )
        if run.adapted:
            kind = "further-mlm" if run.mlm.trains == "all" else "mlm"
            kind = kind if run.mlm.objective == "mlm" else run.mlm.objective
            model = self._add(
                MlmSpec(
                    name=f"{model.name}-{kind}{self._seed_mark()}",
                    model=model.id,
                    text=text,
                    teacher=self._sparse_teacher() if run.mlm.objective == "sap" else "",
                    seed=run.seed,
                    **_options(run.mlm),
                )
            )
        if run.calibrated:
            model = self._add(
                CalibrateSpec(
                    name=f"{model.name}-calibrated",
                    model=model.id,
                    text=text,
                    **_options(run.calibrate),
                )
            )
        return model

    def _finetuned(self) -> StageSpec:
        run, model = self.run, self._adapted()
        if not run.finetuned:
            return model
        corpus = self._collection(self.training)
        teacher = self._teacher(corpus.id) if run.finetune.objective in DISTILLING else ""
        words = [model.name.removesuffix(self._seed_mark()), run.finetune.head]
        words += ["lowercase"] if run.finetune.lowercase else []
        words += ["inference-free"] if run.finetune.query_encoder != "model" else []
        return self._add(
            FinetuneSpec(
                name="-".join(words) + self._seed_mark(),
                model=model.id,
                corpus=corpus.id,
                teacher=teacher,
                seed=run.seed,
                **_options(run.finetune),
            )
        )

    def _teacher(self, corpus: str) -> str:
        run = self.run
        dense = "dense" in run.teacher.method
        return self._add(
            TeacherSpec(
                name=f"{run.teacher.method}-teacher",
                corpus=corpus,
                model=self._backbone(run.teacher_backbone).id if dense else "",
                **_options(run.teacher),
            )
        ).id

    def _sparse_teacher(self) -> str:
        """The sparse encoder that sap distils: a model of others, or the target's backbone
        fine-tuned with the run's own options, which a row of plain SPLADE shares."""
        run = self.run
        if run.sap_teacher:
            return self._backbone(run.sap_teacher).id
        plain = dataclasses.replace(run, backbone=run.target, target="")
        plain = dataclasses.replace(plain, adapted=False, calibrated=False, finetuned=True)
        return Chain(plain, self.scale, self.stages)._finetuned().id

    def _evaluated(self, name: str, model: StageSpec | None) -> StageSpec:
        run, collection = self.run, self._collection(name)
        vectors = ""
        if model is not None:
            vectors = self._add(
                EncodeSpec(
                    name=f"{model.name}-on-{name}",
                    model=model.id,
                    collection=collection.id,
                    **_options(run.encode),
                )
            ).id
        start = model.name if model is not None else run.retrieve.engine
        rankings = self._add(
            RetrieveSpec(
                name=f"{start}-on-{name}",
                collection=collection.id,
                vectors=vectors,
                **self._search_options(),
            )
        )
        return self._add(
            EvaluateSpec(
                name=f"{start}-on-{name}",
                collection=collection.id,
                run=rankings.id,
                **_options(run.evaluate),
            )
        )

    def _theory(self, model: StageSpec) -> tuple[tuple[str, str], ...]:
        """The theory stage and the set, for each in-domain set: its pairs are drawn as the training
        pairs are, and the encoder was not trained on them."""
        pairs = []
        options = self.run.theory
        words = [model.name, options.normaliser, *["dealt"] * options.dealt]
        for entry in self.scale.evaluation["in_domain"]:
            collection, name = entry.split("/")
            spec = TheorySpec(
                name="-".join(words),
                model=model.id,
                collection=self._collection(collection).id,
                evaluation_set=name,
                query_length=self.run.encode.query_length,
                document_length=self.run.encode.document_length,
                **_options(options),
            )
            pairs.append((self._add(spec).id, name))
        return tuple(pairs)

    def _search_options(self) -> dict[str, Any]:
        """What the engine reads: a scale's options of another engine change nothing."""
        options = self.run.retrieve
        names = ("engine", "depth", *ENGINE_OPTIONS[options.engine])
        return {name: getattr(options, name) for name in names}

    def _seed_mark(self) -> str:
        default = next(f.default for f in dataclasses.fields(Run) if f.name == "seed")
        return "" if self.run.seed == default else f"-s{self.run.seed}"


def _options(options: Any) -> dict[str, Any]:
    return asdict(options)
