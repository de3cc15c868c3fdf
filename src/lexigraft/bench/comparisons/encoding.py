"""Encoding documents of mixed length: `Encoder.encode` against `SparseEncoder.encode_document`.

Both sort by length; ours makes batches of so many tokens, the peer's hold 32 texts, its default.
"""

import tempfile
from pathlib import Path
from typing import Any

from lexigraft.bench.comparison import Comparison, Target, Work


def ours(**size: int) -> Work:
    """CSR vectors of all documents."""
    from lexigraft.encoders.loading import load_encoder

    folder, texts = _material(**size)
    encoder = load_encoder(folder)
    return Work(
        lambda: encoder.encode(texts, size["longest"]),
        lambda vectors_NV: {"vectors": vectors_NV.toarray()},
    )


def theirs(**size: int) -> Work:
    """A sparse tensor of all documents, as `encode_document` gives it by default."""
    from sentence_transformers import SparseEncoder

    folder, texts = _material(**size)
    encoder = SparseEncoder(str(folder), device="cpu")
    return Work(
        lambda: encoder.encode_document(texts, show_progress_bar=False),
        lambda vectors_NV: {"vectors": vectors_NV.to_dense().numpy()},
    )


def _material(*, documents: int, shortest: int, **model: int) -> tuple[Path, list[str]]:
    from lexigraft.bench.comparisons.models import make_encoder, make_texts

    texts = make_texts(
        documents,
        shortest=shortest,
        longest=model["longest"],
        vocabulary=model["vocabulary"],
        seed=2,
    )
    return make_encoder(Path(tempfile.mkdtemp()), **model), texts


FULL: dict[str, Any] = {
    "layers": 6,
    "width": 384,
    "heads": 12,
    "vocabulary": 30_522,
    "documents": 2_000,
    "shortest": 16,
    "longest": 256,
}
SMALL: dict[str, Any] = {
    "layers": 1,
    "width": 32,
    "heads": 2,
    "vocabulary": 200,
    "documents": 40,
    "shortest": 4,
    "longest": 16,
}
COMPARISONS = (
    Comparison(
        name="encoding",
        title="encoding {documents:,} documents of {shortest} to {longest} tokens, "
        "{layers} layers, H={width} V={vocabulary}",
        peer="SparseEncoder.encode_document",
        ours=ours,
        theirs=theirs,
        sizes={"full": FULL, "small": SMALL},
        tolerance=1e-4,
        target=Target(time=1.5, memory=1 / 4),
    ),
)
