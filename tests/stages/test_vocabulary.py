"""Stage `vocabulary`, and a tiny real model that is moved to what it writes and adapted."""

import json
import logging
from pathlib import Path

import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer

from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file, write_json
from lexigraft.specs.stages import BackboneSpec, MlmSpec, TransferSpec, VocabularySpec
from lexigraft.stages import backbone, mlm, transfer, vocabulary
from lexigraft.stages.job import execute

TEXTS = [f"Naïve row {i} of the DataFrame, reheated: heat {i % 7} of the Heat" for i in range(60)]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("collection")
    (folder / "text").mkdir()
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (folder / "text" / "0.jsonl").write_text(lines)
    write_json(folder / "manifest.json", {"kind": "text", "sets": {}})
    return folder


def train(collection: Path, out: Path, size: int) -> Path:
    execute(VocabularySpec(text="text", size=size), {"text": collection}, out, vocabulary.run)
    return out


def test_a_vocabulary_is_normalised_as_berts_and_the_same_each_time(
    collection: Path, tmp_path: Path
) -> None:
    out = train(collection, tmp_path / "one", 280)
    tokenizer = AutoTokenizer.from_pretrained(out)
    assert len(tokenizer) == 280
    assert tokenizer.tokenize(" NAÏVE Heat") == tokenizer.tokenize(" naive heat")
    assert not [token for token in tokenizer.get_vocab() if "eat" in token and "H" in token]
    assert sha256_file(train(collection, tmp_path / "two", 280) / "tokenizer.json") == sha256_file(
        out / "tokenizer.json"
    )
    record = json.loads((out / "vocabulary.json").read_text())
    # Twelve words a text by white space: Naïve row 0 of the DataFrame, reheated: heat 0 of the Heat
    assert record["training_words"] == 12 * len(TEXTS)
    assert record["training_fragmentation"] == record["training_tokens"] / record["training_words"]
    assert not (out / "config.json").exists()


def test_a_text_that_yields_fewer_tokens_is_told(
    collection: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        tokenizer = AutoTokenizer.from_pretrained(train(collection, tmp_path / "out", 5000))
    assert f"the text yields {len(tokenizer)} tokens of the 5000 asked for" in caplog.text


def test_larger_vocabularies_break_fewer_words(collection: Path, tmp_path: Path) -> None:
    rates = []
    for size in (270, 290, 310):
        out = train(collection, tmp_path / str(size), size)
        rates.append(json.loads((out / "vocabulary.json").read_text())["training_fragmentation"])
    assert rates[0] > rates[1] > rates[2] > 1


def test_a_model_is_moved_to_it_and_adapted(collection: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    tiny = {"layers": 1, "hidden_size": 16, "heads": 2, "intermediate_size": 32, "positions": 32}
    budget = {"steps": 2, "batch_size": 4, "length": 16, "warmup_steps": 1}
    spec = BackboneSpec(
        origin="pretrain",
        architecture="modernbert",
        tokenizer="byte_bpe",
        lowercase=False,
        vocabulary_size=300,
        corpus="text",
        **tiny,
        **budget,
    )
    execute(spec, {"corpus": collection}, source, backbone.run)
    target = train(collection, tmp_path / "target", 290)
    moved = tmp_path / "moved"
    execute(
        TransferSpec(source="s", target="t", text="c", initialisation="subtoken"),
        {"source": source, "target": target, "text": collection},
        moved,
        transfer.run,
    )
    report = json.loads((moved / "transfer.json").read_text())
    assert report["target_tokens"] == 290
    assert report["bias"]["prior"] == "log unigram frequencies of the text"
    assert report["bias"]["texts_counted"] == len(TEXTS)
    # The bytes from 0x80 on, which are no text alone; the source writes every other token.
    assert report["fallbacks"]["count"] == 128
    adapted = tmp_path / "adapted"
    spec = MlmSpec(model="m", text="t", **budget)
    execute(spec, {"model": moved, "text": collection}, adapted, mlm.run)
    assert AutoModelForMaskedLM.from_pretrained(adapted).config.vocab_size == 290
    assert AutoTokenizer.from_pretrained(adapted).tokenize("HEAT") == (
        AutoTokenizer.from_pretrained(target).tokenize("heat")
    )


def test_a_size_below_the_alphabet_is_refused(collection: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="size: found 260; allowed: 261 or more with byte_bpe"):
        train(collection, tmp_path / "out", 260)
    assert not (tmp_path / "out").exists()
