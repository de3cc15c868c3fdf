"""The target of a transfer: a masked language model, a bare encoder or a tokenizer alone."""

from pathlib import Path

from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.masked_lm import (
    MASKED_LM_SUFFIXES,
    architectures,
    load_masked_lm,
    load_model,
    load_tokenizer,
    refuse_foreign_tokenizer,
    refuse_missing_files,
)
from lexigraft.files import read_object


def load_target(location: str | Path) -> tuple[PreTrainedModel | None, PreTrainedTokenizerFast]:
    """Load the target of a transfer from a folder or the hub.

    An encoder without a masked-language-model head (all-MiniLM-L6-v2) gives its embeddings; a
    folder with nothing but tokenizer files gives a vocabulary, and no model.

    Raises:
        LexigraftError: no such folder, or what is there cannot be loaded.
    """
    place = str(location)
    folder = Path(place)
    if not folder.is_dir():
        return load_masked_lm(place)
    config = folder / "config.json"
    if not config.is_file():
        return None, load_tokenizer(place, None)
    names = architectures(read_object(config), place)
    if not names or any(name.endswith(MASKED_LM_SUFFIXES) for name in names):
        return load_masked_lm(place)
    refuse_missing_files(folder)
    model, _ = load_model(AutoModel, place, None, "an encoder")
    tokenizer = load_tokenizer(place, None)
    refuse_foreign_tokenizer(place, model, tokenizer)
    return model, tokenizer
