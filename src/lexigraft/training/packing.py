"""Texts, tokenised once, as packed sequences of equal length.

The token stream is `text [SEP] text [SEP] ...`, and sequence n is `[CLS] piece [SEP]` around the
n-th piece of `length - 2` tokens: texts that are short share a sequence, none is padded, and what
is left at the end of the stream (less than a piece) is not used. Special tokens spelt out in a text
(`[MASK]` in a docstring) are plain text here.

The stream is kept in a memory-mapped file named by a hash of the tokenizer and of the texts.
"""

import hashlib
import itertools
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from lexigraft.corpora import Collection
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, whole_file
from lexigraft.progress import track
from lexigraft.vocabulary.token_cache import id_type, tokenizer_state, uncut_backend

FORMAT = "1"
"""Raised when the meaning of a token file changes."""
TEXTS_AT_ONCE = 1000
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CollectionText:
    """The training text of a collection, read from disk each time it is iterated."""

    folder: Path

    def __iter__(self) -> Iterator[str]:
        return Collection.open(self.folder).text()


def token_stream(
    texts: Iterable[str], tokenizer: PreTrainedTokenizerFast, folder: Path
) -> tuple[np.ndarray, str]:
    """The token stream (memory-mapped, uint16 or uint32) and the hash that names its file.

    `texts` is read twice (hashed, then tokenised if `folder` has no file for it), so it must be
    something that can be iterated again, not a generator.

    Raises:
        LexigraftError: there is no text.
    """
    if iter(texts) is texts:
        raise TypeError("texts: an iterator can be read once only, a list or the like is needed")
    dtype = id_type(tokenizer)
    backend = plain_backend(tokenizer)
    key = _stream_key(texts, backend, tokenizer)
    path = folder / f"tokens-{key[:20]}.{dtype.name}"
    record = path.with_suffix(path.suffix + ".sha256")
    if not (path.is_file() and record.is_file()):
        _write_stream(path, texts, backend, int(tokenizer.sep_token_id), dtype)
        with whole_file(record) as partial:
            partial.write_text(sha256_file(path), encoding="utf-8")
    if sha256_file(path) != record.read_text(encoding="utf-8"):
        raise LexigraftError(
            f"{path}: not the tokens that were written; remove it and {record.name}"
        )
    if not path.stat().st_size:
        raise LexigraftError("masked-language-model training: the collection holds no text")
    return np.memmap(path, dtype=dtype, mode="r"), key


class PackedSequences:
    """Sequences of `length` tokens cut from a token stream; `rows` gives some of them as ids_BL."""

    def __init__(self, stream: np.ndarray, length: int, *, cls_id: int, sep_id: int):
        if length < 3:
            raise LexigraftError(f"length: {length} found, at least 3 tokens are needed")
        self.piece = length - 2
        self.count = len(stream) // self.piece
        if not self.count:
            raise LexigraftError(
                f"length: the text has {len(stream)} tokens, less than one sequence of {length}"
            )
        self.pieces = stream[: self.count * self.piece].reshape(self.count, self.piece)
        self.cls_id, self.sep_id = cls_id, sep_id

    def __len__(self) -> int:
        return self.count

    def rows(self, indices: Sequence[int] | np.ndarray) -> Tensor:
        """ids_BL (int64) of the sequences at `indices`."""
        ids_BL = np.empty((len(indices), self.piece + 2), dtype=np.int64)
        ids_BL[:, 0] = self.cls_id
        ids_BL[:, 1:-1] = self.pieces[np.asarray(indices)]
        ids_BL[:, -1] = self.sep_id
        return torch.from_numpy(ids_BL)


def in_batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts, so many at a time as are tokenised at once."""
    remaining = iter(texts)
    return iter(lambda: list(itertools.islice(remaining, TEXTS_AT_ONCE)), [])


def plain_backend(tokenizer: PreTrainedTokenizerFast) -> Tokenizer:
    """A copy that neither cuts nor pads, and reads special tokens in a text as text."""
    backend = uncut_backend(tokenizer)
    backend.encode_special_tokens = True
    return backend


def _stream_key(
    texts: Iterable[str], backend: Tokenizer, tokenizer: PreTrainedTokenizerFast
) -> str:
    digest = hashlib.sha256()
    for part in (FORMAT, tokenizer_state(backend), str(tokenizer.sep_token_id)):
        digest.update(part.encode() + b"\0")
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _write_stream(
    path: Path, texts: Iterable[str], backend: Tokenizer, sep_id: int, dtype: np.dtype
) -> None:
    """Tokenise into a file that appears under its name only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Several jobs may make the same file in a shared folder: each writes its own.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            for batch in track(in_batches(texts), "tokenise", unit="thousand texts"):
                for encoding in backend.encode_batch(batch, add_special_tokens=False):
                    if encoding.ids:
                        np.asarray([*encoding.ids, sep_id], dtype=dtype).tofile(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
