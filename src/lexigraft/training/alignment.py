"""A text under two tokenizers at once: which output tokens begin at which input token.

An output token belongs to the first input token that shares a character with it (ESPLADE's
"first overlap"; Vocabulary Transfer, section 6.3). Where output tokens are the shorter ones,
several belong to one input token; where they are longer, some input tokens have none.

    input    collabor | ations          spans 0-8, 8-14
    output   co | ##lla | ##bo | ##rations    spans 0-2, 2-5, 5-7, 7-14   ->  0, 0, 0, 0

Input tokens are those of a packed token stream (`lexigraft.training.packing`); beside it stand two
files, the output tokens of the whole text in order and how many belong to each input token.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, whole_file, write_json
from lexigraft.progress import track
from lexigraft.training.packing import PackedSequences, in_batches, plain_backend

MOST = np.iinfo(np.uint16).max
Spans = Sequence[tuple[int, int]]


def first_overlap(input_spans: Spans, output_spans: Spans) -> NDArray[np.int64]:
    """Place of the first input token that shares a character with each output token; -1 if none.

    Spans are half-open and in the order of the text.
    """
    read_M2, written_N2 = (
        np.array(s, dtype=np.int64).reshape(-1, 2) for s in (input_spans, output_spans)
    )
    # The first that ends after the output token begins; past the last input token there is none.
    place_N = np.searchsorted(read_M2[:, 1], written_N2[:, 0], side="right")
    start_N = np.append(read_M2[:, 0], np.iinfo(np.int64).max)[place_N]
    return np.where(start_N < written_N2[:, 1], place_N, -1)


@dataclass(frozen=True)
class Alignment:
    """Output tokens of the sequences that a token stream is cut into."""

    tokens: NDArray[np.uint32]
    """Output ids of the whole text."""
    counts: NDArray[np.uint16]
    """(sequences, piece): how many belong to each input token."""
    starts: NDArray[np.int64]
    """(sequences + 1,): where each sequence's output tokens begin."""

    @classmethod
    def open(cls, folder: Path, packed: PackedSequences) -> "Alignment":
        """What `align` wrote, cut as the input is."""
        tokens = np.memmap(folder / "tokens.uint32", np.uint32, "r")
        stream = np.memmap(folder / "counts.uint16", np.uint16, "r")
        counts = stream[: packed.pieces.size].reshape(packed.pieces.shape)
        starts = np.zeros(len(counts) + 1, dtype=np.int64)
        np.cumsum(counts.sum(axis=1, dtype=np.int64), out=starts[1:])
        return cls(tokens, counts, starts)

    def of(self, sequence: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Output ids of a sequence, and the place in it (from 0) that each belongs to."""
        counts = self.counts[sequence].astype(np.int64)
        ids = self.tokens[self.starts[sequence] : self.starts[sequence + 1]]
        return ids.astype(np.int64), np.repeat(np.arange(len(counts)), counts)


def align(
    texts: Iterable[str],
    tokenizer: PreTrainedTokenizerFast,
    output_tokenizer: PreTrainedTokenizerFast,
    key: str,
    folder: Path,
) -> Path:
    """Align the texts of the token stream `key`; returns the folder with the two files.

    Output tokens that share no character with an input token are left out. The separator between
    texts is the output tokenizer's own.

    Raises:
        LexigraftError: the output tokenizer has no separator, one input token has more output
            tokens than can be counted, or an earlier call's files were altered.
    """
    reader, writer = plain_backend(tokenizer), plain_backend(output_tokenizer)
    separator = output_tokenizer.sep_token_id
    if separator is None:
        raise LexigraftError("output tokenizer: no sep token, which stands between texts")
    state = json.dumps(json.loads(writer.to_str()), sort_keys=True)
    named = sha256(f"{key}\0{state}\0{separator}".encode()).hexdigest()[:20]
    out = folder / f"alignment-{named}"
    record, files = out / "files.json", (out / "counts.uint16", out / "tokens.uint32")
    if record.is_file():
        stored = json.loads(record.read_text(encoding="utf-8"))
        if stored != {path.name: sha256_file(path) for path in files}:
            raise LexigraftError(f"{out}: not what was written; remove it")
        return out
    with whole_file(files[0]) as counted, whole_file(files[1]) as listed:
        _write(texts, reader, writer, separator, counted, listed)
    write_json(record, {path.name: sha256_file(path) for path in files})
    return out


def _write(
    texts: Iterable[str],
    reader: Tokenizer,
    writer: Tokenizer,
    separator: int,
    counted: Path,
    listed: Path,
) -> None:
    with counted.open("wb") as counts_stream, listed.open("wb") as tokens_stream:
        for batch in track(in_batches(texts), "align", unit="thousand texts"):
            pairs = zip(
                reader.encode_batch(batch, add_special_tokens=False),
                writer.encode_batch(batch, add_special_tokens=False),
                strict=True,
            )
            for read, written in pairs:
                if not read.ids:
                    continue
                places = first_overlap(read.offsets, written.offsets)
                ids = np.array(written.ids, dtype=np.uint32)[places >= 0]
                counts = np.bincount(places[places >= 0], minlength=len(read.ids))
                if counts.max() > MOST:
                    raise LexigraftError(
                        f"alignment: one input token has {counts.max()} output tokens; "
                        f"allowed: up to {MOST}"
                    )
                np.append(counts, 1).astype(np.uint16).tofile(counts_stream)
                np.append(ids, separator).astype(np.uint32).tofile(tokens_stream)
