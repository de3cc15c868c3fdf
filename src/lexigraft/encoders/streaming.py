"""Encoding to disk, shard by shard, so that memory is bounded and a killed run goes on.

A shard is a number of consecutive texts. Within it, batches are of like length and so waste little
on padding; its rows are in the texts' order. A finished shard waits under a name that holds a hash
of everything that decides its content (the encoder's files, length, role, ids, texts), so it is
taken up again only for the very same input, and the result is the same as without a kill.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from lexigraft.encoders.encoder import Encoder, Role, batches_by_length
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.progress import track
from lexigraft.retrieval.vectors import Vectors, read_shard, shard_name, write_shard
from lexigraft.specs.options import Values

SHARD_TEXTS = 4096
SHARD_VALUES = 1 << 26
"""A shard has at most SHARD_TEXTS texts, and fewer where all their values, were they all active,
would be more than this: a collapsed model must not fill the memory."""


def encode_to_disk(
    encoder: Encoder,
    texts: Mapping[str, str],
    max_length: int,
    role: Role,
    out: Path,
    checkpoints: Path,
    *,
    values: Values = "float32",
    description: str = "encode",
) -> Vectors:
    """Write `out`/<role>*.npz (or .npy) and its index: queries.* or documents.*.

    Empty and blank texts are legal: their vector is what the special tokens give.

    Args:
        texts: id to text; vectors keep this order.
        max_length: tokens of a text, special tokens included.
        out: folder of the set's vectors.
        checkpoints: folder of finished shards, which outlives a kill; it may not exist.
        values: what is kept on disk; `float16` and `int8` are rounded.

    Raises:
        LexigraftError: a vector is not finite or too large for `values`, the model cannot read
            `max_length` tokens, or the encoder came from memory and has no files to tell it by.
    """
    name = "queries" if role == "query" else "documents"
    sparse = encoder.head == "splade"
    ids = list(texts)
    size = min(SHARD_TEXTS, max(1, SHARD_VALUES // encoder.dimensions))
    parts = [ids[start : start + size] for start in range(0, len(ids), size)]
    state = _state(encoder, max_length, role, values)
    out.mkdir(parents=True, exist_ok=True)

    def finished() -> Iterator[None]:
        """Make each shard; one step for each text that is done."""
        for number, part in enumerate(parts):
            file = shard_name(name, number, sparse, values)
            path = checkpoints / f"{_key(state, part, texts)}.{file}"
            if path.is_file() and _readable(path):
                yield from [None] * len(part)
            else:
                yield from _encode_shard(encoder, part, texts, max_length, role, path, values)
            _take(path, out / file)

    for _ in track(finished(), description, total=len(ids), unit="texts"):
        pass
    rows = [len(part) for part in parts]
    vectors = Vectors(out, name, ids, rows, encoder.dimensions, sparse, values)
    vectors.write()
    return vectors


def _encode_shard(
    encoder: Encoder,
    ids: Sequence[str],
    texts: Mapping[str, str],
    max_length: int,
    role: Role,
    path: Path,
    values: Values,
) -> Iterator[None]:
    token_ids = encoder.tokenize([texts[name] for name in ids], max_length, role)
    order: list[int] = []
    parts: list[Any] = []
    for batch in batches_by_length([len(found) for found in token_ids], encoder.tokens_per_batch):
        names = [f"{role} {ids[i]!r}" for i in batch]
        parts.append(encoder.encode_batch([token_ids[i] for i in batch], names, role))
        order.extend(batch)
        yield from [None] * len(batch)
    back = np.argsort(order, kind="stable")
    if encoder.head == "splade":
        write_shard(path, scipy.sparse.vstack(parts, format="csr")[back], True, values)
    else:
        write_shard(path, np.concatenate(parts)[back], False, values)


def _state(encoder: Encoder, max_length: int, role: Role, values: Values) -> str:
    """What decides every shard: the encoder's weights, tokenizer and head, length, role, values."""
    folder = Path(encoder.name)
    # Provenance says when a model was made, and two that are the same may differ in it.
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in (".json", ".safetensors", ".txt") and path.name != "provenance.json"
    )
    if not files:
        raise LexigraftError(f"{encoder.name}: no folder of an encoder, so no shard can be kept")
    hashes = {file.relative_to(folder).as_posix(): sha256_file(file) for file in files}
    return json.dumps([hashes, max_length, role, encoder.tokens_per_batch, values], sort_keys=True)


def _key(state: str, ids: Sequence[str], texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(state.encode())
    for name in ids:
        digest.update(json.dumps([name, texts[name]]).encode())
    return digest.hexdigest()[:20]


def _readable(path: Path) -> bool:
    """A power cut can leave a renamed file whose bytes never reached the disk."""
    try:
        read_shard(path)
    except LexigraftError:
        return False
    return True


def _take(source: Path, target: Path) -> None:
    """Give a finished shard its place and keep it for a later run, without a second copy."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
