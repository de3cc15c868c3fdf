"""Tokens on disk are those of the tokenizer's own padded batches, made once and whole."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import AddedToken

from lexigraft.training import tokenised_texts
from lexigraft.training.tokenised_texts import TokenisedTexts, pad
from tiny_retrieval import WORDS, tiny_tokenizer

TEXTS = ["w1 w2 w3", "", "w4", "nowhere w5", " ".join(WORDS), "w6 [SEP] w7"]


def test_a_batch_is_the_tokenizers_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenised_texts, "TEXTS_AT_ONCE", 4)
    generator = np.random.default_rng(0)
    texts = [*TEXTS, *(" ".join(generator.choice(WORDS, n)) for n in range(20))]
    tokenizer = tiny_tokenizer()
    found = TokenisedTexts(tokenizer, texts, 12, tmp_path)
    for _ in range(20):
        places = generator.integers(len(texts), size=5).tolist()
        wanted = tokenizer(
            [texts[place] for place in places],
            truncation=True,
            max_length=12,
            padding="longest",
            return_tensors="pt",
        )
        batch = found.batch(places)
        for name in ("input_ids", "attention_mask"):
            assert torch.equal(batch[name], wanted[name])


def test_padding_by_hand() -> None:
    batch = pad([np.array([5, 6, 7], np.uint16), np.array([8], np.uint16)], pad_id=9)
    assert batch["input_ids"].tolist() == [[5, 6, 7], [8, 9, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Inode and date of every file: what is made again has others."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(p.relative_to(folder)): (p.stat().st_ino, p.stat().st_mtime_ns) for p in found}


def test_tokens_are_made_once_for_each_tokenizer_length_and_text(tmp_path: Path) -> None:
    TokenisedTexts(tiny_tokenizer(), TEXTS, 8, tmp_path)
    made = files(tmp_path)
    assert {Path(name).name for name in made} == {"ids.npy", "offsets.npy", "whole.json"}
    tokenizer = tiny_tokenizer()
    # What a tokenizer was last asked to cut and to pad to is no part of what it is.
    tokenizer(TEXTS, truncation=True, max_length=3, padding="max_length")
    TokenisedTexts(tokenizer, TEXTS, 8, tmp_path)
    assert files(tmp_path) == made
    TokenisedTexts(tokenizer, TEXTS, 9, tmp_path)
    TokenisedTexts(tokenizer, TEXTS[:-1], 8, tmp_path)
    TokenisedTexts(tokenizer, [*TEXTS[:2], TEXTS[2] + TEXTS[3], *TEXTS[4:]], 8, tmp_path)
    tokenizer.add_tokens(["w1 w2"])
    TokenisedTexts(tokenizer, TEXTS, 8, tmp_path)
    assert len(list(tmp_path.iterdir())) == 5
    assert {name: files(tmp_path)[name] for name in made} == made


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["ids.npy", "offsets.npy", "whole.json"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_what_is_not_as_it_was_written_is_made_again(
    tmp_path: Path, name: str, damage: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    before = TokenisedTexts(tiny_tokenizer(), TEXTS, 8, tmp_path).batch(range(len(TEXTS)))
    (folder,) = tmp_path.iterdir()
    record = json.loads((folder / "whole.json").read_text())
    damage(folder / name)
    after = TokenisedTexts(tiny_tokenizer(), TEXTS, 8, tmp_path).batch(range(len(TEXTS)))
    assert torch.equal(after["input_ids"], before["input_ids"])
    assert json.loads((folder / "whole.json").read_text()) == record
    assert caplog.text.count(f"{folder}: not the tokens that were written; made again") == 1


def test_tokenising_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space left"):
        TokenisedTexts(tiny_tokenizer(), TEXTS, 8, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_only_the_places_asked_for_are_tokenised(tmp_path: Path) -> None:
    texts = TokenisedTexts(tiny_tokenizer(), TEXTS, 8, tmp_path, places=np.array([0, 2, 3]))
    (folder,) = tmp_path.iterdir()
    # [CLS] w1 w2 w3 [SEP], [CLS] w4 [SEP], [CLS] [UNK] w5 [SEP]; w0 is 5.
    assert np.load(folder / "ids.npy").tolist() == [2, 6, 7, 8, 3, 2, 9, 3, 2, 1, 10, 3]
    assert np.load(folder / "offsets.npy").tolist() == [0, 5, 8, 12]
    assert texts.batch([3, 0])["input_ids"].tolist() == [[2, 1, 10, 3, 0], [2, 6, 7, 8, 3]]
    for place in (1, 4):
        with pytest.raises(IndexError):
            texts.batch([0, place])


def test_large_vocabularies_take_four_bytes_an_id(tmp_path: Path) -> None:
    tokenizer = tiny_tokenizer()
    assert len(tokenizer) == 45
    tokenizer.add_tokens([AddedToken(f"added{i}", normalized=False) for i in range(65_500)])
    texts = TokenisedTexts(tokenizer, ["w0 added65499"], 8, tmp_path)
    assert texts.batch([0])["input_ids"].tolist() == [[2, 5, 45 + 65_499, 3]]
    assert np.load(next(tmp_path.glob("*/ids.npy"))).dtype == np.uint32
