"""Training of tokenizers: BERT's WordPiece and the byte-level BPE of ModernBERT and RoBERTa.

Normaliser, pre-tokenizer, decoder and post-processor are those of the real models, so that what is
found about small vocabularies is about the same things as at full size: `##heat` against `heat` in
a WordPiece vocabulary, ` heat` (word-initial) against `heat` in a byte-level one, case kept or not.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Literal

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError

Kind = Literal["wordpiece", "byte_bpe"]
ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
SPECIALS = {
    "bert": dict(zip(ROLES, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), strict=True)),
    "roberta": dict(zip(ROLES, ("<pad>", "<unk>", "<s>", "</s>", "<mask>"), strict=True)),
}
ORDER = {
    "bert": ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"),
    # RoBERTa's position embeddings count on from the padding id, which is 1.
    "roberta": ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token"),
}
CONTINUATION = "##"
ALPHABET = 1000
"""Most characters that a WordPiece vocabulary spells out (BERT's own limit)."""


def train_tokenizer(
    kind: Kind,
    lowercase: bool,
    size: int,
    texts: Iterable[str],
    *,
    specials: Literal["bert", "roberta"] = "bert",
    max_length: int = 512,
) -> PreTrainedTokenizerFast:
    """Train a tokenizer of at most `size` entries, special tokens included.

    The same texts give the same vocabulary with the same ids.

    Args:
        kind: wordpiece (BERT) or byte_bpe (GPT-2's, as ModernBERT and RoBERTa use it: no space is
            put before the first word).
        lowercase: lower-case and strip accents, as BERT-uncased does.
        specials: names of the special tokens: [CLS] and so on, or <s> and so on.
        max_length: the longest input in tokens, special tokens included.

    Raises:
        LexigraftError: there is no text, or `size` is too small for the alphabet.
    """
    stream = (text for text in texts if text.strip())
    first = next(stream, None)
    if first is None:
        raise LexigraftError("tokenizer training: no text found, the collection is empty")
    texts = chain([first], stream)
    names = SPECIALS[specials]
    tokens = [names[role] for role in ORDER[specials]]
    if kind == "wordpiece":
        trained = _train_wordpiece(lowercase, size, list(texts), tokens, names["unk_token"])
    elif kind == "byte_bpe":
        trained = _train_byte_bpe(lowercase, size, texts, tokens, specials)
    else:
        raise LexigraftError(f"tokenizer: {kind!r} found, wordpiece and byte_bpe are allowed")
    return _encoders_own(trained, kind, specials, max_length)


def with_specials(tokenizer: Tokenizer, max_length: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE of a decoder, which has no [CLS] or [MASK], as ModernBERT has it: BERT's
    special tokens behind its own entries.

    Args:
        tokenizer: as the library tokenizers loads it; it is changed.
        max_length: the longest input in tokens, special tokens included.
    """
    tokenizer.add_special_tokens([SPECIALS["bert"][role] for role in ORDER["bert"]])
    return _encoders_own(tokenizer, "byte_bpe", "bert", max_length)


def _encoders_own(
    tokenizer: Tokenizer, kind: Kind, specials: Literal["bert", "roberta"], max_length: int
) -> PreTrainedTokenizerFast:
    names = SPECIALS[specials]
    _post_process(tokenizer, names, specials, kind)
    segments = kind == "wordpiece"
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=max_length,
        model_input_names=["input_ids", *["token_type_ids"] * segments, "attention_mask"],
        clean_up_tokenization_spaces=False,
        **names,
    )


def _train_wordpiece(
    lowercase: bool, size: int, texts: list[str], tokens: list[str], unknown: str
) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    alphabet = _wordpiece_alphabet(tokenizer, texts)
    _refuse_small(size, len(tokens) + len(alphabet))
    # Single characters go in as if they were special: left to itself the trainer numbers
    # continuations (##a) in the order of a hash table, and no two trainings give the same ids.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*tokens, *alphabet],
        limit_alphabet=0,
        show_progress=False,
        continuing_subword_prefix=CONTINUATION,
    )
    tokenizer.train_from_iterator(texts, trainer)
    rebuilt = Tokenizer(
        models.WordPiece(
            tokenizer.get_vocab(),
            unk_token=unknown,
            continuing_subword_prefix=CONTINUATION,
            max_input_chars_per_word=100,
        )
    )
    rebuilt.normalizer = tokenizer.normalizer
    rebuilt.pre_tokenizer = tokenizer.pre_tokenizer
    rebuilt.decoder = decoders.WordPiece(prefix=CONTINUATION)
    rebuilt.add_special_tokens([AddedToken(token, normalized=False) for token in tokens])
    return rebuilt


def _wordpiece_alphabet(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    """The commonest characters, alone and as continuations, in code point order."""
    counts: dict[str, int] = {}
    continued: set[str] = set()
    for text in texts:
        normal = tokenizer.normalizer.normalize_str(text)
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            continued.update(word[1:])
            for character in word:
                counts[character] = counts.get(character, 0) + 1
    kept = sorted(counts, key=lambda c: (-counts[c], c))[:ALPHABET]
    return sorted(kept) + [CONTINUATION + c for c in sorted(kept) if c in continued]


def _train_byte_bpe(
    lowercase: bool, size: int, texts: Iterable[str], tokens: list[str], specials: str
) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    if lowercase:
        tokenizer.normalizer = normalizers.Sequence(
            [
                normalizers.NFD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
                normalizers.NFC(),
            ]
        )
    elif specials == "bert":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    _refuse_small(size, len(tokens) + len(alphabet))
    mask = AddedToken(tokens[-1], lstrip=True, normalized=False, special=True)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[*tokens[:-1], mask],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _post_process(tokenizer: Tokenizer, names: dict[str, str], specials: str, kind: str) -> None:
    """`cls A sep`; a pair is `cls A sep B sep`, or `<s> A </s></s> B </s>` with RoBERTa's names."""
    cls, sep = names["cls_token"], names["sep_token"]
    vocabulary = tokenizer.get_vocab()
    ids = {token: vocabulary[token] for token in (cls, sep)}
    if specials == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(
            (sep, ids[sep]), (cls, ids[cls]), add_prefix_space=False
        )
        return
    second = 1 if kind == "wordpiece" else 0
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls}:0 $A:0 {sep}:0 $B:{second} {sep}:{second}",
        special_tokens=list(ids.items()),
    )


def _refuse_small(size: int, alphabet: int) -> None:
    if size < alphabet:
        raise LexigraftError(
            f"vocabulary_size: {size} found, special tokens and single characters of this text "
            f"need {alphabet}"
        )
