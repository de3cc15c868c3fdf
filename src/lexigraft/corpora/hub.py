"""Data sets of the hub, by name and at a commit that is written down."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError


@dataclass(frozen=True)
class HubSet:
    """One configuration of a data set on the hub, as Parquet or JSON; no code of it is run."""

    repository: str
    configuration: str = ""
    split: str = "train"


def commit(repository: str) -> str:
    """The newest commit of a data set.

    Raises:
        LexigraftError: the hub cannot be reached or has no such data set.
    """
    from huggingface_hub import HfApi

    try:
        return str(HfApi().dataset_info(repository).sha)
    except Exception as error:
        raise LexigraftError(f"data set {repository!r}: {_reason(error)}") from None


def rows(source: HubSet, revision: str) -> Iterator[Mapping[str, Any]]:
    """Rows of a data set, streamed in the order of its files.

    Raises:
        LexigraftError: it cannot be reached or read.
    """
    from datasets import load_dataset

    try:
        yield from load_dataset(
            source.repository,
            source.configuration or None,
            split=source.split,
            revision=revision,
            streaming=True,
        )
    except LexigraftError:
        raise
    except Exception as error:
        raise LexigraftError(f"data set {source.repository!r}: {_reason(error)}") from None


def splits(repository: str, configuration: str, revision: str) -> list[str]:
    """Names of the splits of one configuration of a data set.

    Raises:
        LexigraftError: it cannot be reached or has no such configuration.
    """
    from datasets import get_dataset_split_names

    try:
        return list(get_dataset_split_names(repository, configuration, revision=revision))
    except Exception as error:
        raise LexigraftError(
            f"data set {repository!r}, {configuration}: {_reason(error)}"
        ) from None


def fetch(repository: str, file: str, revision: str) -> Path:
    """One file of a data set, from the cache of the hub's client or downloaded into it.

    Raises:
        LexigraftError: it cannot be reached.
    """
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(repository, file, repo_type="dataset", revision=revision))
    except Exception as error:
        raise LexigraftError(f"data set {repository!r}, {file}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"cannot be read ({type(error).__name__}{': ' + lines[0] if lines else ''})"
