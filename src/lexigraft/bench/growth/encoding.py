"""Encoding a corpus to disk, with a model so small that a corpus can be large."""

import tempfile
from pathlib import Path

from lexigraft.bench.comparison import Work

FULL = {
    "layers": 2,
    "width": 128,
    "heads": 4,
    "vocabulary": 4_096,
    "shortest": 8,
    "longest": 32,
}
SMALL = {"layers": 1, "width": 32, "heads": 2, "vocabulary": 200, "shortest": 4, "longest": 16}


def prepare(*, documents: int, shortest: int, longest: int, **model: int) -> Work:
    """Shards of CSR vectors in a folder that is removed again."""
    from lexigraft.bench.comparisons.models import make_encoder, make_texts
    from lexigraft.encoders.loading import load_encoder
    from lexigraft.encoders.streaming import encode_to_disk

    texts = make_texts(
        documents, shortest=shortest, longest=longest, vocabulary=model["vocabulary"], seed=2
    )
    named = {f"d{number}": text for number, text in enumerate(texts)}
    encoder = load_encoder(make_encoder(Path(tempfile.mkdtemp()), longest=longest, **model))

    def run() -> int:
        with tempfile.TemporaryDirectory() as folder:
            out, checkpoints = Path(folder) / "out", Path(folder) / "checkpoints"
            vectors = encode_to_disk(encoder, named, longest, "document", out, checkpoints)
            return len(vectors.ids)

    return Work(run)
