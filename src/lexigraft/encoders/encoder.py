"""An encoder: a model with its tokenizer and head, from texts to vectors in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.encoders.dense import last_states, mean_pool
from lexigraft.encoders.inference_free import TokenWeights
from lexigraft.encoders.saving import Head, longest_input, refuse_long_input
from lexigraft.encoders.splade import splade_pool
from lexigraft.errors import LexigraftError
from lexigraft.files import member, read_object
from lexigraft.specs.options import Activation, Pooling

Role = Literal["query", "document"]
TOKENS_PER_BATCH = 2048
"""Tokens of a batch on a CPU, padding included: more take more memory and no less time."""
ACCELERATOR_TOKENS_PER_BATCH = 16384
"""The same on anything else, where a small batch leaves the device idle between kernels."""
LENGTH_STEP = 8
"""Padded batches are a multiple of so many tokens long, so that few shapes recur: for each, oneDNN
keeps memory, which would cut the heap to pieces that nothing large fits in."""


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
    activation: Activation = "log1p"
    """Of a sparse head."""
    sparse_pooling: Pooling = "max"
    """Of a sparse head."""
    prompts: dict[str, str] = field(default_factory=dict)
    """Text put before every query or document."""
    query_weights: TokenWeights | None = None
    """What a query is made of where it is inference-free; None where the model reads it."""
    output_tokenizer: PreTrainedTokenizerFast | None = None
    """Names the terms, where they are not the tokenizer's own tokens."""

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dimensions(self) -> int:
        """Vocabulary entries of a sparse encoder, width of a dense one."""
        if self.head == "splade":
            return int(output_projection(self.model)[0].shape[0])
        return int(self.model.config.hidden_size)

    @property
    def term_tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer whose ids are the dimensions of a sparse vector."""
        return self.output_tokenizer or self.tokenizer

    def default_length(self, role: Role) -> int:
        """Tokens at which the folder's own settings cut a query or a document.

        Raises:
            LexigraftError: sentence_bert_config.json states what is no length.
        """
        # In the folder of the model, which need not be the encoder's own.
        path = next(Path(self.name).rglob("sentence_bert_config.json"), None)
        own = read_object(path) if path is not None else {}
        stated = [member(own, k, int, str(path), 0) for k in (f"{role}_length", "max_seq_length")]
        if min(stated) < 0:
            raise LexigraftError(f"{path}: a length of {min(stated)} tokens; 1 or more is needed")
        limit = min(self.tokenizer.model_max_length, longest_input(self.model))
        return min(next(filter(None, stated), limit), limit)

    def tokenize(self, texts: Sequence[str], max_length: int, role: Role) -> list[list[int]]:
        """Token ids of each text, cut at `max_length`, special tokens included.

        Inference-free queries have no special tokens.

        Raises:
            LexigraftError: the model cannot read so many tokens, or special tokens alone are more
                (tokenizers then cut nothing).
        """
        special = role != "query" or self.query_weights is None
        least = self.tokenizer.num_special_tokens_to_add() if special else 0
        refuse_long_input(self.model, max_length, self.name, max(1, least))
        if not texts:
            return []
        prompt = self.prompts.get(role, "")
        return self.tokenizer(
            [prompt + text for text in texts],
            truncation=True,
            max_length=max_length,
            add_special_tokens=special,
            padding=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )["input_ids"]

    @property
    def tokens_per_batch(self) -> int:
        """Tokens of a batch, padding included, that suit the device."""
        return TOKENS_PER_BATCH if self.device.type == "cpu" else ACCELERATOR_TOKENS_PER_BATCH

    @torch.inference_mode()
    def represent(self, token_ids: Sequence[Sequence[int]], role: Role = "document") -> Tensor:
        """Vectors of tokenized texts as one padded batch: (B, V) or (B, H), float32.

        A text without a single token (an empty text under a tokenizer without special tokens) is a
        zero vector.
        """
        if not token_ids:
            return torch.zeros(0, self.dimensions, device=self.device)
        longest = max(1, max(map(len, token_ids)))
        longest = max(longest, min(padded_length(longest), longest_input(self.model)))
        ids_BL = torch.full((len(token_ids), longest), self.tokenizer.pad_token_id)
        mask_BL = torch.zeros_like(ids_BL)
        for row, ids in enumerate(token_ids):
            ids_BL[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
            mask_BL[row, : len(ids)] = 1
        ids_BL, mask_BL = ids_BL.to(self.device), mask_BL.to(self.device)
        if self.query_weights is not None and role == "query":
            return self.query_weights(ids_BL, mask_BL)
        # Attention over nothing is not a number; such rows attend to padding and are zeroed after.
        attended_BL = mask_BL | (mask_BL.sum(1, keepdim=True) == 0).to(mask_BL.dtype)
        if self.head == "splade":
            hidden_BLH = project_states(self.model, ids_BL, attended_BL)
            weight_VH, bias_V = output_projection(self.model)
            return splade_pool(
                *(hidden_BLH, weight_VH, bias_V, mask_BL),
                activation=self.activation,
                pooling=self.sparse_pooling,
            ).float()
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
        tokens_per_batch: int = 0,
    ) -> Any:
        """Vectors in the order of `texts`: a CSR array (N, V) or a numpy array (N, H), float32.

        All in memory; `lexigraft.encoders.streaming` writes to disk instead. An empty or blank text
        is legal: its vector is what its special tokens ([CLS], [SEP]) give. Batches have at most
        `tokens_per_batch` tokens, 0 for what suits the device.

        Raises:
            LexigraftError: the model cannot read so many tokens, a vector is not finite, or
                `tokens_per_batch` is negative.
        """
        if tokens_per_batch < 0:
            raise LexigraftError(
                f"tokens_per_batch: found {tokens_per_batch}; allowed: 0 and above"
            )
        token_ids = self.tokenize(texts, max_length, role)
        order, parts = [], []
        most = tokens_per_batch or self.tokens_per_batch
        for batch in batches_by_length([len(ids) for ids in token_ids], most):
            order.extend(batch)
            own = [token_ids[i] for i in batch]
            parts.append(self.encode_batch(own, [f"text {i}" for i in batch], role))
        if not parts:
            shape = (0, self.dimensions)
            empty = np.zeros(shape, dtype=np.float32)
            return scipy.sparse.csr_array(empty) if self.head == "splade" else empty
        back = np.argsort(order, kind="stable")
        if self.head == "splade":
            return scipy.sparse.vstack(parts, format="csr")[back]
        return np.concatenate(parts)[back]

    def encode_batch(
        self, token_ids: Sequence[Sequence[int]], names: Sequence[str], role: Role = "document"
    ) -> Any:
        """One batch of tokenized texts as a CSR array or a numpy array.

        Raises:
            LexigraftError: a vector is not finite; `names` tells which text.
        """
        rep_BD = self.represent(token_ids, role).cpu()
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


def padded_length(tokens: int) -> int:
    """The next multiple of `LENGTH_STEP`."""
    return -(-tokens // LENGTH_STEP) * LENGTH_STEP


def batches_by_length(lengths: Sequence[int], tokens_per_batch: int) -> list[list[int]]:
    """Indices in batches of like length, longest first: at most `tokens_per_batch` with padding.

    A single text that is longer is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
    batches: list[list[int]] = []
    start = 0
    while start < len(order):
        size = max(1, tokens_per_batch // padded_length(max(1, lengths[order[start]])))
        batches.append(order[start : start + size])
        start += size
    return batches
