"""Stage `mlm`: adaptation of a transferred vocabulary, or further MLM of all weights."""

import shutil
from pathlib import Path

from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.encoders.saving import refuse_long_input
from lexigraft.errors import LexigraftError
from lexigraft.files import read_json, write_json
from lexigraft.specs.stages import MlmSpec
from lexigraft.stages.job import Job
from lexigraft.training.curves import plot_loss
from lexigraft.training.masked_lm import MaskedLmOptions, train_masked_lm
from lexigraft.training.packing import CollectionText
from lexigraft.training.reporting import write_history
from lexigraft.training.token_cache import shared_token_cache

NEW_TOKENS = "new_tokens.json"


def run(spec: MlmSpec, job: Job) -> None:
    """Write the adapted model, training.jsonl, loss.* and mlm.json.

    Without `new_tokens.json` beside the model (no transfer) masking is uniform.

    Raises:
        LexigraftError: the model has no masked-language-model head, or training is refused.
    """
    model, tokenizer = load_masked_lm(job.inputs["model"])
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
        description=f"mlm {spec.name or spec.trains}",
        token_cache=shared_token_cache(),
    )
    save_masked_lm(model, tokenizer, job.out)
    if new_tokens.is_file():
        shutil.copyfile(new_tokens, job.out / NEW_TOKENS)
    write_history(job.out / "training.jsonl", result.history)
    plot_loss(result.history, job.out / "loss", "Masked language model", "cross-entropy (nats)")
    write_json(
        job.out / "mlm.json",
        {
            "trains": spec.trains,
            "steps": spec.steps,
            "final_loss": result.final_loss,
            "new_tokens": len(new_ids),
            "new_token_weight": spec.new_token_weight,
            **result.summary,
        },
    )


def _read_ids(path: Path) -> list[int]:
    ids = read_json(path)
    if not isinstance(ids, list) or not all(type(value) is int for value in ids):
        raise LexigraftError(f"{path}: a list of token ids is needed")
    return ids
