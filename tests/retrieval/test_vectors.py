"""Vectors on disk."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file
from lexigraft.retrieval.vectors import Vectors, shard_name, write_shard


def write(folder: Path, sparse: bool) -> Vectors:
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    for number, rows in enumerate((values[:3], values[3:])):
        matrix = scipy.sparse.csr_array(rows) if sparse else rows
        write_shard(folder / shard_name("documents", number, sparse), matrix, sparse)
    vectors = Vectors(folder, "documents", ["a", "b", "ç", "007"], [3, 1], 3, sparse)
    vectors.write()
    return vectors


@pytest.mark.parametrize("sparse", [True, False])
def test_round_trip(sparse: bool, tmp_path: Path) -> None:
    written = write(tmp_path, sparse)
    read = Vectors.open(tmp_path, "documents")
    assert read == written
    matrix = read.matrix().toarray() if sparse else read.matrix()
    assert matrix.tolist() == np.arange(12).reshape(4, 3).tolist()
    assert matrix.dtype == np.float32


@pytest.mark.parametrize("sparse", [True, False])
def test_the_same_vectors_are_the_same_bytes(sparse: bool, tmp_path: Path) -> None:
    hashes = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write(tmp_path / name, sparse)
        hashes.append([sha256_file(p) for p in sorted((tmp_path / name).iterdir())])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("sparse", [True, False])
def test_what_cannot_be_read_is_named(sparse: bool, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"documents\.json: no such file"):
        Vectors.open(tmp_path, "documents")
    vectors = write(tmp_path, sparse)
    path = tmp_path / shard_name("documents", 1, sparse)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(LexigraftError, match="unreadable vectors"):
        vectors.matrix()
    path.unlink()
    with pytest.raises(LexigraftError, match="unreadable vectors"):
        vectors.matrix()
    shard = (tmp_path / shard_name("documents", 0, sparse)).read_bytes()
    path.write_bytes(shard)
    with pytest.raises(LexigraftError, match=r"shape \(3, 3\) found, \(1, 3\) expected"):
        vectors.matrix()
