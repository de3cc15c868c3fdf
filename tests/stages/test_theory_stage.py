"""The theory stage on a tiny real model: a collection, a BEIR folder by hand, and refusals."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM
from typer.testing import CliRunner

from lexigraft.analysis.theory.record import PER_DRAW
from lexigraft.cli import app
from lexigraft.encoders.loading import load_encoder
from lexigraft.encoders.saving import save_encoder
from lexigraft.errors import LexigraftError
from lexigraft.files import read_json
from lexigraft.report.results import Results
from lexigraft.specs.stages import TheorySpec
from lexigraft.stages import theory
from lexigraft.stages.job import execute
from lexigraft.vocabulary.training import train_tokenizer

DOCUMENTS = {
    "d1": "Heat flows from the hot body to the cold body.",
    "d2": "The Sun heats the sea and the Sea cools at night.",
    "d3": "Sparse matrices hold few entries; Sparse solvers use that.",
    "d4": "A graph has nodes; the Graph of a matrix has edges.",
}
QUERIES = {"q1": "where heat flows", "q2": "The sea at night", "q3": "Sparse solvers"}
QRELS = {"q1": {"d1": 1, "d4": 0}, "q2": {"d2": 2}, "q3": {"d3": 1, "gone": 1}}


def write_beir(folder: Path, qrels: dict[str, dict[str, int]] = QRELS) -> Path:
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": i, "title": "", "text": t}) for i, t in DOCUMENTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    lines = [json.dumps({"_id": i, "text": t}) for i, t in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    rows = [f"{q}\t{d}\t{g}" for q, grades in qrels.items() for d, g in grades.items()]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows))
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("model"), "splade")


def save_model(folder: Path, head: str, bias: float = 0.0) -> Path:
    tokenizer = train_tokenizer("wordpiece", False, 150, [*DOCUMENTS.values(), *QUERIES.values()])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=64,
        )
        network = BertForMaskedLM(config).eval()
        torch.nn.init.normal_(network.get_output_embeddings().bias, mean=bias)
    save_encoder(network, tokenizer, folder / head, head, 32, 32)
    return folder / head


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        write_beir(tmp_path / "collection" / "sets" / name)
    manifest = {"kind": "beir", "sets": {"one": {}, "two": {}}}
    (tmp_path / "collection" / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path / "collection"


def measure(model: Path, collection: Path, out: Path, **options: object) -> dict:
    lengths = {"query_length": 32, "document_length": 32, "draws": 200}
    spec = TheorySpec(model="m", collection="c", **{**lengths, **options})
    execute(spec, {"model": model, "collection": collection}, out, theory.run)
    return read_json(out / "theory.json")["sets"]


def test_case_folding_on_a_collection(model: Path, collection: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    sets = measure(model, collection, results / "theory" / "x", evaluation_set="two")
    assert list(sets) == ["two"]
    facts = sets["two"]
    # A judged document that is not there and one of grade 0 make no pair.
    assert facts["pairs"] == 3
    # Characters in both cases at least; what folds is merged, the rest stays.
    assert facts["keys"] < facts["keys_before"]
    assert facts["complexity"] <= facts["complexity_before"]
    assert facts["complexity_drop_least"] >= -1e-12
    assert 0 < facts["compatibility_error_least"] <= facts["compatibility_error"]
    assert facts["bound"] == pytest.approx(
        facts["compatibility_error"] + 4 * facts["complexity"] + 6 * math.sqrt(math.log(20) / 3)
    )
    assert {token.lower() for token in facts["worst_group"]} == {facts["worst_key"].lower()}
    # As the report reads it: the mean over draws is the measure.
    read = Results(results)
    for metric in PER_DRAW:
        assert len(read.per_query("x", "two", metric)) == 200
    assert (results / "theory" / "x" / "theory.png").stat().st_size > 1000


def test_one_pair_worked_out_from_its_vectors(model: Path, tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "beir", {"q2": {"d2": 1}})
    facts = measure(model, folder, tmp_path / "out", normaliser="none")["beir"]
    encoder = load_encoder(model)
    query = encoder.encode([QUERIES["q2"]], 32, role="query").toarray()[0]
    document = encoder.encode([DOCUMENTS["d2"]], 32).toarray()[0]
    wanted = float(np.max(query.astype(np.float64) * document))
    assert facts["complexity"] == pytest.approx(wanted)
    assert (facts["complexity_error"], facts["compatibility_error"]) == (0.0, 0.0)
    # There is no other document to take a difference with.
    assert facts["complexity_pairwise"] is None
    assert facts["worst_key"] is None


def test_options_change_what_they_say(model: Path, collection: Path, tmp_path: Path) -> None:
    def of(name: str, **options: object) -> dict:
        return measure(model, collection, tmp_path / name, evaluation_set="one", **options)["one"]

    case = of("case")
    coarser = of("positions", normaliser="case+positions")
    assert coarser["keys"] < case["keys"]
    dealt = of("dealt", dealt=True)
    assert (dealt["keys"], dealt["complexity_before"]) == (case["keys"], case["complexity_before"])
    assert dealt["complexity"] != case["complexity"]
    assert of("weighted", weights="frequency")["complexity"] != case["complexity"]
    assert of("few", pairs=2)["pairs"] == 2
    double = of("double", budget=2.0, lipschitz=3.0)
    assert double["estimation"] == pytest.approx(6 * case["estimation"])
    assert double["compatibility_error"] == pytest.approx(2 * case["compatibility_error"])
    surer = of("surer", failure_probability=0.01)
    assert surer["confidence"] == pytest.approx(6 * math.sqrt(math.log(100) / 3))


def test_the_same_call_gives_the_same_bytes(model: Path, collection: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        measure(model, collection, tmp_path / name / "x")
    for file in ("metrics.json", "per_query.parquet", "theory.json", "theory.png", "theory.svg"):
        one, two = ((tmp_path / name / "x" / file).read_bytes() for name in ("a", "b"))
        assert one == two


def test_by_hand_on_a_beir_folder(model: Path, tmp_path: Path) -> None:
    folder, out = write_beir(tmp_path / "beir"), tmp_path / "out"
    words = ["theory", "--model", str(model), "--collection", str(folder), "--draws", "10"]
    done = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert read_json(out / "metrics.json")["sets"]["beir"]["pairs"] == 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"evaluation_set": "three"}, "--evaluation-set: found 'three'; allowed: one, two"),
        ({"query_length": 2}, "--query-length: found 2; allowed: 3 or more"),
        ({"draws": 1}, "--draws: found 1; allowed: 2 or more"),
        ({"pairs": 0}, "--pairs: found 0; allowed: 1 or more"),
        ({"budget": 0.0}, "--budget: found 0.0; allowed: above 0"),
        ({"failure_probability": 0.6}, "--failure-probability: found 0.6; allowed: above 0, to"),
    ],
)
def test_refused_in_one_sentence(
    model: Path, collection: Path, tmp_path: Path, options: dict, sentence: str
) -> None:
    with pytest.raises(LexigraftError, match=sentence):
        measure(model, collection, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_dead_outputs_have_no_complexity(collection: Path, tmp_path: Path) -> None:
    dead = save_model(tmp_path, "splade", bias=-50.0)
    facts = measure(dead, collection, tmp_path / "out", evaluation_set="one")["one"]
    assert (facts["complexity"], facts["compatibility_error"], facts["active_keys"]) == (0, 0, 0)
    assert facts["bound"] == facts["confidence"]


def test_what_has_no_keys_or_no_pairs_is_refused(
    model: Path, collection: Path, tmp_path: Path
) -> None:
    with pytest.raises(LexigraftError, match="a dense encoder; keys need a sparse one"):
        measure(save_model(tmp_path, "dense"), collection, tmp_path / "out")
    hopeless = write_beir(tmp_path / "beir", {"q1": {"d1": 0}})
    with pytest.raises(LexigraftError, match="no pair of a query and a relevant document"):
        measure(model, hopeless, tmp_path / "out")
    with pytest.raises(LexigraftError, match="found 'x'; allowed: beir"):
        measure(model, hopeless, tmp_path / "out", evaluation_set="x")
