"""The stages `transfer` and `calibrate`: what they write, from every kind of target."""

import json
from pathlib import Path

import pytest
from transformers import AutoModelForMaskedLM, AutoTokenizer, BertModel

from lexigraft.encoders.masked_lm import save_masked_lm
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_folder
from lexigraft.specs.stages import CalibrateSpec, TransferSpec
from lexigraft.stages import calibrate as calibrate_stage
from lexigraft.stages import transfer as transfer_stage
from lexigraft.stages.job import execute
from lexigraft.transfer.target import load_target
from lexigraft.vocabulary import overlap


@pytest.fixture
def source(tmp_path: Path, byte_bpe, build) -> Path:
    save_masked_lm(build("modernbert", byte_bpe), byte_bpe, tmp_path / "source")
    return tmp_path / "source"


@pytest.fixture
def target(tmp_path: Path, uncased, build) -> Path:
    save_masked_lm(build("bert", uncased), uncased, tmp_path / "target")
    return tmp_path / "target"


@pytest.fixture
def text(tmp_path: Path, sentences) -> Path:
    folder = tmp_path / "text"
    (folder / "text").mkdir(parents=True)
    (folder / "manifest.json").write_text('{"kind": "text", "sets": {}}')
    lines = (json.dumps({"text": sentence}) for sentence in sentences)
    (folder / "text" / "a.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def run_transfer(out: Path, inputs: dict[str, Path], **options: str) -> dict:
    spec = TransferSpec(**{name: path.name for name, path in inputs.items()}, **options)
    execute(spec, inputs, out, transfer_stage.run)
    return json.loads((out / "transfer.json").read_text())


def test_a_transfer_on_disk(source: Path, target: Path, tmp_path: Path, byte_bpe, uncased) -> None:
    out = tmp_path / "out"
    report = run_transfer(out, {"source": source, "target": target})
    shared = overlap(byte_bpe, uncased)
    assert json.loads((out / "new_tokens.json").read_text()) == shared.new_ids.tolist()
    assert report["coverage"] == shared.coverage
    counts = report["kinds"].values()
    assert sum(kind["overlapping"] for kind in counts) == len(shared.target_ids)
    assert sum(kind["new"] for kind in counts) == len(shared.new_ids)
    assert report["kinds"]["special"] == {"overlapping": 5, "new": 0}
    assert report["bias"]["prior"] == "output bias of the target model"
    assert len(AutoTokenizer.from_pretrained(out)) == len(uncased)
    assert AutoModelForMaskedLM.from_pretrained(out).config.vocab_size == len(uncased)
    page = (out / "transfer.md").read_text()
    assert f"{100 * shared.coverage:.1f} %" in page
    for example in report["examples"]:
        assert f"`{example['token']}`" in page
        assert 0 < sum(anchor["weight"] for anchor in example["anchors"]) <= 1.001
    assert (out / "transfer.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "transfer.svg").stat().st_size > 2000


def test_the_same_transfer_is_the_same_bytes(source: Path, target: Path, tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "two"):
        out = tmp_path / name
        run_transfer(out, {"source": source, "target": target}, initialisation="random_new")
        for record in ("provenance.json", "spec.json"):  # They tell when, and under which name.
            (out / record).unlink()
        hashes.append(sha256_folder(out))
    assert hashes[0] == hashes[1]


def test_a_bare_encoder_needs_text_for_priors(
    source: Path, text: Path, tmp_path: Path, uncased, build, sentences
) -> None:
    folder = tmp_path / "encoder"
    BertModel(build("bert", uncased).config).save_pretrained(folder)
    uncased.save_pretrained(folder)
    inputs = {"source": source, "target": folder}
    with pytest.raises(LexigraftError, match="no output bias"):
        run_transfer(tmp_path / "out", inputs)
    assert not (tmp_path / "out").exists()
    report = run_transfer(tmp_path / "out", {**inputs, "text": text})
    assert report["bias"]["texts_counted"] == len(sentences)
    assert "log unigram frequencies" in (tmp_path / "out" / "transfer.md").read_text()


def test_a_tokenizer_alone_is_a_target_without_an_embedding_space(
    source: Path, text: Path, tmp_path: Path, uncased
) -> None:
    folder = tmp_path / "vocabulary"
    uncased.save_pretrained(folder)
    inputs = {"source": source, "target": folder, "text": text}
    report = run_transfer(tmp_path / "out", inputs, initialisation="subtoken")
    assert report["support_of_new_tokens"] is None
    with pytest.raises(LexigraftError, match=r"target's embeddings.*subtoken"):
        run_transfer(tmp_path / "other", inputs, initialisation="semantic")


def test_a_space_gives_a_tokenizer_alone_its_neighbours(
    source: Path, target: Path, text: Path, tmp_path: Path, uncased
) -> None:
    folder = tmp_path / "vocabulary"
    uncased.save_pretrained(folder)
    inputs = {"source": source, "target": folder, "text": text, "space": target}
    report = run_transfer(tmp_path / "out", inputs)
    assert report["support_of_new_tokens"]["smallest"] >= 1
    assert report["tokens_in_space"] == {"own": len(uncased), "written": 0, "absent": 0}
    page = (tmp_path / "out" / "transfer.md").read_text()
    assert f"in the input embeddings of target, where {len(uncased)} target tokens are" in page


def test_a_space_that_would_not_be_read_is_refused(
    source: Path, target: Path, tmp_path: Path
) -> None:
    inputs = {"source": source, "target": target, "space": target}
    with pytest.raises(LexigraftError, match="initialisation subtoken looks for no neighbours"):
        run_transfer(tmp_path / "out", inputs, initialisation="subtoken")
    assert not (tmp_path / "out").exists()


def test_a_model_is_not_transferred_to_itself(source: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match="source and target are the same"):
        run_transfer(tmp_path / "out", {"source": source, "target": source})


def test_targets_that_cannot_be_read(target: Path, tmp_path: Path, uncased, build) -> None:
    with pytest.raises(LexigraftError, match="no such folder"):
        load_target(tmp_path / "nowhere")
    BertModel(build("bert", uncased).config).save_pretrained(tmp_path / "encoder")
    uncased.save_pretrained(tmp_path / "encoder")
    (tmp_path / "encoder" / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(LexigraftError, match=r"encoder: .*(corrupt|loadable)"):
        load_target(tmp_path / "encoder")


def test_a_calibration_on_disk(source: Path, text: Path, tmp_path: Path, sentences) -> None:
    (source / "new_tokens.json").write_text("[1, 2]")
    out = tmp_path / "out"
    spec = CalibrateSpec(model="m", text="t", method="rate", rate=0.3, probes=4, length=32)
    execute(spec, {"model": source, "text": text}, out, calibrate_stage.run)
    record = json.loads((out / "calibrate.json").read_text())
    assert record["probe_documents"] == 4
    assert record["after"]["activation_rate"] == pytest.approx(0.3, abs=1e-3)
    for when in ("before", "after"):
        facts = record[when]
        assert sum(facts["histogram"]["counts"]) == 4 * record["vocabulary"]
        expected = facts["activation_rate"] * record["vocabulary"]
        assert facts["active_entries_per_document"] == pytest.approx(expected)
        assert set(facts["health"]) == {"active_share", "mean_cosine", "verdict"}
    assert json.loads((out / "new_tokens.json").read_text()) == [1, 2]
    before = AutoModelForMaskedLM.from_pretrained(source).decoder.bias
    after = AutoModelForMaskedLM.from_pretrained(out).decoder.bias
    assert float((before - after).detach().mean()) == pytest.approx(record["shift"], rel=1e-4)
    assert (out / "calibrate.png").read_bytes().startswith(b"\x89PNG")
