"""A moved head through the stages: transfer, mlm (EMLM and SAP), calibrate, finetune, encode."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file
from sentence_transformers import SparseEncoder
from transformers import AutoTokenizer

from lexigraft.encoders.loading import load_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import write_json
from lexigraft.specs.stages import (
    BackboneSpec,
    CalibrateSpec,
    FinetuneSpec,
    MlmSpec,
    TransferSpec,
)
from lexigraft.stages import backbone, calibrate, finetune, mlm, transfer
from lexigraft.stages.job import execute

SOURCE = BackboneSpec(
    origin="pretrain",
    architecture="modernbert",
    tokenizer="byte_bpe",
    lowercase=False,
    vocabulary_size=320,
    layers=1,
    hidden_size=16,
    heads=2,
    intermediate_size=32,
    positions=32,
    steps=3,
    batch_size=4,
    length=16,
    warmup_steps=1,
    corpus="text",
)
TARGET = replace(
    SOURCE, architecture="bert", tokenizer="wordpiece", lowercase=True, vocabulary_size=150
)
ADAPT = MlmSpec(
    model="m", text="t", steps=3, batch_size=8, length=16, learning_rate=1e-2, trains="head"
)
TEXTS = [f"Row {i} of the Array holds value {i * i} and Heat {i % 7}" for i in range(80)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("head")
    collection = root / "text"
    (collection / "text").mkdir(parents=True)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in TEXTS)
    (collection / "text" / "0.jsonl").write_text(lines)
    write_json(collection / "manifest.json", {"kind": "text", "sets": {}})
    for name, spec in (("source", SOURCE), ("target", TARGET)):
        execute(spec, {"corpus": collection}, root / name, backbone.run)
    inputs = {"source": root / "source", "target": root / "target", "text": collection}
    spec = TransferSpec(source="s", target="t", text="x", part="head")
    execute(spec, inputs, root / "moved", transfer.run)
    return root


def adapted(folders: Path, out: Path, spec: MlmSpec) -> dict[str, object]:
    inputs = {"model": folders / "moved", "text": folders / "text"}
    if spec.teacher:
        inputs["teacher"] = folders / spec.teacher
    execute(spec, inputs, out, mlm.run)
    return json.loads((out / "mlm.json").read_text())


def test_the_transferred_folder_keeps_both_tokenizers(folders: Path) -> None:
    moved = folders / "moved"
    report = json.loads((moved / "transfer.json").read_text())
    assert report["part"] == "head"
    assert "The output head alone" in (moved / "transfer.md").read_text()
    assert not (moved / "new_tokens.json").exists()
    own, terms = (AutoTokenizer.from_pretrained(f) for f in (moved, moved / "output_tokenizer"))
    assert own.get_vocab() == AutoTokenizer.from_pretrained(folders / "source").get_vocab()
    assert terms.get_vocab() == AutoTokenizer.from_pretrained(folders / "target").get_vocab()


@pytest.mark.parametrize(("objective", "teacher"), [("emlm", ""), ("sap", "target")])
def test_from_transfer_to_vectors(
    objective: str, teacher: str, folders: Path, tmp_path: Path
) -> None:
    spec = replace(ADAPT, objective=objective, teacher=teacher)
    record = adapted(folders, tmp_path / "adapted", spec)
    assert record["objective"] == objective
    before, after = (
        load_file(f / "model.safetensors") for f in (folders / "moved", tmp_path / "adapted")
    )
    moved = {name for name in before if not before[name].equal(after[name])}
    assert moved == {"decoder.weight", "decoder.bias"}

    probe = CalibrateSpec(model="m", text="t", method="rate", rate=0.3, probes=8, length=16)
    inputs = {"model": tmp_path / "adapted", "text": folders / "text"}
    execute(probe, inputs, tmp_path / "calibrated", calibrate.run)
    measured = json.loads((tmp_path / "calibrated" / "calibrate.json").read_text())
    assert measured["vocabulary"] == TARGET.vocabulary_size
    assert measured["after"]["activation_rate"] == pytest.approx(0.3, abs=1e-3)

    encoder = load_encoder(tmp_path / "calibrated")
    ours = encoder.encode(TEXTS[:5], 16).toarray()
    assert ours.shape == (5, TARGET.vocabulary_size)
    peer = SparseEncoder(str(tmp_path / "calibrated"), device="cpu")
    peer.max_seq_length = 16
    theirs = peer.encode_document(TEXTS[:5], convert_to_sparse_tensor=False).numpy()
    np.testing.assert_allclose(theirs[:, : ours.shape[1]], ours, rtol=1e-5, atol=1e-6)
    assert not theirs[:, ours.shape[1] :].any()


def test_a_moved_head_is_fine_tuned(folders: Path, tmp_path: Path) -> None:
    from lexigraft.corpora.collection import write_manifest, write_negatives
    from lexigraft.corpora.records import write_objects

    train = tmp_path / "pairs" / "train"
    (train / "qrels").mkdir(parents=True)
    rows = [{"_id": str(i), "title": "", "text": text} for i, text in enumerate(TEXTS)]
    write_objects(train / "corpus.jsonl", rows)
    asked = [{"_id": f"q{i}", "text": f"value {i * i}"} for i in range(20)]
    write_objects(train / "queries.jsonl", asked)
    judged = "".join(f"q{i}\t{i}\t1\n" for i in range(20))
    (train / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    write_negatives(train / "negatives.jsonl", {f"q{i}": [str(i + 20)] for i in range(20)})
    write_manifest(tmp_path / "pairs", "docstrings", {}, {"pairs": 20})
    spec = FinetuneSpec(
        model="m",
        corpus="c",
        objective="info_nce",
        steps=2,
        batch_size=4,
        query_length=16,
        document_length=16,
        warmup_steps=1,
        flops_ramp_steps=1,
    )
    inputs = {"model": folders / "moved", "corpus": tmp_path / "pairs"}
    with pytest.raises(LexigraftError, match="query_encoder: found uniform, but"):
        execute(replace(spec, query_encoder="uniform"), inputs, tmp_path / "no", finetune.run)
    execute(spec, inputs, tmp_path / "tuned", finetune.run)
    encoder = load_encoder(tmp_path / "tuned")
    assert encoder.dimensions == TARGET.vocabulary_size
    assert encoder.term_tokenizer.get_vocab().keys() == (
        AutoTokenizer.from_pretrained(folders / "target").get_vocab().keys()
    )


def test_objectives_that_do_not_fit_are_refused(folders: Path, tmp_path: Path) -> None:
    with pytest.raises(LexigraftError, match=r"--objective: found mlm.* allowed: emlm, sap"):
        adapted(folders, tmp_path / "out", ADAPT)
    with pytest.raises(LexigraftError, match="--teacher: none given"):
        adapted(folders, tmp_path / "out", replace(ADAPT, objective="sap"))
    with pytest.raises(LexigraftError, match="a teacher with the same vocabulary"):
        adapted(folders, tmp_path / "out", replace(ADAPT, objective="sap", teacher="source"))
    assert not (tmp_path / "out").exists()
