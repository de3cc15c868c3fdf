"""Stage `mlm`: adaptation of a transferred vocabulary, or further MLM of all weights."""

import shutil
from pathlib import Path

from transformers import PreTrainedTokenizerFast

from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.encoders.output_vocabulary import read_output_tokenizer
from lexigraft.encoders.saving import refuse_long_input
from lexigraft.errors import LexigraftError
from lexigraft.files import read_json, write_json
from lexigraft.specs.stages import MlmSpec
from lexigraft.stages.job import Job
from lexigraft.training.curves import plot_loss
from lexigraft.training.emlm import Emlm
from lexigraft.training.masked_lm import MaskedLmOptions, Task, train_masked_lm
from lexigraft.training.packing import CollectionText
from lexigraft.training.reporting import write_history
from lexigraft.training.sap import Sap
from lexigraft.vocabulary.token_cache import shared_token_cache

NEW_TOKENS = "new_tokens.json"
LOSSES = {
    "mlm": ("Masked language model", "cross-entropy (nats)"),
    "emlm": ("Masked language model, other output vocabulary", "cross-entropy (nats a label)"),
    "sap": ("Sparse alignment", "squared difference of pooled logits"),
}
"""Title and vertical axis of the loss curve."""


def run(spec: MlmSpec, job: Job) -> None:
    """Write the adapted model, training.jsonl, loss.* and mlm.json.

    Without `new_tokens.json` beside the model (no transfer) masking is uniform.

    Raises:
        LexigraftError: the model has no masked-language-model head, the objective does not fit its
            vocabularies or the teacher, or training is refused.
    """
    model, tokenizer = load_masked_lm(job.inputs["model"])
    output_tokenizer = read_output_tokenizer(job.inputs["model"], model)
    task = _task(spec, job, tokenizer, output_tokenizer)
    refuse_long_input(model, spec.length, f"{job.inputs['model']}, length")
    new_tokens = job.inputs["model"] / NEW_TOKENS
    new_ids = _read_ids(new_tokens) if new_tokens.is_file() else []
    result = train_masked_lm(
        model,
        tokenizer,
        CollectionText(job.inputs["text"]),
        MaskedLmOptions.of(spec),
        job.checkpoints,
        new_ids=new_ids,
        task=task,
        description=f"mlm {spec.name or spec.trains}",
        token_cache=shared_token_cache(),
    )
    save_masked_lm(model, tokenizer, job.out, output_tokenizer=output_tokenizer)
    if new_tokens.is_file():
        shutil.copyfile(new_tokens, job.out / NEW_TOKENS)
    write_history(job.out / "training.jsonl", result.history)
    plot_loss(result.history, job.out / "loss", *LOSSES[spec.objective])
    write_json(
        job.out / "mlm.json",
        {
            "objective": spec.objective,
            "trains": spec.trains,
            "steps": spec.steps,
            "final_loss": result.final_loss,
            "new_tokens": len(new_ids),
            "new_token_weight": spec.new_token_weight,
            **result.summary,
        },
    )


def _task(
    spec: MlmSpec,
    job: Job,
    tokenizer: PreTrainedTokenizerFast,
    output_tokenizer: PreTrainedTokenizerFast | None,
) -> Task | None:
    """What is learnt instead of masked tokens; None for these."""
    if spec.objective == "mlm":
        if output_tokenizer is not None:
            raise LexigraftError(
                f"--objective: found mlm, but {job.inputs['model']} writes another vocabulary than "
                "it reads; allowed: emlm, sap"
            )
        return None
    if spec.objective == "emlm":
        return Emlm(tokenizer, output_tokenizer or tokenizer)
    if "teacher" not in job.inputs:
        raise LexigraftError("--teacher: none given; sap needs a sparse encoder to distil")
    return Sap(tokenizer, output_tokenizer or tokenizer, load_encoder(job.inputs["teacher"]))


def _read_ids(path: Path) -> list[int]:
    ids = read_json(path)
    if not isinstance(ids, list) or not all(type(value) is int for value in ids):
        raise LexigraftError(f"{path}: a list of token ids is needed")
    return ids
