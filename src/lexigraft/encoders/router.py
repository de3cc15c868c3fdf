"""Inference-free encoders on disk, in the layout of sentence-transformers: a Router of two ways.

modules.json        one module, the Router
router_config.json  the modules of either way
config.json, ...    the masked language model of the documents, where transformers looks for it
1_SpladePooling/    its pooling
query/              SparseStaticEmbedding: config.json, model.safetensors (weight, V), tokenizer
"""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.tokenizers import save_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object, write_json

ROUTER = "sentence_transformers.base.modules.router.Router"
STATIC = (
    "sentence_transformers.sparse_encoder.modules.sparse_static_embedding.SparseStaticEmbedding"
)
QUERY = "query"
CONFIG = "router_config.json"
HERE = "."
"""Name of the module that lies in the encoder's own folder."""


def write_router(
    folder: Path,
    documents: list[tuple[str, str]],
    query_weights: Tensor,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    query_length: int,
) -> None:
    """Write the way of the queries and what tells it from that of the documents.

    Args:
        documents: folder within `folder` and class of each module of the documents.
        query_weights: weight of each token, (V,).
        query_length: tokens of a query.

    Raises:
        LexigraftError: the tokenizer would not be read back as it was saved.
    """
    places = [place or HERE for place, _ in documents]
    kinds = [kind for _, kind in documents]
    write_json(
        folder / CONFIG,
        {
            "types": {QUERY: STATIC, **dict(zip(places, kinds, strict=True))},
            "structure": {"query": [QUERY], "document": places},
            "parameters": {
                "default_route": "document",
                "allow_empty_key": True,
                "route_mappings": {},
            },
        },
    )
    (folder / QUERY).mkdir(exist_ok=True)
    save_file({"weight": query_weights.contiguous()}, folder / QUERY / "model.safetensors")
    write_json(folder / QUERY / "config.json", {"frozen": True})
    save_tokenizer(tokenizer, model, folder / QUERY, query_length)


def read_router(folder: Path) -> tuple[list[tuple[Path, str]], Path]:
    """Folder and class of each module of the documents, and the folder of the query weights.

    Args:
        folder: that of router_config.json.

    Raises:
        LexigraftError: the ways are not those of an inference-free encoder.
    """
    path = folder / CONFIG
    config = read_object(path)
    types = member(config, "types", dict, str(path))
    ways = member(config, "structure", dict, str(path))
    found = {
        way: [
            (folder / name, member(types, name, str, f"{path}: types").rsplit(".", 1)[-1])
            for name in _names(ways, way, path)
        ]
        for way in ways
    }
    queries = found.get("query", [])
    if set(found) != {"query", "document"} or [k for _, k in queries] != ["SparseStaticEmbedding"]:
        told = [
            f"{way}: {', '.join(kind for _, kind in modules)}" for way, modules in found.items()
        ]
        raise LexigraftError(
            f"{path}: {'; '.join(told) or 'no ways'}; a way 'query' of one SparseStaticEmbedding "
            "and a way 'document' are needed"
        )
    return found["document"], queries[0][0]


def read_query_weights(folder: Path, entries: int) -> Tensor:
    """Weight of each token in a query, (V,) float32.

    Args:
        folder: the SparseStaticEmbedding's.
        entries: vocabulary entries of a document.

    Raises:
        LexigraftError: the weights are missing, corrupt, negative, not finite or not one an entry.
    """
    path = folder / "model.safetensors"
    if not path.is_file():
        raise LexigraftError(f"{path}: no such file; the weights of query tokens are needed")
    try:
        stored = load_file(path)
    except (SafetensorError, OSError) as error:
        raise LexigraftError(f"{path}: corrupt weights ({error})") from None
    weight_V = stored.get("weight", torch.empty(0)).float()
    if weight_V.shape != (entries,):
        raise LexigraftError(
            f"{path}: weights of shape {tuple(weight_V.shape)} for documents of {entries} entries"
        )
    if not bool(((weight_V >= 0) & weight_V.isfinite()).all()):
        raise LexigraftError(f"{path}: a weight below 0 or not finite; 0 or more is needed")
    return weight_V


def refuse_other_tokenizer(
    folder: Path, queries: PreTrainedTokenizerFast, documents: PreTrainedTokenizerFast
) -> None:
    """Raise LexigraftError if queries are cut into other tokens than documents are."""
    if _meaning(queries) != _meaning(documents):
        raise LexigraftError(f"{folder}: queries have another tokenizer than documents")


def _meaning(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    """What decides a tokenizer's tokens, lengths apart."""
    state: dict[str, Any] = json.loads(tokenizer.backend_tokenizer.to_str())
    return {**state, "truncation": None, "padding": None}


def _names(ways: dict[str, Any], way: str, path: Path) -> list[str]:
    names = member(ways, way, list, f"{path}: structure")
    if not all(isinstance(name, str) for name in names):
        raise LexigraftError(f"{path}: structure: {way!r} is {names}, names of modules are needed")
    return names
