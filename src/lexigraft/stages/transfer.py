"""Stage `transfer`: embeddings and output bias in the target vocabulary."""

from collections.abc import Iterator
from pathlib import Path

from lexigraft.analysis.neighbours import TOKENS
from lexigraft.corpora.collection import Collection
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.errors import LexigraftError
from lexigraft.files import whole_file, write_json
from lexigraft.specs.stages import TransferSpec
from lexigraft.stages.job import Job
from lexigraft.transfer.figures import save_figure, transfer_figure
from lexigraft.transfer.report import transfer_markdown, transfer_report
from lexigraft.transfer.target import load_target
from lexigraft.transfer.tokens import token_table
from lexigraft.transfer.transfer import transfer


def run(spec: TransferSpec, job: Job) -> None:
    """Write the transferred model, `new_tokens.json` (unless the head alone is moved; then the
    target's tokenizer is in `output_tokenizer`), what became of each token as `tokens.parquet`,
    and the report as `transfer.json`, `.md`, `.png` and `.svg`.

    Raises:
        LexigraftError: source and target are one folder, one of them cannot be used, or a space is
            given that would not be read.
    """
    source, target = job.inputs["source"], job.inputs["target"]
    if Path(source).resolve() == Path(target).resolve():
        raise LexigraftError(f"{source}: source and target are the same, nothing is transferred")
    if "space" in job.inputs and spec.initialisation != "semantic":
        raise LexigraftError(
            f"--space: {job.inputs['space']} is given; initialisation {spec.initialisation} looks "
            "for no neighbours, semantic alone does"
        )
    model, tokenizer = load_masked_lm(source)
    target_model, target_tokenizer = load_target(target)
    done = transfer(
        model,
        tokenizer,
        target_tokenizer,
        target_model,
        spec,
        texts=_texts(job.inputs.get("text")),
        space=load_target(job.inputs["space"]) if "space" in job.inputs else None,
    )
    save_masked_lm(done.model, done.tokenizer, job.out, output_tokenizer=done.output_tokenizer)
    # They are tokens of the input, which masking may favour; a moved head has none.
    if done.output_tokenizer is None:
        write_json(job.out / "new_tokens.json", done.overlap.new_ids.tolist())
    tokens = token_table(done)
    tokens.to_parquet(job.out / TOKENS, index=False)
    report = {
        "source": Path(source).name,
        "target": Path(target).name,
        "space": Path(job.inputs["space"]).name if "space" in job.inputs else "",
        **transfer_report(done, tokens, spec.seed),
    }
    write_json(job.out / "transfer.json", report)
    with whole_file(job.out / "transfer.md") as partial:
        partial.write_text(transfer_markdown(report), encoding="utf-8")
    save_figure(lambda: transfer_figure(report), job.out / "transfer")


def _texts(folder: Path | None) -> Iterator[str] | None:
    return None if folder is None else Collection.open(folder).text()
