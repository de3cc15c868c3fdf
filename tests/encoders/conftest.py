"""Tiny real models of transformers' own classes, and a WordPiece tokenizer for them."""

import os
from collections.abc import Callable

import pytest
import torch
import transformers
from tiny_models import CONFIGS, VOCABULARY
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoModelForMaskedLM, PreTrainedModel, PreTrainedTokenizerFast

os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    ids = {token: i for i, token in enumerate(VOCABULARY)}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=False)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )


@pytest.fixture(scope="session")
def make_model() -> Callable[[str], PreTrainedModel]:
    """Name of a config class to a masked language model whose weights and bias are random."""

    def make(config: str) -> PreTrainedModel:
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = AutoModelForMaskedLM.from_config(
                getattr(transformers, config)(**CONFIGS[config])
            )
            bias = model.get_output_embeddings().bias
            if bias is not None:
                torch.nn.init.normal_(bias)
        return model.eval()

    return make
