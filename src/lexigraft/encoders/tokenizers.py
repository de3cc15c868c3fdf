"""Tokenizers that lower-case, and tokenizers that come back from disk as they were saved."""

import copy
import inspect
from pathlib import Path

from tokenizers import Tokenizer, normalizers
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError

ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def lowercase_tokenizer(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """A copy that lower-cases every input before anything else; special tokens stay as they are.

    The normaliser is part of tokenizer.json, so transformers and sentence-transformers lower-case
    too. The copy is of the generic class: BertTokenizer and RobertaTokenizer rebuild their own
    normaliser when they are loaded and would drop this one without a word.
    """
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    own = [backend.normalizer] if backend.normalizer is not None else []
    backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return _generic(tokenizer, backend)


def save_tokenizer(
    tokenizer: PreTrainedTokenizerFast, model: PreTrainedModel, folder: Path, max_length: int
) -> None:
    """Save a tokenizer that fits `model`: `max_length` tokens at most, and only its own inputs.

    Raises:
        LexigraftError: what was saved would be read back as another tokenizer.
    """
    saved = copy.deepcopy(tokenizer)
    saved.backend_tokenizer.no_truncation()
    saved.backend_tokenizer.no_padding()
    saved.model_max_length = max_length
    accepted = inspect.signature(model.forward).parameters
    saved.model_input_names = [name for name in saved.model_input_names if name in accepted]
    saved.init_kwargs["model_input_names"] = saved.model_input_names
    saved.save_pretrained(folder)
    back = AutoTokenizer.from_pretrained(folder)
    back.backend_tokenizer.no_truncation()
    back.backend_tokenizer.no_padding()
    if back.backend_tokenizer.to_str() != saved.backend_tokenizer.to_str():
        raise LexigraftError(
            f"{folder}: a {type(tokenizer).__name__} changed in this way is not read back as it "
            "was saved; wrap it in a PreTrainedTokenizerFast"
        )


def _generic(tokenizer: PreTrainedTokenizerFast, backend: Tokenizer) -> PreTrainedTokenizerFast:
    named = {role: getattr(tokenizer, role) for role in ROLES if getattr(tokenizer, role, None)}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=tokenizer.model_max_length,
        model_input_names=tokenizer.model_input_names,
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        clean_up_tokenization_spaces=False,
        **named,
    )
