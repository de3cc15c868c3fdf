"""Texts tokenised once, as memory-mapped arrays that every training on them shares.

`ids.npy` holds the token ids of all texts, one after another (uint16 or uint32, by the vocabulary),
`offsets.npy` where each begins and, last, where all end (int64). Their folder is named by a hash of
the tokenizer, the length and the texts and appears when it is whole, so a killed training finds it
again. `whole.json` holds the hashes of both files: what is not as it was written is made again.

Shapes: N texts of a batch, L tokens.
"""

import hashlib
import json
import logging
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object, sha256_file, whole_folder, write_json
from lexigraft.locks import alone
from lexigraft.progress import track
from lexigraft.vocabulary.token_cache import id_type, tokenizer_state, uncut_backend

FORMAT = "texts 1"
"""Raised when the meaning of the files changes."""
TEXTS_AT_ONCE = 1000
IDS, OFFSETS, WHOLE = "ids.npy", "offsets.npy", "whole.json"
log = logging.getLogger(__name__)


class TokenisedTexts:
    """Token ids of texts, cut to `length` (special tokens included).

    Args:
        tokenizer: its own special tokens, truncation side and padding token are used.
        texts: all texts.
        length: tokens of a text at most.
        folder: where the arrays are kept, in a folder of their own.
        places: which texts are tokenised, by position in `texts`, in rising order and each once;
            all by default.
        kind: what a progress bar calls them.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        texts: Sequence[str],
        length: int,
        folder: Path,
        *,
        places: NDArray[np.int64] | None = None,
        kind: str = "texts",
    ) -> None:
        self._places = np.arange(len(texts)) if places is None else places
        self._pad_id = int(tokenizer.pad_token_id)
        kept = [texts[place] for place in self._places.tolist()]
        path = folder / f"texts-{_key(tokenizer, kept, length)[:20]}"
        if not _is_whole(path):
            with alone(path):
                if not _is_whole(path):
                    if path.exists():
                        log.warning("%s: not the tokens that were written; made again", path)
                    if path.is_file():
                        path.unlink()
                    with whole_folder(path) as partial:
                        _write(partial, tokenizer, kept, length, kind)
        # Plain views of the files: a batch of 256 slices of a memmap takes 2.2 ms, of these 0.9.
        self._ids = np.asarray(np.load(path / IDS, mmap_mode="r"))
        self._offsets = np.asarray(np.load(path / OFFSETS, mmap_mode="r"))

    def batch(self, places: Sequence[int]) -> dict[str, Tensor]:
        """Token ids and attention mask of the texts at `places`, padded to the longest: (N, L).

        Raises:
            IndexError: a text is asked for that was not tokenised.
        """
        wanted_N = np.asarray(places, np.int64)
        rows_N = np.searchsorted(self._places, wanted_N)
        if not np.array_equal(self._places[np.minimum(rows_N, len(self._places) - 1)], wanted_N):
            raise IndexError("a text that was not tokenised")
        starts_N, ends_N = self._offsets[rows_N], self._offsets[rows_N + 1]
        spans = zip(starts_N.tolist(), ends_N.tolist(), strict=True)
        return pad([self._ids[start:end] for start, end in spans], self._pad_id)


def pad(sequences: Sequence[NDArray[np.integer]], pad_id: int) -> dict[str, Tensor]:
    """Right-padded `input_ids` and `attention_mask`, int64 (N, L)."""
    length = max(1, *map(len, sequences))
    ids_NL = np.full((len(sequences), length), pad_id, np.int64)
    mask_NL = np.zeros((len(sequences), length), np.int64)
    for row, sequence in enumerate(sequences):
        ids_NL[row, : len(sequence)] = sequence
        mask_NL[row, : len(sequence)] = 1
    return {"input_ids": torch.from_numpy(ids_NL), "attention_mask": torch.from_numpy(mask_NL)}


def _key(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], length: int) -> str:
    settings = [FORMAT, length, tokenizer.truncation_side, tokenizer.split_special_tokens]
    digest = hashlib.sha256(json.dumps(settings).encode())
    digest.update(tokenizer_state(uncut_backend(tokenizer)).encode() + b"\0")
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _is_whole(path: Path) -> bool:
    """Whether a folder holds what was written to it."""
    try:
        listed = read_object(path / WHOLE)
        return all(sha256_file(path / name) == listed.get(name) for name in (IDS, OFFSETS))
    except (LexigraftError, OSError):
        return False


def _write(
    folder: Path,
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    length: int,
    kind: str,
) -> None:
    kept_type = id_type(tokenizer)
    header = {"descr": kept_type.str, "fortran_order": False, "shape": (0,)}
    lengths: list[int] = []
    with (folder / IDS).open("wb") as stream:
        npy.write_array_header_1_0(stream, header)
        starts = range(0, len(texts), TEXTS_AT_ONCE)
        for start in track(starts, f"tokenise {kind}", unit="thousand"):
            ids = tokenizer(
                list(texts[start : start + TEXTS_AT_ONCE]),
                truncation=True,
                max_length=length,
                return_attention_mask=False,
                return_token_type_ids=False,
            )["input_ids"]
            lengths += map(len, ids)
            stream.write(np.fromiter(chain.from_iterable(ids), kept_type).tobytes())
        # The header leaves room for a first axis that has grown.
        stream.seek(0)
        npy.write_array_header_1_0(stream, header | {"shape": (sum(lengths),)})
    np.save(folder / OFFSETS, np.cumsum([0, *lengths], dtype=np.int64))
    write_json(folder / WHOLE, {name: sha256_file(folder / name) for name in (IDS, OFFSETS)})
