import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from sentence_transformers import SentenceTransformer

from lexigraft.corpora import Collection, TrainingPairs
from lexigraft.encoders import load_masked_lm, save_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.specs.options import TeacherOptions
from lexigraft.training.scores import PairScores, write_scores
from lexigraft.training.teacher import (
    bm25_scores,
    dense_scores,
    mean_of_scaled,
    needed_pairs,
    score_pairs,
)
from tiny_retrieval import QUERIES, tiny_collection, tiny_model


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """collection, sparse (a masked language model), dense (a bi-encoder)."""
    folder = tmp_path_factory.mktemp("teacher")
    tiny_collection(folder / "collection")
    tiny_model(folder / "sparse")
    save_encoder(*load_masked_lm(folder / "sparse"), folder / "dense", "dense")
    return folder


def small_pairs() -> TrainingPairs:
    return TrainingPairs(
        queries={"q0": "cat", "q1": "dog cat cat"},
        documents={"d0": "cat dog", "d1": "cat cat", "unused": ""},
        positives={"q0": ["d1"], "q1": ["d0"]},
        negatives={"q0": ["d0"], "q1": ["d0", "d1"]},
    )


def test_each_pair_is_scored_once() -> None:
    pairs = needed_pairs(small_pairs())
    assert pairs.queries.tolist() == [0, 0, 1, 1]
    assert pairs.documents.tolist() == [1, 0, 0, 1]
    assert pairs.positive.tolist() == [True, False, True, False]


def test_bm25_by_hand() -> None:
    # Lucene's BM25, k1 1.5, b 0.75, two documents of two words. idf(cat) = ln 1.2 and
    # idf(dog) = ln 2; a word once 1 / (1 + 1.5), twice 2 / (2 + 1.5); q1 asks for cat twice.
    training = small_pairs()
    del training.documents["unused"]
    scores = bm25_scores(training, needed_pairs(training))
    np.testing.assert_allclose(scores, [0.1041838, 0.0729286, 0.4231161, 0.2083676], rtol=1e-5)
    assert scores.dtype == np.float32


def test_cosines_as_in_sentence_transformers(material: Path) -> None:
    training = Collection.open(material / "collection").training()
    pairs = needed_pairs(training)
    scores = dense_scores(training, pairs, material / "dense", 32)
    theirs = SentenceTransformer(str(material / "dense"), device="cpu")
    queries = theirs.encode(list(training.queries.values()), convert_to_tensor=True)
    documents = theirs.encode(list(training.documents.values()), convert_to_tensor=True)
    expected = torch.cosine_similarity(queries[pairs.queries], documents[pairs.documents])
    np.testing.assert_allclose(scores, expected.numpy(), atol=1e-5)


def test_the_mean_of_scores_scaled_to_unit_deviation() -> None:
    mean = mean_of_scaled([np.array([0, 2], np.float32), np.array([0, -4], np.float32)])
    assert mean.tolist() == [0, 0]
    mean = mean_of_scaled([np.array([1, 3], np.float32), np.array([0, 20], np.float32)])
    assert mean.tolist() == [0.5, 2.5]
    with pytest.raises(LexigraftError, match="all pairs have the same score"):
        mean_of_scaled([np.ones(3, np.float32), np.arange(3, dtype=np.float32)])


def test_a_teacher_on_disk(material: Path, tmp_path: Path) -> None:
    options = TeacherOptions(method="dense+bm25", length=32)
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        score_pairs(material / "collection", material / "dense", options, tmp_path / name)
    table = pq.read_table(tmp_path / "first" / "scores.parquet")
    assert table.schema.names == ["query", "document", "score"]
    assert table.num_rows == 3 * QUERIES
    summary = json.loads((tmp_path / "first" / "teacher.json").read_text())
    assert (summary["pairs"], summary["queries"]) == (3 * QUERIES, QUERIES)
    # A positive has both words of its query: BM25 alone puts nearly every negative below it.
    assert summary["negatives_below_positive"] > 0.8
    names = ("scores.parquet", "teacher.json")
    hashes = [[sha256_file(tmp_path / n / f) for f in names] for n in ("first", "second")]
    assert hashes[0] == hashes[1]


def test_shipped_scores_are_taken_over(tmp_path: Path) -> None:
    folder = tiny_collection(tmp_path / "collection")
    pairs = [(f"q{i}", f"{kind}{i}") for i in range(QUERIES) for kind in "nmd"]
    values = np.arange(len(pairs), dtype=np.float32)
    path = folder / "train" / "scores.parquet"
    write_scores(path, [([q for q, _ in pairs], [d for _, d in pairs], values)])
    out = tmp_path / "out"
    out.mkdir()
    score_pairs(folder, None, TeacherOptions(method="shipped"), out)
    scores = PairScores(out / "scores.parquet", ["q1"], ["d1", "n1"])
    assert scores.lookup(np.array([0]), np.array([[0, 1]])).tolist() == [[5.0, 3.0]]
    write_scores(path, [([q for q, _ in pairs[1:]], [d for _, d in pairs[1:]], values[1:])])
    with pytest.raises(LexigraftError, match="no teacher score for query 'q0' and document 'n0'"):
        score_pairs(folder, None, TeacherOptions(method="shipped"), out)


@pytest.mark.parametrize(
    ("method", "model", "message"),
    [
        ("shipped", None, "ships no teacher scores"),
        ("dense", None, "method: dense needs a bi-encoder"),
        ("dense", "absent", "absent"),
        ("dense", "sparse", "a sparse encoder; the teacher is a dense bi-encoder"),
    ],
)
def test_what_cannot_teach_is_refused(material, tmp_path, method, model, message) -> None:
    folder = material / model if model else None
    with pytest.raises(LexigraftError, match=message):
        score_pairs(material / "collection", folder, TeacherOptions(method=method), tmp_path)
