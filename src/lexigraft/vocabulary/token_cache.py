"""Where tokens are kept on disk, and what decides them beside the texts."""

import json
import os
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast


def shared_token_cache() -> Path | None:
    """`$LEXIGRAFT_CACHE/tokens`: where jobs on the same text share its tokens, if it is set.

    Otherwise each training keeps them beside its checkpoints, and they go when it has ended.
    """
    folder = os.environ.get("LEXIGRAFT_CACHE", "")
    return Path(folder) / "tokens" if folder else None


def id_type(tokenizer: PreTrainedTokenizerFast) -> np.dtype:
    """The smallest unsigned type, of 2 or 4 bytes, that holds every id of a tokenizer."""
    return np.dtype(np.uint16 if max(tokenizer.get_vocab().values()) < 2**16 else np.uint32)


def uncut_backend(tokenizer: PreTrainedTokenizerFast) -> Tokenizer:
    """A copy of what tokenises, which neither cuts nor pads."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    backend.no_truncation()
    backend.no_padding()
    return backend


def tokenizer_state(backend: Tokenizer) -> str:
    """All that decides a backend's tokens, as JSON, the same for the same tokenizer."""
    # Parsed and written again: the order of its vocabulary is the only thing that varies.
    return json.dumps(json.loads(backend.to_str()), sort_keys=True)
