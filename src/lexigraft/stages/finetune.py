"""Stage `finetune`: a masked language model becomes a sparse or a dense encoder."""

from lexigraft.specs.stages import FinetuneSpec
from lexigraft.stages.job import Job
from lexigraft.training.finetune import finetune
from lexigraft.vocabulary.token_cache import shared_token_cache


def run(spec: FinetuneSpec, job: Job) -> None:
    """Write the encoder, training.jsonl and finetune.json."""
    finetune(
        job.inputs["model"],
        job.inputs["corpus"],
        job.inputs.get("teacher"),
        spec,
        seed=spec.seed,
        out=job.out,
        checkpoints=job.checkpoints,
        token_cache=shared_token_cache(),
    )
