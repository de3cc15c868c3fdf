"""Masked language models of transformers: loading with every refusal told, and saving."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from lexigraft.encoders.decoder import decoder_of, output_projection, project_states
from lexigraft.encoders.output_vocabulary import (
    has_output_vocabulary,
    output_size,
    read_output_tokenizer,
)
from lexigraft.encoders.saving import save_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object

MASKED_LM_SUFFIXES = ("ForMaskedLM", "ForPreTraining", "WithLMHeadModel")
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "spiece.model")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
HEAD_TOLERANCE = 1e-3
"""Largest difference between a model's logits and hidden @ weight.T + bias, relative to their
largest value, at which its head counts as a plain decoder."""


def load_masked_lm(
    location: str | Path, *, revision: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a masked language model and its tokenizer, in float32 and evaluation mode.

    Nothing of the checkpoint is executed or unpickled: remote code is refused and weights must be
    safetensors.

    Args:
        location: a folder, or an id of the hub.
        revision: commit, tag or branch of a hub id.

    Raises:
        LexigraftError: the folder is missing; there is no masked-language-model head, or its
            weights are not in the checkpoint; the weights are corrupt, pickled or of another
            shape than the config says; the tokenizer has ids that the embeddings lack, is missing
            or slow; remote code would be needed; the head is no plain decoder; or there is an
            output vocabulary without its tokenizer.
    """
    place = str(location)
    config = _read_config(place, revision)
    _refuse_other_heads(place, config)
    if Path(place).is_dir():
        refuse_missing_files(Path(place))
    model, missing = load_model(AutoModelForMaskedLM, place, revision, "a masked language model")
    if missing:
        raise LexigraftError(
            f"{place}: the checkpoint lacks {len(missing)} weights of {type(model).__name__}, "
            f"such as {missing[0]}; a masked language model with a trained head is needed"
        )
    tokenizer = load_tokenizer(place, revision)
    refuse_foreign_tokenizer(place, model, tokenizer)
    read_output_tokenizer(place, model)
    _refuse_unusual_decoder(place, model)
    return model, tokenizer


def _read_config(place: str, revision: str | None) -> dict[str, Any]:
    if not Path(place).is_dir() and not HUB_ID.fullmatch(place):
        raise LexigraftError(f"{place}: no such folder")
    if Path(place).is_dir():
        path = Path(place) / "config.json"
        if not path.is_file():
            raise LexigraftError(f"{place}: no config.json, so no model of transformers")
        return read_object(path)
    try:
        config, _ = PretrainedConfig.get_config_dict(place, revision=revision)
    except (OSError, ValueError) as error:
        raise LexigraftError(
            f"{place}: neither a model folder nor a model that could be fetched from the hub "
            f"({first_line(error)})"
        ) from None
    return config


def _refuse_other_heads(place: str, config: dict[str, Any]) -> None:
    import transformers

    names = architectures(config, place)
    remote = config.get("auto_map") or {}
    if remote and not (names and all(hasattr(transformers, name) for name in names)):
        raise LexigraftError(
            f"{place}: needs remote code ({', '.join(sorted(map(str, remote)))} in auto_map of "
            "config.json), which is never run; use a model whose class transformers has"
        )
    if names and not any(name.endswith(MASKED_LM_SUFFIXES) for name in names):
        raise LexigraftError(
            f"{place}: no masked-language-model head (config.json names {', '.join(names)}; "
            "a class that ends in ForMaskedLM is needed)"
        )


def architectures(config: Mapping[str, Any], place: str | Path) -> list[str]:
    """Names of classes that a config.json gives its model.

    Raises:
        LexigraftError: `architectures` is no list of names.
    """
    names = member(config, "architectures", list, f"{place}: config.json", [])
    if not all(isinstance(name, str) for name in names):
        raise LexigraftError(f"{place}: config.json: 'architectures' is {names!r}, not names")
    return names


def refuse_missing_files(folder: Path) -> None:
    if not any(folder.glob("*.safetensors")):
        pickled = sorted(
            p.name for ending in ("*.bin", "*.pt", "*.ckpt") for p in folder.glob(ending)
        )
        found = f"only pickled ones ({', '.join(pickled)})" if pickled else "none at all"
        raise LexigraftError(f"{folder}: no weights in safetensors format, {found}")
    _refuse_without_tokenizer(folder)


def _refuse_without_tokenizer(folder: Path) -> None:
    if not any(True for name in TOKENIZER_FILES for _ in folder.glob(name)):
        raise LexigraftError(f"{folder}: no tokenizer file (tokenizer.json, vocab.txt, ...)")


def load_model(
    kind: Any, place: str, revision: str | None, what: str
) -> tuple[PreTrainedModel, list[str]]:
    """A model in float32 and evaluation mode, and the names of the weights that it had to make up.

    Args:
        kind: class of transformers that loads it.
        place: a folder, or an id of the hub.
        revision: commit, tag or branch of a hub id.
        what: what is loaded, for messages.

    Raises:
        LexigraftError: the weights are corrupt or of another shape than config.json says, or
            config.json is not a model's.
    """
    try:
        model, loading = kind.from_pretrained(
            place,
            revision=revision,
            trust_remote_code=False,
            use_safetensors=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            dtype=torch.float32,
        )
    except SafetensorError as error:
        raise LexigraftError(f"{place}: corrupt weights ({first_line(error)})") from None
    # A wrong value in config.json ends anywhere in transformers: a TypeError, a ZeroDivisionError.
    except Exception as error:
        raise LexigraftError(f"{place}: not loadable as {what} ({first_line(error)})") from None
    for name, stored, needed in sorted(loading["mismatched_keys"]):
        raise LexigraftError(
            f"{place}: the weights do not fit config.json ({name} is {tuple(stored)}, "
            f"config.json says {tuple(needed)})"
        )
    for name, weight in model.named_parameters():
        if not torch.isfinite(weight).all():
            raise LexigraftError(f"{place}: {name} holds a value that is not a finite number")
    return model.eval(), sorted(loading["missing_keys"])


def load_tokenizer(place: str, revision: str | None) -> PreTrainedTokenizerFast:
    if Path(place).is_dir():
        _refuse_without_tokenizer(Path(place))
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            place, revision=revision, trust_remote_code=False, use_fast=True
        )
    # Rust raises a bare Exception for a tokenizer.json that it cannot read.
    except Exception as error:
        raise LexigraftError(f"{place}: unreadable tokenizer ({first_line(error)})") from None
    longest = tokenizer.model_max_length
    if isinstance(longest, bool) or not isinstance(longest, int | float) or not longest >= 1:
        raise LexigraftError(
            f"{place}: tokenizer_config.json: model_max_length: found {longest!r}; allowed: 1 and "
            "more"
        )
    if not tokenizer.is_fast:
        raise LexigraftError(
            f"{place}: a slow tokenizer ({type(tokenizer).__name__}); one with a tokenizer.json "
            "is needed"
        )
    return tokenizer


def refuse_foreign_tokenizer(
    place: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast
) -> None:
    rows = model.get_input_embeddings().weight.shape[0]
    vocabulary = tokenizer.get_vocab()
    largest = max(vocabulary.values(), default=-1)
    if largest >= rows:
        raise LexigraftError(
            f"{place}: the weights do not fit the tokenizer (its largest id is {largest}, the "
            f"embeddings have {rows} rows)"
        )
    if not has_output_vocabulary(model) and len(vocabulary) * 2 < rows:
        raise LexigraftError(
            f"{place}: the weights do not fit the tokenizer ({len(vocabulary)} tokens for {rows} "
            "embedding rows)"
        )
    if tokenizer.pad_token_id is None:
        raise LexigraftError(f"{place}: the tokenizer has no padding token")


@torch.no_grad()
def _refuse_unusual_decoder(place: str, model: PreTrainedModel) -> None:
    """Some heads add to, scale or cap what the decoder gives: their logits would come out wrong."""
    decoder = decoder_of(model)
    rows = model.get_input_embeddings().weight.shape[0]
    if decoder.weight.shape[0] != rows:
        raise LexigraftError(
            f"{place}: the decoder has {decoder.weight.shape[0]} rows, the embeddings {rows}"
        )
    ids = torch.arange(min(5, rows), device=decoder.weight.device)[None]
    mask = torch.ones_like(ids)
    expected = model(input_ids=ids, attention_mask=mask).logits[..., : output_size(model)]
    try:
        hidden = project_states(model, ids, mask)
        logits = nn.functional.linear(hidden, *output_projection(model))
    except RuntimeError:
        logits = torch.full_like(expected, torch.inf)
    if not (logits - expected).abs().max() <= HEAD_TOLERANCE * (1 + expected.abs().max()):
        raise LexigraftError(
            f"{place}: the logits of {type(model).__name__} are not those of its decoder alone, "
            "so no sparse head can be built on it"
        )


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [repr(error)]
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def save_masked_lm(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    folder: str | Path,
    *,
    max_length: int | None = None,
    output_tokenizer: PreTrainedTokenizerFast | None = None,
) -> None:
    """Save a masked language model so that it also loads as a sparse encoder.

    Special ids of the model's config and generation config become the tokenizer's.

    Args:
        max_length: longest input in tokens; None for what the tokenizer and the model allow.
        output_tokenizer: of the output vocabulary, where it is another than the tokenizer's.

    Raises:
        LexigraftError: `max_length` is beyond what the model can read, or an output vocabulary has
            no tokenizer.
    """
    for role in ("pad", "bos", "eos", "cls", "sep", "mask"):
        name = f"{role}_token_id"
        value = getattr(tokenizer, name, None)
        for config in (model.config, getattr(model, "generation_config", None)):
            if config is not None and hasattr(config, name):
                setattr(config, name, value)
    save_encoder(
        model,
        tokenizer,
        folder,
        "splade",
        max_length,
        max_length,
        output_tokenizer=output_tokenizer,
    )
