"""Stage `calibrate`: activation potential calibration on probe documents."""

import shutil
from collections.abc import Iterator

import numpy as np
import torch

from lexigraft.corpora.collection import Collection
from lexigraft.corpora.records import read_documents
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.encoders.output_vocabulary import read_output_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import write_json
from lexigraft.specs.stages import CalibrateSpec
from lexigraft.stages.job import Job
from lexigraft.transfer.calibration import calibrate
from lexigraft.transfer.calibration_record import calibration_record
from lexigraft.transfer.figures import calibration_figure, save_figure


def run(spec: CalibrateSpec, job: Job) -> None:
    """Write the calibrated model, `calibrate.json` and the distributions as `.png` and `.svg`.

    Raises:
        LexigraftError: no text to probe, or a model or a request that cannot be calibrated.
    """
    model, tokenizer = load_masked_lm(job.inputs["model"])
    model.to("cuda" if torch.cuda.is_available() else "cpu")
    probes = _probes(Collection.open(job.inputs["text"]), spec.probes, spec.seed)
    output_tokenizer = read_output_tokenizer(job.inputs["model"], model)
    by_shift = spec.method == "shift"
    result = calibrate(
        model,
        tokenizer,
        probes,
        shift=spec.shift if by_shift else None,
        rate=None if by_shift else spec.rate,
        length=spec.length,
        output_tokenizer=output_tokenizer,
    )
    save_masked_lm(model.cpu(), tokenizer, job.out, output_tokenizer=output_tokenizer)
    new_tokens = job.inputs["model"] / "new_tokens.json"
    if new_tokens.is_file():
        shutil.copyfile(new_tokens, job.out / new_tokens.name)
    record = {
        "method": spec.method,
        "requested": spec.shift if by_shift else spec.rate,
        **calibration_record(result),
    }
    write_json(job.out / "calibrate.json", record)
    save_figure(lambda: calibration_figure(record), job.out / "calibrate")


def _probes(collection: Collection, count: int, seed: int) -> list[str]:
    """Training documents (or lines of plain text), drawn without replacement, in their order.

    Read twice rather than held: MS MARCO has nine million.
    """
    available = sum(1 for _ in _documents(collection))
    if not available:
        raise LexigraftError(f"{collection.folder}: no text to probe")
    chosen = np.random.default_rng(seed).choice(available, min(count, available), replace=False)
    wanted = set(chosen.tolist())
    return [text for number, text in enumerate(_documents(collection)) if number in wanted]


def _documents(collection: Collection) -> Iterator[str]:
    documents = collection.folder / "train" / "corpus.jsonl"
    if not documents.is_file():
        return collection.text()
    return (document.content for document in read_documents(documents))
