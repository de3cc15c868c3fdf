"""Vectors on disk: shards of consecutive texts, and an index that names them.

<name>.json                       ids, rows of each shard, dimensions, sparse or dense, values
<name>.00000.npz, ...             CSR, float32 (scipy)
<name>.00000.npy, ...             dense, float32
<name>.00000.npz, ...             either in fewer bytes (`lexigraft.retrieval.quantisation`)

Whatever is on disk, what is read is float32.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from lexigraft.errors import LexigraftError
from lexigraft.files import read_json, whole_file, write_json
from lexigraft.retrieval.quantisation import quantised, restored
from lexigraft.specs.options import Values


@dataclass(frozen=True)
class Vectors:
    """The vectors of some texts, read shard by shard."""

    folder: Path
    name: str
    """queries or documents."""
    ids: list[str]
    rows: list[int]
    """Texts of each shard."""
    dimensions: int
    sparse: bool
    values: Values = "float32"
    """What is on disk."""

    @classmethod
    def open(cls, folder: Path, name: str) -> "Vectors":
        """Open vectors that `write` described.

        Raises:
            LexigraftError: they are not there, or their index is not one.
        """
        path = folder / f"{name}.json"
        index = read_json(path)
        try:
            return cls(folder, name, **index)
        except TypeError:
            raise LexigraftError(f"{path}: not the index of vectors") from None

    def write(self) -> None:
        """Write the index; the shards are there already."""
        index = {k: v for k, v in asdict(self).items() if k not in ("folder", "name")}
        write_json(self.folder / f"{self.name}.json", index)

    def shards(self) -> Iterator[Any]:
        """Each shard: a CSR array (rows, V) or a numpy array (rows, H).

        Raises:
            LexigraftError: a shard is missing, unreadable or of another shape than the index says.
        """
        for number, rows in enumerate(self.rows):
            path = self.folder / shard_name(self.name, number, self.sparse, self.values)
            shard = read_shard(path)
            if shard.shape != (rows, self.dimensions):
                raise LexigraftError(
                    f"{path}: shape {shard.shape} found, {(rows, self.dimensions)} expected"
                )
            yield shard

    def bytes_on_disk(self) -> int:
        """Size of all shards."""
        return sum(
            (self.folder / shard_name(self.name, number, self.sparse, self.values)).stat().st_size
            for number in range(len(self.rows))
        )

    def matrix(self) -> Any:
        """All shards as one matrix in memory."""
        shards = list(self.shards())
        if self.sparse:
            empty = scipy.sparse.csr_array((0, self.dimensions), dtype=np.float32)
            return scipy.sparse.vstack([empty, *shards], format="csr")
        return np.concatenate([np.zeros((0, self.dimensions), dtype=np.float32), *shards])


def refuse_misfit(queries: Vectors, documents: Vectors) -> None:
    """Raise LexigraftError where queries and documents are not of one encoder."""
    if (queries.dimensions, queries.sparse) != (documents.dimensions, documents.sparse):
        raise LexigraftError(
            f"{documents.folder}: queries of {queries.dimensions} dimensions, documents of "
            f"{documents.dimensions}"
        )


def shard_name(name: str, number: int, sparse: bool, values: Values = "float32") -> str:
    """File name of a shard."""
    return f"{name}.{number:05d}.{'npz' if sparse or values != 'float32' else 'npy'}"


def read_shard(path: Path) -> Any:
    """Read one shard as a CSR or numpy array of float32.

    Raises:
        LexigraftError: it is missing or unreadable.
    """
    try:
        if path.suffix == ".npy":
            return np.load(path, allow_pickle=False)
        with np.load(path, allow_pickle=False) as arrays:
            if "codes" in arrays:
                found = restored(arrays)
                return _narrow(found) if scipy.sparse.issparse(found) else found
        return _narrow(scipy.sparse.load_npz(path))
    # A cut zip file raises BadZipFile, a cut array ValueError or EOFError, a foreign one KeyError.
    except Exception as error:
        raise LexigraftError(f"{path}: unreadable vectors ({error})") from None


def write_shard(path: Path, matrix: Any, sparse: bool, values: Values = "float32") -> None:
    """Write one shard, whole or not at all; the same matrix gives the same bytes.

    Raises:
        LexigraftError: a value does not fit `values`.
    """
    with whole_file(path) as partial, partial.open("wb") as stream:
        if values != "float32":
            try:
                arrays: dict[str, Any] = quantised(matrix, values)
            except LexigraftError as error:
                raise LexigraftError(f"{path}: {error}") from None
            np.savez(stream, **arrays)
        elif sparse:
            scipy.sparse.save_npz(stream, _narrow(matrix), compressed=False)
        else:
            np.save(stream, matrix, allow_pickle=False)


def _narrow(matrix: Any) -> Any:
    """A CSR array with column numbers of 4 bytes where they suffice, as they do for a shard."""
    kind = np.int32 if max(matrix.nnz, *matrix.shape) < 2**31 else np.int64
    numbers = (part.astype(kind, copy=False) for part in (matrix.indices, matrix.indptr))
    return scipy.sparse.csr_array((matrix.data, *numbers), shape=matrix.shape)
