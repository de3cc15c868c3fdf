"""Vocabularies made for a test, in the three families of tokenizers."""

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

WORDPIECE_ROLES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BPE_ROLES = ["<s>", "</s>", "<pad>", "<unk>", "<mask>"]


def wordpiece(*tokens: str) -> PreTrainedTokenizerFast:
    backend = Tokenizer(
        models.WordPiece(
            {t: i for i, t in enumerate([*WORDPIECE_ROLES, *tokens])}, unk_token="[UNK]"
        )
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pad, unk, cls, sep, mask = WORDPIECE_ROLES
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token=pad,
        unk_token=unk,
        cls_token=cls,
        sep_token=sep,
        mask_token=mask,
    )


def byte_level(*texts: str | bytes, add: tuple[AddedToken, ...] = ()) -> PreTrainedTokenizerFast:
    """Tokens given as text (a leading space is a word's start) or as raw bytes."""
    alphabet = _bytes_to_characters()
    tokens = [
        "".join(alphabet[b] for b in (t.encode() if isinstance(t, str) else t)) for t in texts
    ]
    backend = Tokenizer(models.BPE({t: i for i, t in enumerate([*BPE_ROLES, *tokens])}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens(list(add))
    return _with_bpe_roles(backend)


def sentencepiece(*tokens: str) -> PreTrainedTokenizerFast:
    pieces = [(token, 0.0) for token in BPE_ROLES] + [(token, -2.0) for token in tokens]
    backend = Tokenizer(models.Unigram(pieces, unk_id=3, byte_fallback=True))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    return _with_bpe_roles(backend)


def _with_bpe_roles(backend: Tokenizer) -> PreTrainedTokenizerFast:
    cls, sep, pad, unk, mask = BPE_ROLES
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=cls,
        cls_token=cls,
        eos_token=sep,
        sep_token=sep,
        pad_token=pad,
        unk_token=unk,
        mask_token=mask,
    )


def _bytes_to_characters() -> dict[int, str]:
    """What the ByteLevel pre-tokenizer itself writes for each byte, read off characters that hold
    it between them."""
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    codes = [*range(0x800), *range(0x800, 0xD800, 0x400), *range(0x10000, 0x110000, 0x8000)]
    found = {}
    for character in map(chr, codes):
        written = splitter.pre_tokenize_str(character)[0][0]
        found.update(zip(character.encode(), written, strict=True))
    return found
