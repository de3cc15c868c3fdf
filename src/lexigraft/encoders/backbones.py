"""Backbones: masked language models of the hub, on disk, in a package, shipped with us, or made.

Each way writes the same folder: model and tokenizer in the root, `backbone.json`, and for one that
we pre-trained `training.jsonl` and its loss as a figure.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.architectures import Shape, new_masked_lm
from lexigraft.encoders.decoder import output_projection
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.encoders.output_vocabulary import read_output_tokenizer
from lexigraft.encoders.packages import (
    PACKAGED_MODELS,
    PACKAGED_VOCABULARIES,
    copy_packaged_model,
)
from lexigraft.encoders.shipped import verify_shipped
from lexigraft.errors import LexigraftError
from lexigraft.files import parse_json, read_object, sha256_file, write_json
from lexigraft.specs.ranges import check_fields
from lexigraft.specs.shipped import REMEDY
from lexigraft.specs.stages import BackboneSpec
from lexigraft.training.curves import plot_loss
from lexigraft.training.masked_lm import MaskedLmOptions, train_masked_lm
from lexigraft.training.reporting import write_history
from lexigraft.vocabulary.token_cache import shared_token_cache
from lexigraft.vocabulary.training import train_tokenizer, with_specials
from lexigraft.vocabulary.unigrams import count_unigrams

SUMMARY = "backbone.json"
HISTORY = "training.jsonl"


def backbone_from_hub(location: str, revision: str, out: Path) -> None:
    """Fetch a model of the hub by id; the commit that it resolved to is recorded.

    Raises:
        LexigraftError: it cannot be fetched, needs remote code, has no masked-language-model head,
            or its tokenizer does not fit.
    """
    if not location:
        raise LexigraftError("location: the hub id of a model is needed with origin hub")
    model, tokenizer = load_masked_lm(location, revision=revision or None)
    commit = getattr(model.config, "_commit_hash", None)
    _write(out, model, tokenizer, {"origin": "hub", "location": location, "commit": commit})


def backbone_from_folder(location: str, out: Path) -> None:
    """Take a model on disk.

    Raises:
        LexigraftError: there is no such folder, or the model is refused as above.
    """
    if not Path(location).is_dir() or not location:
        raise LexigraftError(f"location: no such folder: {location!r}")
    model, tokenizer = load_masked_lm(location)
    hashes = {p.name: sha256_file(p) for p in sorted(Path(location).glob("*.safetensors"))}
    record = {"origin": "folder", "location": location, "sha256": hashes}
    _write(out, model, tokenizer, record, read_output_tokenizer(location, model))


def backbone_from_package(location: str, out: Path) -> None:
    """Copy the model of an installed package, whether or not it has a masked-language-model head.

    Raises:
        LexigraftError: the package is unknown, absent or altered.
    """
    record = copy_packaged_model(location, out)
    parameters, vocabulary = _count(out / "model.safetensors")
    write_json(
        out / SUMMARY,
        {
            "origin": "package",
            **record,
            "description": PACKAGED_MODELS[location].description,
            "parameters": parameters,
            "vocabulary": vocabulary,
            "masked_language_model_head": False,
        },
    )


def backbone_from_vocabulary(spec: BackboneSpec, out: Path) -> None:
    """A model with random weights and the vocabulary of an installed package, for what reads none
    of its weights: the neighbours of new tokens (equations 7 and 8) depend on its tokens alone.

    Raises:
        LexigraftError: the package is unknown, absent or altered.
    """
    check_fields(spec, str)
    with TemporaryDirectory() as folder:
        record = copy_packaged_model(spec.location, Path(folder), PACKAGED_VOCABULARIES)
        (file,) = record["sha256"]
        tokenizer = with_specials(Tokenizer.from_file(f"{folder}/{file}"), spec.positions)
    shape = Shape(**{name: getattr(spec, name) for name in Shape.__annotations__})
    made = {
        "origin": "vocabulary",
        **record,
        "description": PACKAGED_VOCABULARIES[spec.location].description,
        "architecture": spec.architecture,
        **asdict(shape),
        "steps": 0,
    }
    _write(out, new_masked_lm(spec.architecture, shape, tokenizer, spec.seed), tokenizer, made)


def backbone_from_shipped(location: str, sha256: str, out: Path) -> None:
    """Take a model that `ship_backbones` wrote; its half precision becomes float32 again.

    Raises:
        LexigraftError: there is no such folder, or a file of it is missing, altered or not the one
            asked for.
    """
    folder = Path(location)
    if not location or not folder.is_dir():
        raise LexigraftError(f"location: no such folder: {location!r}; {REMEDY}")
    hashes = verify_shipped(folder, sha256)
    model, tokenizer = load_masked_lm(folder)
    lines = (folder / HISTORY).read_text(encoding="utf-8").splitlines()
    _write_history(out, [parse_json(line, f"{folder / HISTORY}") for line in lines])
    pretraining = {name: read_object(folder / f"{name}.json") for name in ("spec", "provenance")}
    record = {
        "origin": "shipped",
        "location": location,
        "sha256": hashes,
        "pretraining": {**read_object(folder / SUMMARY), **pretraining},
    }
    _write(out, model, tokenizer, record)


def pretrain_backbone(
    spec: BackboneSpec, texts: Iterable[str], out: Path, checkpoints: Path
) -> None:
    """Train a tokenizer and a masked language model on `texts`; killed, it goes on when called
    again with the same arguments.

    Raises:
        LexigraftError: no text, sizes that do not go together, or what `train_masked_lm` refuses.
    """
    check_fields(spec, str)
    tokenizer = train_tokenizer(
        spec.tokenizer,
        spec.lowercase,
        spec.vocabulary_size,
        texts,
        specials="roberta" if spec.architecture == "roberta" else "bert",
        max_length=spec.positions,
    )
    shape = Shape(**{name: getattr(spec, name) for name in Shape.__annotations__})
    model = new_masked_lm(spec.architecture, shape, tokenizer, spec.seed)
    _, bias_V = output_projection(model)
    assert bias_V is not None, "all architectures that we pre-train have one"
    with torch.no_grad():
        if spec.output_bias == "uniform":
            bias_V.fill_(-math.log(len(bias_V)))
        elif spec.output_bias == "unigram":
            bias_V.copy_(count_unigrams(tokenizer, texts, len(bias_V)).log_probabilities)
    result = train_masked_lm(
        model,
        tokenizer,
        texts,
        MaskedLmOptions.of(spec),
        checkpoints,
        description=f"pre-train {spec.name or spec.architecture}",
        token_cache=shared_token_cache(),
    )
    _write_history(out, result.history)
    record = {
        "origin": "pretrain",
        "architecture": spec.architecture,
        **asdict(shape),
        "steps": spec.steps,
        "final_loss": result.final_loss,
        **result.summary,
    }
    _write(out, model, tokenizer, record)


def _write_history(out: Path, history: Sequence[Mapping[str, float]]) -> None:
    write_history(out / HISTORY, history)
    plot_loss(history, out / "loss", "Pre-training", "cross-entropy (nats a masked token)")


def _count(weights: Path) -> tuple[int, int]:
    """Parameters, and rows of the word embeddings, from the header of a safetensors file."""
    with safe_open(weights, framework="pt") as stream:
        slices = {name: stream.get_slice(name) for name in stream.keys()}  # noqa: SIM118
    shapes = {n: s.get_shape() for n, s in slices.items() if s.get_dtype().startswith(("F", "BF"))}
    rows = next(s[0] for n, s in shapes.items() if n.endswith("word_embeddings.weight"))
    return sum(math.prod(shape) for shape in shapes.values()), rows


def _write(
    out: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    record: dict[str, Any],
    output_tokenizer: PreTrainedTokenizerFast | None = None,
) -> None:
    save_masked_lm(model, tokenizer, out, output_tokenizer=output_tokenizer)
    _, bias_V = output_projection(model)
    write_json(
        out / SUMMARY,
        {
            **record,
            "class": type(model).__name__,
            "parameters": model.num_parameters(),
            "vocabulary": len(tokenizer),
            "masked_language_model_head": True,
            "output_bias": bias_V is not None,
        },
    )
