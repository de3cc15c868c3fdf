"""Tiny real tokenizers and models: trained on a few sentences, weights drawn at random."""

from collections.abc import Callable

import pytest
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    BertConfig,
    BertForMaskedLM,
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

SENTENCES = [
    "The heat of the sun heats the sea, and the sea cools in the evening.",
    "Return the eigenvalues of a symmetric matrix; raise an error if it is not square.",
    "Collaborations between nationalists and others were clears and centimetres apart!",
    "The quick brown fox jumps over the lazy dog (twice), then sleeps until 10:30.",
    "Compute the mean, the deviation and the largest value along each axis of an array.",
    "She sells sea shells; He returned the matrix to the Sun.",
]


def train_wordpiece(lowercase: bool, size: int = 220) -> PreTrainedTokenizerFast:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        SENTENCES, trainers.WordPieceTrainer(vocab_size=size, special_tokens=specials)
    )
    tokenizer.decoder = decoders.WordPiece()
    return _wrap(tokenizer, *specials, template="[CLS] $A [SEP]", inputs=True)


def train_byte_bpe(size: int = 420) -> PreTrainedTokenizerFast:
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        SENTENCES,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    cls, pad, sep, unk, mask = specials
    return _wrap(tokenizer, pad, unk, cls, sep, mask, template="<s> $A </s>")


def _wrap(
    tokenizer: Tokenizer,
    pad: str,
    unk: str,
    cls: str,
    sep: str,
    mask: str,
    *,
    template: str,
    inputs: bool = False,
) -> PreTrainedTokenizerFast:
    ids = [(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
    tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=ids)
    names = ["input_ids", "token_type_ids", "attention_mask"] if inputs else None
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unk,
        cls_token=cls,
        sep_token=sep,
        mask_token=mask,
        model_max_length=64,
        **({"model_input_names": names} if names else {}),
    )


def wordpiece(tokens: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer of these tokens, the special ones among them."""
    backend = Tokenizer(models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    roles = {role: f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{role}_token": token for role, token in roles.items()}
    )


def special_ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return {
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
    }


SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}


def make_model(
    architecture: str, tokenizer: PreTrainedTokenizerFast, *, rows: int = 0, **options: object
) -> PreTrainedModel:
    """A model with random weights and a random output bias; `rows` beyond the tokenizer's pad."""
    settings = {
        **SMALL,
        "vocab_size": rows or len(tokenizer),
        "max_position_embeddings": 64,
        **special_ids(tokenizer),
        **options,
    }
    with torch.random.fork_rng():
        torch.manual_seed(7)
        if architecture == "bert":
            model: PreTrainedModel = BertForMaskedLM(BertConfig(**settings))
        elif architecture == "roberta":
            settings["max_position_embeddings"] = 64 + tokenizer.pad_token_id + 1
            model = RobertaForMaskedLM(RobertaConfig(**settings))
        else:
            settings |= {
                "cls_token_id": tokenizer.cls_token_id,
                "sep_token_id": tokenizer.sep_token_id,
            }
            model = ModernBertForMaskedLM(ModernBertConfig(**settings))
        decoder = model.get_output_embeddings()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.3)
            if decoder.bias is not None:
                decoder.bias.normal_(mean=-2.0)
    return model.eval()


MakeModel = Callable[..., PreTrainedModel]


@pytest.fixture(scope="session")
def uncased() -> PreTrainedTokenizerFast:
    return train_wordpiece(lowercase=True)


@pytest.fixture(scope="session")
def cased() -> PreTrainedTokenizerFast:
    return train_wordpiece(lowercase=False)


@pytest.fixture(scope="session")
def byte_bpe() -> PreTrainedTokenizerFast:
    return train_byte_bpe()


@pytest.fixture(scope="session")
def wordpiece_of() -> Callable[[list[str]], PreTrainedTokenizerFast]:
    return wordpiece


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return SENTENCES


@pytest.fixture(scope="session")
def build() -> MakeModel:
    return make_model
