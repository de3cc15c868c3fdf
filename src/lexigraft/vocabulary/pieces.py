"""What each id of a tokenizer stands for: a text, and whether it starts a word."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal
from unicodedata import category

from transformers import PreTrainedTokenizerBase

from lexigraft.errors import LexigraftError

Place = Literal["initial", "inside", "special", "added", "bytes"]
Family = Literal["wordpiece", "bytes", "metaspace"]
ROLES = ("cls", "sep", "pad", "mask", "unk", "bos", "eos")
FALLBACK_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Piece:
    """One id of a vocabulary.

    `initial` starts a word, `inside` goes on with one (or follows no space), `special` marks
    structure, `added` is matched before the tokenizer's model sees the text, `bytes` is no valid
    UTF-8 alone (its text is the token as stored).
    """

    text: str
    place: Place

    @property
    def is_symbol(self) -> bool:
        """Punctuation and symbols only: no letter, no digit and no mark that belongs to a letter
        (the vowel signs of Indic scripts are parts of words)."""
        return self.place in ("initial", "inside") and all(
            category(c)[0] in "PS" for c in self.text
        )


class Pieces:
    """A fast tokenizer read as pieces; also cuts a text as it stands inside or at the start of a
    word, which a tokenizer's public interface cannot be asked for.

    Byte-level BPE marks a word's start by a space (`Ġ`), SentencePiece by `▁`; WordPiece marks what
    goes on by a prefix (`##`).

    Raises:
        LexigraftError: a slow tokenizer, or one whose tokens do not tell where a word starts.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise LexigraftError(
                f"tokenizer {name_of(tokenizer)}: {type(tokenizer).__name__} is a slow tokenizer; "
                "only those with a tokenizer.json can be read"
            )
        self._backend = backend
        self._state: dict[str, Any] = json.loads(backend.to_str())
        self._model: dict[str, Any] = self._state["model"]
        self.family: Family = self._find_family(name_of(tokenizer))
        self.tokens: dict[int, str] = {i: t for t, i in sorted(tokenizer.get_vocab().items())}
        self.roles: dict[str, int] = {
            role: token_id
            for role in ROLES
            if (token_id := getattr(tokenizer, f"{role}_token_id", None)) is not None
        }
        added = {entry["id"]: entry for entry in self._state["added_tokens"]}
        special = set(self.roles.values()) | {i for i, entry in added.items() if entry["special"]}
        self.pieces: dict[int, Piece] = {}
        for token_id in sorted(self.tokens):
            token = self.tokens[token_id]
            if token_id in special:
                self.pieces[token_id] = Piece(token, "special")
            elif token_id in added:
                self.pieces[token_id] = Piece(added[token_id]["content"], "added")
            else:
                self.pieces[token_id] = self._read(token)

    @property
    def size(self) -> int:
        """Rows that an embedding matrix needs: the highest id and one."""
        return max(self.tokens) + 1

    def shown(self, token_id: int) -> str:
        """A token for people: its mark as stored, and its text instead of bytes (`Ġø`)."""
        piece = self.pieces[token_id]
        if self.family != "bytes" or piece.place not in ("initial", "inside"):
            return self.tokens[token_id]
        if not piece.text.strip() or not piece.text.isprintable():
            return self.tokens[token_id]
        return (self._mark if piece.place == "initial" else "") + piece.text

    def cut(self, piece: Piece) -> list[int]:
        """Ids of `piece`'s text under this tokenizer, a word's start or inside as the piece is.

        Empty where the text cannot be written in this vocabulary, or there is no text.
        """
        if piece.place in ("special", "bytes") or not piece.text:
            return []
        normalizer = self._backend.normalizer
        text = normalizer.normalize_str(piece.text) if normalizer else piece.text
        initial = piece.place == "initial"
        if self.family == "wordpiece":
            return self._cut_words(text, initial)
        text = text.removeprefix(self._mark)
        if not text:
            return []
        if self.family == "bytes":
            text = "".join(CHARACTER_OF_BYTE[b] for b in text.encode())
        return self._known((self._mark if initial else "") + text)

    def _cut_words(self, text: str, initial: bool) -> list[int]:
        splitter = self._backend.pre_tokenizer
        words = [word for word, _ in splitter.pre_tokenize_str(text)] if splitter else [text]
        ids: list[int] = []
        for position, word in enumerate(words):
            if initial or position or not self._prefix:
                ids += self._known(word)
                continue
            inside = self._known(self._prefix + word)
            # The model takes the prefix for text where no piece continues with it.
            starts = self.tokens[inside[0]] if inside else ""
            marked = starts.startswith(self._prefix) and starts != self._prefix
            ids += inside if marked else self._known(word)
        return ids

    def _known(self, text: str) -> list[int]:
        unknown = self.roles.get("unk")
        return [token.id for token in self._backend.model.tokenize(text) if token.id != unknown]

    def _read(self, token: str) -> Piece:
        if self.family == "wordpiece":
            prefix = self._prefix
            inside = bool(prefix) and token.startswith(prefix) and token != prefix
            return Piece(token[len(prefix) :], "inside") if inside else Piece(token, "initial")
        if self.family == "bytes":
            try:
                text = bytes(BYTE_OF_CHARACTER[c] for c in token).decode()
            except (KeyError, UnicodeDecodeError):
                return Piece(token, "bytes")
            return _split_mark(text, " ")
        if self._model.get("byte_fallback") and (found := FALLBACK_BYTE.fullmatch(token)):
            byte = int(found[1], 16)
            return Piece(chr(byte), "inside") if byte < 128 else Piece(token, "bytes")
        return _split_mark(token, self._mark)

    @cached_property
    def _prefix(self) -> str:
        return self._model.get("continuing_subword_prefix") or ""

    @cached_property
    def _mark(self) -> str:
        return CHARACTER_OF_BYTE[ord(" ")] if self.family == "bytes" else "▁"

    def _find_family(self, name: str) -> Family:
        kind = self._model["type"]
        if self._model.get("end_of_word_suffix"):
            raise LexigraftError(
                f"tokenizer {name}: marks where words end ({self._model['end_of_word_suffix']}); "
                "only tokenizers that mark where words start (Ġ, ▁) or go on (##) can be compared"
            )
        if kind in ("WordPiece", "WordLevel") or self._model.get("continuing_subword_prefix"):
            return "wordpiece"
        parts = _parts(self._state.get("pre_tokenizer")) + _parts(self._state.get("decoder"))
        parts += _parts(self._state.get("normalizer"))
        if any(part["type"] == "ByteLevel" for part in parts):
            return "bytes"
        if any("▁" in json.dumps(part, ensure_ascii=False) for part in parts):
            return "metaspace"
        raise LexigraftError(
            f"tokenizer {name}: a {kind} model without ByteLevel or Metaspace parts does not tell "
            "where words start; byte-level BPE, WordPiece and SentencePiece are understood"
        )


def name_of(tokenizer: PreTrainedTokenizerBase) -> str:
    """How messages call a tokenizer: where it was loaded from, or its class."""
    return getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__


def _split_mark(text: str, mark: str) -> Piece:
    """A mark alone is white space as such, not the start of a word."""
    if text.startswith(mark) and len(text) > 1:
        return Piece(text[1:], "initial")
    return Piece(text.replace(mark, " "), "inside")


def _parts(component: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A component of tokenizer.json with the members of its sequences laid out flat."""
    if component is None:
        return []
    if component["type"] != "Sequence":
        return [component]
    members = next(value for key, value in component.items() if isinstance(value, list))
    return [part for member in members for part in _parts(member)]


def _byte_characters() -> dict[int, str]:
    """GPT-2's printable stand-ins: printable Latin-1 bytes are themselves, the others come from
    256 on, in order."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    printable += range(ord("®"), ord("ÿ") + 1)
    others = [byte for byte in range(256) if byte not in printable]
    own = {byte: chr(byte) for byte in printable}
    return own | {byte: chr(256 + rank) for rank, byte in enumerate(others)}


CHARACTER_OF_BYTE = _byte_characters()
BYTE_OF_CHARACTER = {character: byte for byte, character in CHARACTER_OF_BYTE.items()}
