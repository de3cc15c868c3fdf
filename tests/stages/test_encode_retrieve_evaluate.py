"""From a model and a collection to metrics, through the three stages and by hand."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from lexigraft.encoders.saving import save_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_folder
from lexigraft.specs.stages import EncodeSpec, EvaluateSpec, RetrieveSpec
from lexigraft.stages import encode, evaluate, retrieve
from lexigraft.stages.job import execute
from lexigraft.stages.standalone import evaluate_bm25, evaluate_model

WORDS = [f"w{i}" for i in range(40)]
DOCUMENTS = {f"d{i}": f"w{i} w{(i * 7) % 40} w{(i * 3) % 40}" for i in range(40)}
QUERIES = {"q1": "w7", "q2": "w11 w12", "3": "w5", "hopeless": "w1", "gone": "w2"}
QRELS = {
    "q1": {"d7": 2, "d1": 1},
    "q2": {"d12": 1},
    "3": {"d5": 1},
    "hopeless": {"d0": 0},
    "gone": {"missing": 1},
}


def write_beir(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": i, "title": "", "text": t}) for i, t in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    lines = [json.dumps({"_id": i, "text": t}) for i, t in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    rows = [f"{q}\t{d}\t{g}" for q, grades in QRELS.items() for d, g in grades.items()]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows))


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "collection"
    for name in ("one", "two"):
        write_beir(folder / "sets" / name)
    (folder / "manifest.json").write_text(
        json.dumps({"kind": "beir", "sets": {"one": {}, "two": {}}})
    )
    return folder


def save_model(
    folder: Path,
    head: str = "splade",
    bias: float = -1.0,
    query_weights: dict[str, float] | None = None,
) -> Path:
    """A model whose decoder answers each token with itself: a lexical matcher.

    With `query_weights`, queries are the bag of their tokens, 0 for those that are not named.
    """
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    ids = {token: i for i, token in enumerate(vocabulary)}
    backend = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=32,
    )
    width = len(vocabulary)
    config = BertConfig(
        vocab_size=width,
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=32,
        hidden_act="relu",
        tie_word_embeddings=False,
    )
    model = BertForMaskedLM(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.zero_()
            if name.endswith("LayerNorm.weight"):
                parameter.fill_(1.0)
        model.bert.embeddings.word_embeddings.weight.copy_(torch.eye(width))
        transform = model.cls.predictions.transform
        transform.dense.weight.copy_(torch.eye(width))
        model.get_output_embeddings().weight.copy_(torch.eye(width))
        # [CLS] and [SEP] are in every text and would match everything.
        model.get_output_embeddings().weight[:4] = 0
        model.get_output_embeddings().bias.fill_(bias)
    weights = None
    if query_weights is not None:
        weights = torch.tensor([query_weights.get(token, 0.0) for token in vocabulary])
    save_encoder(model, tokenizer, folder, head, 16, 16, query_weights=weights)
    return folder


def run_stages(model: Path, collection: Path, out: Path, **options: Any) -> dict:
    inputs = {"model": model, "collection": collection}
    spec = EncodeSpec(model="m", collection="c", query_length=16, document_length=16, **options)
    execute(spec, inputs, out / "vectors", encode.run)
    inputs = {"collection": collection, "vectors": out / "vectors"}
    execute(RetrieveSpec(collection="c", vectors="v"), inputs, out / "run", retrieve.run)
    inputs = {"collection": collection, "run": out / "run"}
    execute(EvaluateSpec(collection="c", run="r"), inputs, out / "metrics", evaluate.run)
    return json.loads((out / "metrics" / "metrics.json").read_text())["sets"]


def test_a_lexical_matcher_through_all_stages(collection: Path, tmp_path: Path) -> None:
    sets = run_stages(save_model(tmp_path / "model"), collection, tmp_path)
    assert list(sets) == ["one", "two"]
    facts = sets["one"]
    # w7 is in d7 (i), d1 (i * 7) and d29 (i * 3 = 87): d1 and d29 have three words, d7 too.
    assert facts["queries"] == 5
    assert facts["recall@100"] == pytest.approx((1 + 1 + 1 + 0 + 0) / 5)
    assert (facts["queries_without_relevant"], facts["missing_documents"]) == (1, 1)
    distinct = [len(set(text.split())) for text in DOCUMENTS.values()]
    assert facts["document_length"] == pytest.approx(sum(distinct) / len(distinct))
    assert facts["query_length"] == pytest.approx(6 / 5)
    overlap = sum(
        len(set(q.split()) & set(d.split())) for q in QUERIES.values() for d in DOCUMENTS.values()
    )
    assert facts["flops"] == pytest.approx(overlap / (len(QUERIES) * len(DOCUMENTS)))
    assert facts["health"]["verdict"] == "healthy"
    table = pd.read_parquet(tmp_path / "metrics" / "per_query.parquet")
    assert len(table) == 2 * 4 * 5
    mean = table[(table["set"] == "one") & (table["metric"] == "mrr@10")]["value"].mean()
    assert mean == pytest.approx(facts["mrr@10"])
    encoded = json.loads((tmp_path / "vectors" / "encode.json").read_text())
    assert encoded["sets"]["two"]["flops"] == facts["flops"]
    # The workflow removes vectors once they are searched: a ranking still leads to its model.
    made = json.loads((tmp_path / "run" / "provenance.json").read_text())
    assert made["inputs"]["vectors"]["provenance"]["inputs"]["model"]["name"] == "model"
    rankings = pd.read_parquet(tmp_path / "run" / "rankings.parquet")
    found = rankings[(rankings["set"] == "one") & (rankings["query"] == "q1")]
    assert sorted(found["document"]) == ["d1", "d29", "d7"]


def test_inference_free_queries_through_all_stages(collection: Path, tmp_path: Path) -> None:
    model = save_model(tmp_path / "model", query_weights={"w11": 1.0, "w12": 3.0})
    facts = run_stages(model, collection, tmp_path)["one"]
    rankings = pd.read_parquet(tmp_path / "run" / "rankings.parquet")
    found = rankings[(rankings["set"] == "one") & (rankings["query"] == "q2")]
    # i, 7 i and 3 i modulo 40: w12 is in d12, d36 and d4, w11 in d11, d13 and d17.
    assert set(found["document"][:3]) == {"d12", "d36", "d4"}
    assert set(found["document"][3:]) == {"d11", "d13", "d17"}
    # The other four queries have no token of any weight.
    assert (facts["queries_unanswered"], facts["query_length"]) == (4, 2 / 5)
    # Two entries, each active in one query of five and in three documents of 40.
    assert facts["flops"] == pytest.approx(2 * 1 / 5 * 3 / 40)
    by_hand = evaluate_model(
        model=model, dataset=collection / "sets" / "one", out=tmp_path / "by-hand"
    )
    assert by_hand == facts


def test_dead_outputs_end_as_zeros_that_say_why(
    collection: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    facts = run_stages(save_model(tmp_path / "model", bias=-50.0), collection, tmp_path)["two"]
    assert [facts[m] for m in ("ndcg@10", "mrr@10", "recall@1000")] == [0.0, 0.0, 0.0]
    assert (facts["queries_unanswered"], facts["document_length"]) == (5, 0.0)
    assert facts["health"]["verdict"] == "dead outputs"
    assert "two, documents: dead outputs (share active 0)" in caplog.messages


def test_a_dense_model_has_no_lengths(collection: Path, tmp_path: Path) -> None:
    facts = run_stages(save_model(tmp_path / "model", "dense"), collection, tmp_path)["one"]
    assert (facts["document_length"], facts["query_length"], facts["flops"]) == (None, None, None)
    assert facts["recall@1000"] == pytest.approx(3 / 5)


def test_bm25_needs_no_vectors(collection: Path, tmp_path: Path) -> None:
    spec = RetrieveSpec(collection="c", engine="bm25", depth=2)
    execute(spec, {"collection": collection}, tmp_path / "run", retrieve.run)
    record = json.loads((tmp_path / "run" / "retrieve.json").read_text())
    assert (record["k1"], record["b"]) == (0.9, 0.4)
    assert record["sets"]["one"]["document_length"] is None
    inputs = {"collection": collection, "run": tmp_path / "run"}
    execute(EvaluateSpec(collection="c", run="r"), inputs, tmp_path / "metrics", evaluate.run)
    facts = json.loads((tmp_path / "metrics" / "metrics.json").read_text())["sets"]["one"]
    assert facts["flops"] is None
    assert facts["mrr@10"] > 0


def test_an_approximate_engine_is_held_against_exact_search(
    collection: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    exact = run_stages(save_model(tmp_path / "model"), collection, tmp_path)["one"]
    assert (exact["engine_recall"], exact["engine_recall@10"]) == (None, None)
    inputs = {"collection": collection, "vectors": tmp_path / "vectors"}

    def searched(name: str, **options: Any) -> dict:
        spec = RetrieveSpec(collection="c", vectors="v", engine="seismic", **options)
        execute(spec, inputs, tmp_path / f"run-{name}", retrieve.run)
        record = json.loads((tmp_path / f"run-{name}" / "retrieve.json").read_text())
        assert record["query_cut"] == spec.query_cut
        assert "k1" not in record
        spec = EvaluateSpec(collection="c", run="r")
        inputs_ = {"collection": collection, "run": tmp_path / f"run-{name}"}
        execute(spec, inputs_, tmp_path / f"metrics-{name}", evaluate.run)
        return json.loads((tmp_path / f"metrics-{name}" / "metrics.json").read_text())["sets"]

    found = searched("whole")["one"]
    recalls = {"engine_recall": 1.0, "engine_recall@10": 1.0}
    assert found == exact | recalls
    told = "one: seismic finds 100.0% of exact search's best 10 documents and 100.0% of its best"
    assert f"{told} 1,000" in caplog.messages
    # Of two words one is read: q2 finds the documents of one of w11 and w12, of five queries.
    found = searched("cut", query_cut=1)["one"]
    with_11, with_12 = (
        {name for name, text in DOCUMENTS.items() if word in text.split()}
        for word in ("w11", "w12")
    )
    possible = [(4 + len(part) / len(with_11 | with_12)) / 5 for part in (with_11, with_12)]
    assert found["engine_recall"] in [pytest.approx(value) for value in possible]
    warned = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert any("less than 97%: raise query_cut or n_postings" in line for line in warned)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "'sets' is missing, a JSON object is needed"),
        ("[]", "list found, a JSON object is needed"),
        ('{"sets": {}}', "the set 'one' was not searched"),
        ('{"sets": {"one": 3}}', "sets: 'one' is 3, a JSON object is needed"),
    ],
)
def test_a_record_of_no_search_is_refused(
    collection: Path, tmp_path: Path, text: str, told: str
) -> None:
    spec = RetrieveSpec(collection="c", engine="bm25", depth=2)
    execute(spec, {"collection": collection}, tmp_path / "run", retrieve.run)
    (tmp_path / "run" / "retrieve.json").write_text(text)
    inputs = {"collection": collection, "run": tmp_path / "run"}
    with pytest.raises(LexigraftError, match=rf"retrieve\.json: {told}"):
        execute(EvaluateSpec(collection="c", run="r"), inputs, tmp_path / "metrics", evaluate.run)


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("qrels/test.tsv", "q1\td0\t0\nq2\td1\t-1\n", "no document is judged relevant"),
        ("queries.jsonl", '{"_id": "q1", "text": " "}\n', "no query has any text"),
        ("qrels/test.tsv", "q1\td0\t0\nq2\td12\t1\n", ""),
    ],
)
def test_a_set_that_can_only_score_nothing_is_told(
    collection: Path, tmp_path: Path, caplog, file: str, text: str, told: str
) -> None:
    dataset = collection / "sets" / "one"
    (dataset / file).write_text(text)
    facts = evaluate_bm25(dataset=dataset, out=tmp_path / "out")
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert any(told in line for line in warnings if line.startswith("one: ")) == bool(told)
    assert (facts["mrr@10"] == 0) or not told


def test_vectors_of_another_collection_are_refused(collection: Path, tmp_path: Path) -> None:
    run_stages(save_model(tmp_path / "model"), collection, tmp_path)
    corpus = collection / "sets" / "two" / "corpus.jsonl"
    corpus.write_text(corpus.read_text() + '\n{"_id": "new", "title": "", "text": "w3"}')
    inputs = {"collection": collection, "vectors": tmp_path / "vectors"}
    with pytest.raises(LexigraftError, match="vectors of 40 documents that are not the 41"):
        execute(RetrieveSpec(collection="c", vectors="v"), inputs, tmp_path / "again", retrieve.run)
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("head", ["splade", "dense"])
def test_documents_in_fewer_bytes(collection: Path, tmp_path: Path, head: str) -> None:
    """Weights that differ little enough for the rankings to stay; what is measured is stored."""
    model = save_model(tmp_path / "model", head)
    whole = run_stages(model, collection, tmp_path)["one"]
    small = run_stages(model, collection, tmp_path / "int8", values="int8")["one"]
    folder = tmp_path / "int8" / "vectors" / "one"
    assert json.loads((folder / "documents.json").read_text())["values"] == "int8"
    assert json.loads((folder / "queries.json").read_text())["values"] == "float32"
    assert small["document_bytes"] < whole["document_bytes"]
    assert small["document_length"] == whole["document_length"]
    assert small["recall@1000"] == whole["recall@1000"]


def test_fragmentation_is_of_whole_texts_under_the_encoders_tokenizer(
    collection: Path, tmp_path: Path
) -> None:
    # 40 documents of 3 words and 5 queries of 6 in all, a token each; in the other set one more
    # document of 21 words, the last of three tokens, which is longer than the encoder's 16.
    corpus = collection / "sets" / "two" / "corpus.jsonl"
    text = "w3 " * 20 + "w7-w9"
    corpus.write_text(f'{corpus.read_text()}\n{{"_id": "new", "title": "", "text": "{text}"}}')
    found = run_stages(save_model(tmp_path / "model"), collection, tmp_path)
    assert found["one"]["fragmentation"] == 1.0
    assert found["two"]["fragmentation"] == (120 + 6 + 23) / (120 + 6 + 21)


def test_by_hand_gives_what_the_stages_give(collection: Path, tmp_path: Path) -> None:
    model = save_model(tmp_path / "model")
    staged = run_stages(model, collection, tmp_path)["one"]
    facts = evaluate_model(
        model=model, dataset=collection / "sets" / "one", out=tmp_path / "by-hand"
    )
    assert facts == staged
    written = json.loads((tmp_path / "by-hand" / "metrics.json").read_text())
    assert written == {"sets": {"one": staged}}
    assert sorted(p.name for p in (tmp_path / "by-hand").iterdir()) == [
        "metrics.json",
        "per_query.parquet",
        "provenance.json",
        "rankings.parquet",
        "retrieve.json",
    ]
    assert not (tmp_path / ".by-hand.checkpoints").exists()
    provenance = json.loads((tmp_path / "by-hand" / "provenance.json").read_text())
    weights = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    assert provenance["inputs"]["model"] == {"name": "model", "model.safetensors": weights}
    assert {"corpus.jsonl", "queries.jsonl"} <= provenance["inputs"]["dataset"].keys()
    made = json.loads((tmp_path / "by-hand" / "retrieve.json").read_text())
    assert (made["model"], made["split"]) == (str(model), "test")
    dataset = collection / "sets" / "one"
    facts = evaluate_model(
        model=model, dataset=dataset, engine="seismic", out=tmp_path / "approximate"
    )
    assert facts == staged | {"engine_recall": 1.0, "engine_recall@10": 1.0}
    made = json.loads((tmp_path / "approximate" / "retrieve.json").read_text())
    assert (made["engine"], made["depth"], made["n_postings"]) == ("seismic", 1000, 3000)


def test_by_hand_lengths_can_be_stated(collection: Path, tmp_path: Path) -> None:
    model, dataset = save_model(tmp_path / "model"), collection / "sets" / "one"
    whole = evaluate_model(model=model, dataset=dataset, out=tmp_path / "whole")
    cut = evaluate_model(model=model, dataset=dataset, out=tmp_path / "cut", document_length=3)
    assert cut["document_length"] < whole["document_length"]
    made = json.loads((tmp_path / "cut" / "retrieve.json").read_text())
    assert made["document_length"] == 3
    with pytest.raises(LexigraftError, match="--query-length: found -1; allowed: 0 or more"):
        evaluate_model(model=model, dataset=dataset, out=tmp_path / "no", query_length=-1)


def test_by_hand_refuses_in_one_sentence(collection: Path, tmp_path: Path) -> None:
    dataset, out = collection / "sets" / "one", tmp_path / "out"
    with pytest.raises(LexigraftError, match="no such folder"):
        evaluate_model(model=tmp_path / "none", dataset=dataset, out=out)
    model = save_model(tmp_path / "model")
    with pytest.raises(LexigraftError, match="engine: 'exakt' found"):
        evaluate_model(model=model, dataset=dataset, engine="exakt", out=out)
    dense = save_model(tmp_path / "dense", "dense")
    with pytest.raises(LexigraftError, match="seismic searches sparse vectors, these are dense"):
        evaluate_model(model=dense, dataset=dataset, engine="seismic", out=out)
    with pytest.raises(LexigraftError, match="bm25 needs no model"):
        evaluate_model(model=model, dataset=dataset, engine="bm25", out=out)
    with pytest.raises(LexigraftError, match=r"dev\.tsv: no such file"):
        evaluate_bm25(dataset=dataset, split="dev", out=out)
    (dataset / "corpus.jsonl").write_text("")
    with pytest.raises(LexigraftError, match=r"corpus\.jsonl"):
        evaluate_bm25(dataset=dataset, out=out)
    assert not out.exists()


CHILD = """
import sys, time
from pathlib import Path
from typing import Any
from lexigraft.encoders import streaming
from lexigraft.specs.stages import EncodeSpec
from lexigraft.stages import encode
from lexigraft.stages.job import execute
streaming.SHARD_TEXTS = 16
real = streaming.write_shard
def slow(*arguments):
    real(*arguments)
    time.sleep(float(sys.argv[4]))
streaming.write_shard = slow
spec = EncodeSpec(model="m", collection="c", query_length=16, document_length=16)
inputs = {"model": Path(sys.argv[1]), "collection": Path(sys.argv[2])}
execute(spec, inputs, Path(sys.argv[3]), encode.run)
"""


@pytest.mark.slow
def test_a_killed_encode_stage_goes_on(collection: Path, tmp_path: Path) -> None:
    model = save_model(tmp_path / "model")
    command = [sys.executable, "-c", CHILD, str(model), str(collection)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    undisturbed, killed = tmp_path / "a" / "vectors", tmp_path / "b" / "vectors"
    subprocess.run([*command, str(undisturbed), "0"], check=True, env=environment)
    child = subprocess.Popen([*command, str(killed), "3"], env=environment)
    checkpoints = tmp_path / "b" / ".vectors.checkpoints"
    deadline = time.monotonic() + 120
    while len(list(checkpoints.rglob("*.npz"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    assert not killed.exists()
    before = {p: p.stat().st_mtime_ns for p in checkpoints.rglob("*.npz")}
    assert len(before) >= 2
    subprocess.run([*command, str(killed), "0"], check=True, env=environment)
    assert not checkpoints.exists()
    for folder in (undisturbed, killed):
        (folder / "provenance.json").unlink()
    assert sha256_folder(killed) == sha256_folder(undisturbed)
