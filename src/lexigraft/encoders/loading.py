"""Trained encoders: what a folder says about its head.

The head is read from sentence-transformers' `modules.json`: SpladePooling is a sparse encoder,
Pooling a dense one. A masked language model without that file is a sparse encoder that was never
fine-tuned.
"""

from pathlib import Path
from typing import Any, Literal, get_args

import torch
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.encoder import Encoder, Role
from lexigraft.encoders.inference_free import TokenWeights
from lexigraft.encoders.masked_lm import (
    HUB_ID,
    architectures,
    first_line,
    load_masked_lm,
    load_model,
    load_tokenizer,
    refuse_foreign_tokenizer,
    refuse_missing_files,
)
from lexigraft.encoders.output_vocabulary import read_output_tokenizer
from lexigraft.encoders.router import read_query_weights, read_router, refuse_other_tokenizer
from lexigraft.encoders.saving import ACTIVATION, save_encoder
from lexigraft.encoders.tokenizers import lowercase_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import as_object, member, read_json, read_object
from lexigraft.specs.options import Activation, Pooling

__all__ = ["Encoder", "Role", "load_encoder", "lowercase_tokenizer", "save_encoder"]

FETCHED_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]


def load_encoder(location: str | Path, *, device: str | torch.device = "cpu") -> Encoder:
    """Load an encoder that `save_encoder` or sentence-transformers wrote.

    Args:
        location: a folder, or an id of the hub, whose files are fetched (no code, no pickles).

    Raises:
        LexigraftError: what `load_masked_lm` refuses, or a head that is neither max- or sum-pooled
            SPLADE (with or without inference-free queries) nor mean- or CLS-pooled.
    """
    folder = _fetched(str(location))
    if not (folder / "modules.json").is_file():
        model, tokenizer = load_masked_lm(folder)
        output_tokenizer = read_output_tokenizer(folder, model)
        return Encoder(
            model.to(device), tokenizer, "splade", str(folder), output_tokenizer=output_tokenizer
        )
    modules = _modules(folder / "modules.json")
    queries = None
    if [kind for _, kind in modules] == ["Router"]:
        modules, queries = read_router(modules[0][0])
    paths = [path for path, _ in modules]
    kinds = [kind for _, kind in modules]
    facts = folder / "config_sentence_transformers.json"
    stated = read_object(facts) if facts.is_file() else {}
    prompts = dict(member(stated, "prompts", dict, str(facts), {}))
    for role in prompts:
        member(prompts, role, str, f"{facts}: prompts", "")
    prompts.setdefault("document", prompts.get("passage", ""))
    if kinds in (["MLMTransformer", "SpladePooling"], ["Transformer", "SpladePooling"]):
        activation, pooling = _sparse_pooling(paths[1] / "config.json")
        model, tokenizer = load_masked_lm(paths[0])
        weights = None
        if queries is not None:
            entries = model.get_output_embeddings().weight.shape[0]
            weights = TokenWeights(read_query_weights(queries, entries)).to(device)
            refuse_other_tokenizer(queries, load_tokenizer(str(queries), None), tokenizer)
        return Encoder(
            model.to(device),
            tokenizer,
            "splade",
            str(folder),
            activation=activation,
            sparse_pooling=pooling,
            prompts=prompts,
            query_weights=weights,
            output_tokenizer=read_output_tokenizer(paths[0], model),
        )
    dense = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
    if queries is None and kinds in dense:
        model, tokenizer = _load_bare(paths[0])
        return Encoder(
            model.to(device),
            tokenizer,
            "dense",
            str(folder),
            pooling=_dense_pooling(paths[1]),
            normalise=kinds[-1] == "Normalize",
            prompts=prompts,
        )
    raise LexigraftError(
        f"{folder / 'modules.json'}: modules {', '.join(kinds)}; a Transformer with SpladePooling, "
        "or with Pooling and perhaps Normalize, is needed"
    )


def _modules(path: Path) -> list[tuple[Path, str]]:
    """Folder of each module, and the last name of its class."""
    found = read_json(path)
    if not isinstance(found, list):
        raise LexigraftError(f"{path}: {type(found).__name__} found, a list of modules is needed")
    modules = [as_object(module, str(path)) for module in found]
    kinds = [member(module, "type", str, str(path)).rsplit(".", 1)[-1] for module in modules]
    places = [path.parent / member(module, "path", str, str(path), "") for module in modules]
    return list(zip(places, kinds, strict=True))


def _fetched(place: str) -> Path:
    if Path(place).is_dir():
        return Path(place)
    if not HUB_ID.fullmatch(place):
        raise LexigraftError(f"{place}: no such folder")
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(place, allow_patterns=FETCHED_FILES))
    except (OSError, ValueError) as error:
        raise LexigraftError(
            f"{place}: neither an encoder's folder nor an encoder that could be fetched from the "
            f"hub ({first_line(error)})"
        ) from None


def _sparse_pooling(path: Path) -> tuple[Activation, Pooling]:
    config = read_object(path)
    activations = {theirs: ours for ours, theirs in ACTIVATION.items()}
    poolings: dict[str, Pooling] = {name: name for name in get_args(Pooling)}
    named = member(config, "activation_function", str, str(path), "relu")
    pooled = member(config, "pooling_strategy", str, str(path), "max")
    if named not in activations or pooled not in poolings:
        raise LexigraftError(
            f"{path}: pooling {pooled} with {named}; allowed: {' or '.join(poolings)} with "
            f"{' or '.join(activations)}"
        )
    return activations[named], poolings[pooled]


def _dense_pooling(folder: Path) -> Literal["mean", "cls"]:
    path = folder / "config.json"
    config = read_object(path)
    mode: Any = config.get("pooling_mode")
    if mode is None:
        flags = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
        chosen = [k for k, v in config.items() if k.startswith("pooling_mode_") and v]
        mode = flags.get(chosen[0]) if len(chosen) == 1 else None
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    if mode not in ("mean", "cls") or not config.get("include_prompt", True):
        raise LexigraftError(f"{path}: a pooling that is neither mean nor cls over all tokens")
    return mode


def _load_bare(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """An encoder that needs no prediction head; one that has it keeps it, unused."""
    config = folder / "config.json"
    if any(name.endswith("ForMaskedLM") for name in architectures(read_object(config), folder)):
        return load_masked_lm(folder)
    refuse_missing_files(folder)
    model, lacking = load_model(AutoModel, str(folder), None, "an encoder")
    missing = [name for name in lacking if not name.startswith("pooler.")]
    if missing:
        raise LexigraftError(
            f"{folder}: the checkpoint lacks {len(missing)} weights, such as {missing[0]}"
        )
    tokenizer = load_tokenizer(str(folder), None)
    refuse_foreign_tokenizer(str(folder), model, tokenizer)
    return model.eval(), tokenizer
