"""First overlap, worked by hand, and aligned token streams of two small tokenizers."""

from pathlib import Path

import numpy as np
import pytest
from two_vocabularies import READER, TEXTS, WRITER

from lexigraft.errors import LexigraftError
from lexigraft.training.alignment import Alignment, align, first_overlap
from lexigraft.training.packing import PackedSequences, plain_backend, token_stream
from lexigraft.vocabulary.training import train_tokenizer


@pytest.mark.parametrize(
    ("read", "written", "expected"),
    [
        # collabor|ations under co|lla|bo|ration|s: four begin in the first, one in the second.
        ([(0, 8), (8, 14)], [(0, 2), (2, 5), (5, 7), (7, 13), (13, 14)], [0, 0, 0, 0, 1]),
        # cle|ars under clears: the longer token belongs to the first of its pieces.
        ([(0, 3), (3, 6)], [(0, 6)], [0]),
        # A byte-level token may hold the space before its word; nothing is read at 9-12.
        ([(0, 4), (4, 9)], [(0, 4), (5, 9), (9, 12)], [0, 1, -1]),
        # Three bytes of one character: all have its span, the first is meant.
        ([(0, 1), (0, 1), (0, 1), (1, 3)], [(0, 1), (1, 3)], [0, 3]),
        # A gap between input tokens that an output token fills alone.
        ([(0, 2), (5, 7)], [(2, 5), (4, 6)], [-1, 1]),
        ([], [(0, 1)], [-1]),
        ([(0, 1)], [], []),
    ],
)
def test_first_overlap_by_hand(read, written, expected) -> None:
    assert first_overlap(read, written).tolist() == expected


def opened(folder: Path, length: int = 4) -> tuple[Alignment, PackedSequences]:
    stream, key = token_stream(TEXTS, READER, folder)
    packed = PackedSequences(stream, length, cls_id=2, sep_id=3)
    return Alignment.open(align(TEXTS, READER, WRITER, key, folder), packed), packed


def test_a_stream_and_its_alignment_by_hand(tmp_path: Path) -> None:
    alignment, packed = opened(tmp_path)
    # collabor ations | End [SEP] | Heat of, cut in pieces of two; the last [SEP] is left over.
    assert packed.pieces.tolist() == [[5, 6], [7, 3], [9, 8]]
    assert alignment.counts.tolist() == [[4, 0], [1, 1], [1, 1]]
    found = [[part.tolist() for part in alignment.of(number)] for number in range(3)]
    assert found == [
        [[5, 6, 7, 8], [0, 0, 0, 0]],  # co ##lla ##bo ##rations, all at collabor
        [[10, 3], [0, 1]],  # end, and the separator of the texts
        [[1, 11], [0, 1]],  # heat is unknown there; of
    ]


def test_an_alignment_is_made_once_and_known_by_its_content(tmp_path: Path) -> None:
    opened(tmp_path)
    (folder,) = tmp_path.glob("alignment-*")
    first = (folder / "counts.uint16").stat().st_mtime_ns
    opened(tmp_path)
    assert (folder / "counts.uint16").stat().st_mtime_ns == first
    np.zeros(3, np.uint16).tofile(folder / "counts.uint16")
    with pytest.raises(LexigraftError, match="not what was written; remove it"):
        opened(tmp_path)


def test_real_tokenizers_share_characters_as_a_search_by_hand_finds() -> None:
    texts = ["Collaborations of naïve Érudits ---- 🙂 cost 12,5 €!", "  Heat\n\theats ﬁve “seas”"]
    reader = plain_backend(train_tokenizer("byte_bpe", False, 300, texts * 5, max_length=32))
    writer = plain_backend(train_tokenizer("wordpiece", True, 120, texts * 5, max_length=32))
    pairs = 0
    for text in texts:
        read = reader.encode(text, add_special_tokens=False).offsets
        written = writer.encode(text, add_special_tokens=False).offsets
        for (start, end), place in zip(written, first_overlap(read, written), strict=True):
            own = set(range(start, end))
            sharing = [i for i, span in enumerate(read) if own & set(range(*span))]
            assert place == (sharing[0] if sharing else -1)
            pairs += bool(sharing)
    assert pairs == 21
