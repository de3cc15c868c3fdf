"""Trained encoders: what a folder says about its head, and texts to vectors.

The head is read from sentence-transformers' `modules.json`: SpladePooling is a sparse encoder,
Pooling a dense one. A masked language model without that file is a sparse encoder that was never
fine-tuned.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse
import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.dense import last_states, mean_pool
from lexigraft.encoders.masked_lm import (
    first_line,
    load_masked_lm,
    load_tokenizer,
    output_projection,
    project_states,
    refuse_foreign_tokenizer,
    refuse_missing_files,
)
from lexigraft.encoders.saving import Head, longest_input, refuse_long_input, save_encoder
from lexigraft.encoders.splade import splade_pool
from lexigraft.encoders.tokenizers import lowercase_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import read_json

__all__ = ["Encoder", "load_encoder", "lowercase_tokenizer", "save_encoder"]

Role = Literal["query", "document"]


@dataclass
class Encoder:
    """A model with its tokenizer and head."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    head: Head
    name: str
    """The folder it comes from."""
    pooling: Literal["mean", "cls"] = "mean"
    """Of a dense head."""
    normalise: bool = False
    """Whether a dense head divides its vectors by their length."""
    prompts: dict[str, str] = field(default_factory=dict)
    """Text put before every query or document."""

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dimensions(self) -> int:
        """Vocabulary entries of a sparse encoder, width of a dense one."""
        if self.head == "splade":
            return int(output_projection(self.model)[0].shape[0])
        return int(self.model.config.hidden_size)

    def default_length(self, role: Role) -> int:
        """Tokens at which the folder's own settings cut a query or a document."""
        path = Path(self.name) / "sentence_bert_config.json"
        own = read_json(path) if path.is_file() else {}
        stated = own.get(f"{role}_length") or own.get("max_seq_length")
        limit = min(self.tokenizer.model_max_length, longest_input(self.model))
        return min(int(stated), limit) if stated else limit

    def tokenize(self, texts: Sequence[str], max_length: int, role: Role) -> list[list[int]]:
        """Token ids of each text, special tokens included, cut at `max_length`.

        Raises:
            LexigraftError: the model cannot read so many tokens.
        """
        refuse_long_input(self.model, max_length, self.name)
        if not texts:
            return []
        prompt = self.prompts.get(role, "")
        return self.tokenizer(
            [prompt + text for text in texts],
            truncation=True,
            max_length=max_length,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]

    @torch.inference_mode()
    def represent(self, token_ids: Sequence[Sequence[int]]) -> Tensor:
        """Vectors of tokenized texts as one padded batch: (B, V) or (B, H), float32.

        A text without a single token (an empty text under a tokenizer without special tokens) is a
        zero vector.
        """
        longest = max(1, *(len(ids) for ids in token_ids))
        ids_BL = torch.full((len(token_ids), longest), self.tokenizer.pad_token_id)
        mask_BL = torch.zeros_like(ids_BL)
        for row, ids in enumerate(token_ids):
            ids_BL[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
            mask_BL[row, : len(ids)] = 1
        ids_BL, mask_BL = ids_BL.to(self.device), mask_BL.to(self.device)
        # Attention over nothing is not a number; such rows attend to padding and are zeroed after.
        attended_BL = mask_BL | (mask_BL.sum(1, keepdim=True) == 0).to(mask_BL.dtype)
        if self.head == "splade":
            hidden_BLH = project_states(self.model, ids_BL, attended_BL)
            weight_VH, bias_V = output_projection(self.model)
            return splade_pool(hidden_BLH, weight_VH, bias_V, mask_BL).float()
        hidden_BLH = last_states(self.model, ids_BL, attended_BL)
        if self.pooling == "cls":
            rep_BH = hidden_BLH[:, 0] * mask_BL[:, :1]
        else:
            rep_BH = mean_pool(hidden_BLH, mask_BL)
        rep_BH = rep_BH.float()
        return torch.nn.functional.normalize(rep_BH, dim=1) if self.normalise else rep_BH

    def encode(
        self,
        texts: Sequence[str],
        max_length: int,
        *,
        role: Role = "document",
        tokens_per_batch: int = 8192,
    ) -> Any:
        """Vectors in the order of `texts`: a CSR array (N, V) or a numpy array (N, H), float32.

        All in memory; `lexigraft.encoders.streaming` writes to disk instead. An empty or blank text
        is legal: its vector is what its special tokens ([CLS], [SEP]) give.

        Raises:
            LexigraftError: the model cannot read so many tokens, or a vector is not finite.
        """
        token_ids = self.tokenize(texts, max_length, role)
        order, parts = [], []
        for batch in batches_by_length([len(ids) for ids in token_ids], tokens_per_batch):
            order.extend(batch)
            parts.append(self._checked([token_ids[i] for i in batch], [f"text {i}" for i in batch]))
        if not parts:
            shape = (0, self.dimensions)
            empty = np.zeros(shape, dtype=np.float32)
            return scipy.sparse.csr_array(empty) if self.head == "splade" else empty
        back = np.argsort(order, kind="stable")
        if self.head == "splade":
            return scipy.sparse.vstack(parts, format="csr")[back]
        return np.concatenate(parts)[back]

    def encode_batch(self, token_ids: Sequence[Sequence[int]], names: Sequence[str]) -> Any:
        """One batch of tokenized texts as a CSR array or a numpy array.

        Raises:
            LexigraftError: a vector is not finite; `names` tells which text.
        """
        return self._checked(token_ids, names)

    def _checked(self, token_ids: Sequence[Sequence[int]], names: Sequence[str]) -> Any:
        rep_BD = self.represent(token_ids).cpu()
        finite_B = rep_BD.isfinite().all(1)
        if not bool(finite_B.all()):
            name = names[int((~finite_B).nonzero()[0])]
            raise LexigraftError(f"{self.name}: the vector of {name} is not finite")
        if self.head != "splade":
            return rep_BD.numpy()
        row, column = rep_BD.nonzero(as_tuple=True)
        starts = np.zeros(len(token_ids) + 1, dtype=np.int64)
        starts[1:] = np.cumsum(np.bincount(row.numpy(), minlength=len(token_ids)))
        values = rep_BD[row, column].numpy()
        return scipy.sparse.csr_array(
            (values, column.numpy().astype(np.int32), starts), shape=tuple(rep_BD.shape)
        )


def batches_by_length(lengths: Sequence[int], tokens_per_batch: int) -> list[list[int]]:
    """Indices in batches of like length, longest first: at most `tokens_per_batch` with padding.

    A single text that is longer is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    start = 0
    while start < len(order):
        size = max(1, tokens_per_batch // max(1, lengths[order[start]]))
        batches.append(order[start : start + size])
        start += size
    return batches


def load_encoder(folder: str | Path, *, device: str | torch.device = "cpu") -> Encoder:
    """Load an encoder that `save_encoder` or sentence-transformers wrote.

    Raises:
        LexigraftError: what `load_masked_lm` refuses, or a head that is neither max-pooled SPLADE
            nor mean- or CLS-pooled.
    """
    folder = Path(folder)
    if not (folder / "modules.json").is_file():
        model, tokenizer = load_masked_lm(folder)
        return Encoder(model.to(device), tokenizer, "splade", str(folder))
    modules = read_json(folder / "modules.json")
    kinds = [str(module.get("type", "")).rsplit(".", 1)[-1] for module in modules]
    facts = folder / "config_sentence_transformers.json"
    prompts = (read_json(facts).get("prompts") or {}) if facts.is_file() else {}
    prompts.setdefault("document", prompts.get("passage", ""))
    if kinds in (["MLMTransformer", "SpladePooling"], ["Transformer", "SpladePooling"]):
        _refuse_other_splade(folder, modules[1]["path"])
        model, tokenizer = load_masked_lm(folder / modules[0]["path"])
        return Encoder(model.to(device), tokenizer, "splade", str(folder), prompts=prompts)
    if kinds in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        pooling = _dense_pooling(folder, modules[1]["path"])
        model, tokenizer = _load_bare(folder / modules[0]["path"])
        normalise = kinds[-1] == "Normalize"
        return Encoder(
            model.to(device), tokenizer, "dense", str(folder), pooling, normalise, prompts
        )
    raise LexigraftError(
        f"{folder / 'modules.json'}: modules {', '.join(kinds)}; a Transformer with SpladePooling, "
        "or with Pooling and perhaps Normalize, is needed"
    )


def _refuse_other_splade(folder: Path, path: str) -> None:
    config = read_json(folder / path / "config.json")
    found = (config.get("pooling_strategy", "max"), config.get("activation_function", "relu"))
    if found != ("max", "relu"):
        raise LexigraftError(
            f"{folder / path / 'config.json'}: pooling {found[0]} with {found[1]}; only max with "
            "relu is supported"
        )


def _dense_pooling(folder: Path, path: str) -> Literal["mean", "cls"]:
    config = read_json(folder / path / "config.json")
    mode = config.get("pooling_mode")
    if mode is None:
        flags = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
        chosen = [k for k, v in config.items() if k.startswith("pooling_mode_") and v]
        mode = flags.get(chosen[0]) if len(chosen) == 1 else None
    if isinstance(mode, list) and len(mode) == 1:
        mode = mode[0]
    if mode not in ("mean", "cls") or not config.get("include_prompt", True):
        raise LexigraftError(
            f"{folder / path / 'config.json'}: a pooling that is neither mean nor cls over all "
            "tokens"
        )
    return mode


def _load_bare(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """An encoder that needs no prediction head; one that has it keeps it, unused."""
    names = read_json(folder / "config.json").get("architectures") or []
    if any(name.endswith("ForMaskedLM") for name in names):
        return load_masked_lm(folder)
    refuse_missing_files(folder)
    try:
        model, loading = AutoModel.from_pretrained(
            folder,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
            dtype=torch.float32,
        )
    except (SafetensorError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise LexigraftError(
            f"{folder}: not loadable as an encoder ({first_line(error)})"
        ) from None
    missing = sorted(key for key in loading["missing_keys"] if not key.startswith("pooler."))
    if missing:
        raise LexigraftError(
            f"{folder}: the checkpoint lacks {len(missing)} weights, such as {missing[0]}"
        )
    tokenizer = load_tokenizer(str(folder), None)
    refuse_foreign_tokenizer(str(folder), model, tokenizer)
    return model.eval(), tokenizer
