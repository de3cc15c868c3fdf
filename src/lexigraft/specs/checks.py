"""Combinations of a run's fields that make no sense, refused before anything is planned."""

from lexigraft.errors import LexigraftError
from lexigraft.specs.options import DISTILLING, ENGINE_OPTIONS, TRAINED
from lexigraft.specs.ranges import head_problem, run_problem, value, vocabulary_problem
from lexigraft.specs.run import Run
from lexigraft.specs.scales import Scale

UNTRAINED = "a vocabulary whose model is not trained"


def check_run(run: Run, scale: Scale, where: str) -> None:
    """Refuse an impossible run.

    Raises:
        LexigraftError: the message starts with `where` and names the field, the value found and
            what is allowed.
    """
    problem = run_problem(run) or _names(run, scale) or _combination(run)
    problem = problem or _unread(run, scale) or _lengths(run, scale)
    if problem:
        raise LexigraftError(f"{where}: {problem}")


def refuse_untrained(run: Run, scale: Scale, where: str) -> None:
    """Refuse a run whose weights would be read, where its backbone is a vocabulary alone.

    Raises:
        LexigraftError: as `check_run`.
    """
    if scale.backbones[run.backbone].origin == "vocabulary":
        raise LexigraftError(
            f"{where}: backbone: found {run.backbone!r}, {UNTRAINED}; allowed: in neighbours.run"
        )


def _names(run: Run, scale: Scale) -> str:
    needed = {"backbone": run.backbone}
    if run.target not in ("", TRAINED):
        needed["target"] = run.target
    if run.finetune.objective in DISTILLING and "dense" in run.teacher.method:
        needed["teacher_backbone"] = run.teacher_backbone
    if run.space:
        needed["space"] = run.space
    if run.sap_teacher:
        needed["sap_teacher"] = run.sap_teacher
    for field, name in needed.items():
        if name not in scale.backbones:
            known = ", ".join(scale.backbones)
            known += f", {TRAINED}" if field == "target" else ""
            return f"{field}: found {name!r}; allowed at scale {scale.name}: {known}"
        if field != "backbone" and scale.backbones[name].origin == "vocabulary":
            return f"{field}: found {name!r}, {UNTRAINED}; allowed: a model that is"
    if run.domain and scale.domain is None:
        return f"domain: found true; the scale {scale.name} has no domain"
    return ""


def _combination(run: Run) -> str:
    if run.lexical and (run.target or run.adapted or run.calibrated):
        return "retrieve.engine: bm25 has no model; target, adapted and calibrated must stay unset"
    if not run.finetuned and run.finetune.head == "dense":
        return "finetuned: false encodes a masked language model; a dense head needs fine-tuning"
    if run.calibrated and run.finetune.head == "dense":
        return "calibrated: true moves output logits; a dense head has none"
    if run.retrieve.engine == "seismic" and run.finetune.head == "dense":
        return "retrieve.engine: seismic searches sparse vectors; a dense head needs exact"
    if problem := head_problem(run.finetune):
        return f"finetune.{problem}"
    if problem := vocabulary_problem(run.vocabulary):
        return f"vocabulary.{problem}"
    if run.target == TRAINED and run.transfer.initialisation == "semantic" and not run.space:
        return (
            f"transfer.initialisation: found 'semantic'; a vocabulary that is {TRAINED} has no "
            "embeddings; allowed: subtoken, mean, random_new, random_all, or a space"
        )
    if run.target == run.backbone:
        return f"target: found {run.target!r}, the backbone itself; allowed: another vocabulary"
    if run.finetune.objective in DISTILLING and run.finetune.negatives < 1:
        return f"finetune.negatives: found 0; {run.finetune.objective} needs 1 or more"
    return _head_only(run)


def _head_only(run: Run) -> str:
    """What does not go with a model that writes another vocabulary than it reads, or needs one."""
    head = run.transfer.part == "head"
    if head and not run.target:
        return "transfer.part: found 'head'; a target vocabulary is needed"
    if head and run.finetune.head == "dense":
        return "transfer.part: found 'head'; a dense encoder does not use its output head"
    if head and run.finetune.query_encoder != "model":
        return (
            f"finetune.query_encoder: found {run.finetune.query_encoder!r}, which makes a query of "
            "the tokens that the model reads; allowed with transfer.part head: model"
        )
    if not run.adapted:
        return ""
    objective = run.mlm.objective
    if head and objective == "mlm":
        return (
            "mlm.objective: found 'mlm', which predicts the tokens that the model reads; allowed "
            "with transfer.part head: emlm, sap"
        )
    if objective == "emlm" and not head:
        return "mlm.objective: found 'emlm'; it needs an output vocabulary (transfer.part: head)"
    if run.mlm.trains == "head" and not head:
        return "mlm.trains: found 'head'; it needs an output vocabulary (transfer.part: head)"
    if objective == "sap" and not run.target:
        return "mlm.objective: found 'sap'; it needs a target, whose terms the teacher shares"
    if objective == "sap" and run.target == TRAINED and not run.sap_teacher:
        return f"mlm.objective: found 'sap'; with target {TRAINED} it needs a sap_teacher"
    return ""


def _unread(run: Run, scale: Scale) -> str:
    """An option of a vocabulary that is not trained, or of another engine than the one that
    searches; a scale may state either for its rows."""
    if (
        run.target != TRAINED
        and run.vocabulary != scale.run_with({"domain": run.domain}).vocabulary
    ):
        return f"vocabulary: read with target {TRAINED!r} only, the target is {run.target!r}"
    engine = run.retrieve.engine
    for reader, names in ENGINE_OPTIONS.items():
        for name in names:
            found = getattr(run.retrieve, name)
            if reader != engine and found != getattr(scale.run.retrieve, name):
                return (
                    f"retrieve.{name}: found {found}; read by {reader} only, the engine is {engine}"
                )
    return ""


def _lengths(run: Run, scale: Scale) -> str:
    """Inputs longer than the backbone reads, as far as that is known: where we pre-trained it."""
    positions = scale.positions.get(run.backbone)
    if run.lexical or positions is None:
        return ""
    used = ["finetune.query_length", "finetune.document_length"]
    used += ["encode.query_length", "encode.document_length"]
    used += ["mlm.length"] if run.adapted else []
    used += ["calibrate.length"] if run.calibrated else []
    for axis in used:
        found = value(run, axis)
        assert isinstance(found, int)
        if found > positions:
            return (
                f"{axis}: found {found}; allowed: at most {positions}, the positions of "
                f"the backbone {run.backbone!r}"
            )
    return ""
