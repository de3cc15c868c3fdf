"""Models that write another vocabulary than they read (head-only transfer, ESPLADE).

Classes of transformers have one `vocab_size` for both sides. So that a folder still loads there and
in sentence-transformers, untied matrices of R = max(V, V') rows are stored: V rows are read and V'
written. Input rows beyond V are zero, and no token has their ids. Output rows beyond V' are
silenced: weight 0 and bias SILENT, so that no softmax gives them a share and no ReLU lets them
through. There, a vector has R dimensions, and those beyond V' are always zero; here it has V'.

V' stands in config.json as `output_vocab_size`, and the folder `output_tokenizer` holds the
tokenizer whose ids the outputs are. (Other libraries name a term by the tokenizer that reads.)
"""

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError

FOLDER = "output_tokenizer"
CONFIG_KEY = "output_vocab_size"
SILENT = -1e4
"""Output bias of rows that only fill the decoder up; float16 holds it."""


def output_size(model: PreTrainedModel) -> int:
    """V': how many rows of the decoder are output terms."""
    rows = len(model.get_output_embeddings().weight)
    return int(getattr(model.config, CONFIG_KEY, None) or rows)


def has_output_vocabulary(model: PreTrainedModel) -> bool:
    """Whether the model writes another vocabulary than it reads."""
    return getattr(model.config, CONFIG_KEY, None) is not None


def save_output_tokenizer(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast | None, folder: Path
) -> None:
    """Write the tokenizer of the output vocabulary beside the model, if it has one.

    Raises:
        LexigraftError: there is an output vocabulary and no tokenizer, or the other way round.
    """
    if has_output_vocabulary(model) != (tokenizer is not None):
        found, lacking = ("a tokenizer", "an output vocabulary")
        if tokenizer is None:
            found, lacking = lacking, found
        raise LexigraftError(f"{folder}: a model with {found} of its own but without {lacking}")
    if tokenizer is not None:
        tokenizer.save_pretrained(folder / FOLDER)


def read_output_tokenizer(
    place: str | Path, model: PreTrainedModel
) -> PreTrainedTokenizerFast | None:
    """The tokenizer of the output vocabulary in a model's folder; None where one serves both sides.

    Raises:
        LexigraftError: config.json speaks of an output vocabulary that the model or the folder
            lacks, or whose tokenizer has ids beyond it.
    """
    if not has_output_vocabulary(model):
        return None
    size, rows = getattr(model.config, CONFIG_KEY), len(model.get_output_embeddings().weight)
    if not isinstance(size, int) or not 0 < size <= rows:
        raise LexigraftError(
            f"{place}: config.json: {CONFIG_KEY} is {size!r}; the decoder has {rows} rows"
        )
    folder = Path(place) / FOLDER
    if not (folder / "tokenizer.json").is_file():
        raise LexigraftError(
            f"{folder}: no tokenizer.json, which names the {size} output terms of config.json"
        )
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, use_fast=True)
    # Rust raises a bare Exception for a tokenizer.json that it cannot read.
    except Exception as error:
        raise LexigraftError(f"{folder}: unreadable tokenizer ({error})") from None
    if max(tokenizer.get_vocab().values(), default=0) >= size:
        raise LexigraftError(
            f"{folder}: the tokenizer has ids beyond the {size} output terms of config.json"
        )
    return tokenizer
