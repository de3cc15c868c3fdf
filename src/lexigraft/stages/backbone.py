"""Stage `backbone`: a masked language model and its tokenizer, fetched, found or pre-trained."""

from lexigraft.encoders.backbones import (
    backbone_from_folder,
    backbone_from_hub,
    backbone_from_package,
    backbone_from_shipped,
    backbone_from_vocabulary,
    pretrain_backbone,
)
from lexigraft.errors import LexigraftError
from lexigraft.specs.stages import BackboneSpec
from lexigraft.stages.job import Job
from lexigraft.training.packing import CollectionText


def run(spec: BackboneSpec, job: Job) -> None:
    """Write the model, backbone.json and, if this stage pre-trained it, training.jsonl and loss.*.

    Raises:
        LexigraftError: the origin has no such model, or refuses it.
    """
    if spec.origin == "hub":
        backbone_from_hub(spec.location, spec.revision, job.out)
    elif spec.origin == "folder":
        backbone_from_folder(spec.location, job.out)
    elif spec.origin == "package":
        backbone_from_package(spec.location, job.out)
    elif spec.origin == "vocabulary":
        backbone_from_vocabulary(spec, job.out)
    elif spec.origin == "shipped":
        backbone_from_shipped(spec.location, spec.sha256, job.out)
    elif "corpus" not in job.inputs:
        raise LexigraftError("corpus: a collection is needed with origin pretrain")
    else:
        texts = CollectionText(job.inputs["corpus"])
        pretrain_backbone(spec, texts, job.out, job.checkpoints)
