"""Experiments against the tables of the paper, typed from its text."""

from pathlib import Path

import pytest

from lexigraft.specs.experiments import Experiment, load_experiment
from lexigraft.specs.scales import load_scale

TABLE_2 = """
BM25                    -  43.7 18.4 85.3 50.6 74.5
DPR                     -  37.5 31.9 94.1 61.1 74.2
CoCondenser             -  42.0 38.2 98.4 67.4 82.0
ColBERTv2               -  50.0 39.7 98.5 74.4 88.2
uniCOIL                 -  44.1 35.1 -    69.3 -
DeepImpact              -  41.5 32.7 94.8 69.5 -
DeeperImpact            -  -    37.3 96.8 -    -
BERT_(dense)            -  42.1 32.9 93.3 65.7 64.7
ModernBERT_(dense)      -  44.2 32.9 94.8 63.7 65.7
Co-SelfDistil           1  51.2 37.5 98.5 73.5 83.4
Co-EnsembleDistil       1  50.9 38.3 98.3 73.1 83.0
ESPLADE                 1  51.2 38.1 98.3 -    -
SPLADE-v3               5  52.0 40.0 98.7 72.7 83.2
BERT_(Splade)           1  50.6 37.5 98.2 72.8 82.1
+_further_MLM           1  50.5 37.7 98.1 72.6 82.2
ModernBERT_(Splade)     1  47.7 35.7 98.0 66.3 79.9
+_further_MLM           1  47.5 35.4 97.8 69.0 79.4
+_lowercase_input       1  46.8 36.3 97.9 69.2 80.5
ModernBERT-VT           1  52.4 38.3 98.4 73.7 83.0
"""
NOT_IN_TABLE_2 = {
    "bert-splade-calibrated",
    "modernbert-splade-calibrated",
    "modernbert-vt-uncalibrated",
}
MAIN = {
    "bm25",
    "bert-dense",
    "modernbert-dense",
    "bert-splade",
    "bert-splade-calibrated",
    "modernbert-splade",
    "modernbert-splade-calibrated",
    "modernbert-vt",
}


@pytest.fixture(scope="module")
def table2(root: Path) -> Experiment:
    return load_experiment(root, "table2")


def test_table_2_is_whole_in_the_papers_order(table2: Experiment):
    ours = [row for row in table2.rows if row.id not in NOT_IN_TABLE_2]
    lines = [line.split() for line in TABLE_2.strip().splitlines()]
    assert [row.label for row in ours] == [line[0].replace("_", " ") for line in lines]
    for row, (label, teachers, *values) in zip(ours, lines, strict=True):
        assert ("-" if row.teachers is None else str(row.teachers)) == teachers, label
        shown = ["-" if value is None else str(value) for value in row.reported[:5]]
        assert shown == values, label


def test_the_main_row_has_many_seeds_and_the_reported_deviations(table2: Experiment):
    row = next(row for row in table2.rows if row.id == "modernbert-vt")
    assert row.seeds == "many"
    assert row.reported_spread[:5] == (0.04, 0.08, 0.02, 0.7, 0.3)
    assert all(other.seeds == "one" for other in table2.rows if other is not row)


def test_what_is_cited_and_what_is_main(table2: Experiment):
    assert {row.id for row in table2.rows if row.main} == MAIN
    assert sum(bool(row.cited) for row in table2.rows) == 10
    # The public checkpoints are run where a scale has them.
    run = {row.id for row in table2.rows if row.cited and row.deltas is not None}
    assert run == {"co-selfdistil", "co-ensembledistil", "splade-v3"}


def test_efficiency_is_that_of_table_1(table2: Experiment):
    reported = {row.id: row.reported[5:] for row in table2.rows if any(row.reported[5:])}
    assert reported == {
        "co-selfdistil": (197.0, 11.1),
        "co-ensembledistil": (159.5, 7.8),
        "splade-v3": (213.2, 8.0),
        "bert-splade": (198.7, 13.0),
        "modernbert-vt": (203.1, 9.1),
    }


def test_figure_1_has_the_runs_and_values_of_the_tables(root: Path, table2: Experiment):
    figure = load_experiment(root, "figure1")
    shared = {row.id: row for row in table2.rows}
    for row in figure.rows:
        if row.id in shared:
            assert row.deltas == shared[row.id].deltas, row.id
            assert row.reported[:1] == shared[row.id].reported[:1], row.id
    others = {row.id: row.reported for row in figure.rows if row.id not in shared and row.reported}
    assert others == {"roberta-splade": (48.0,), "bert-cased-splade": (10.6,)}
    assert {row.group for row in figure.rows if row.main} == {"BERT", "ModernBERT"}


TABLE_3 = """
ModernBERT_(Splade)   47.7 35.7 -    -
VT_(RandAll-Init)     39.4 26.8 51.7 37.8
VT_(RandNew-Init)     50.2 37.0 52.0 38.1
VT_(Mean-Init)        49.7 36.9 51.8 38.2
VT_(SubToken-Init)    49.3 37.7 52.3 37.8
VT_(Semantic-Init)    51.1 37.5 52.4 38.3
500_steps_MLM         -    -    52.2 38.0
w/o_PDA               50.9 37.5 52.2 38.1
w/o_OMC               -    -    52.1 38.0
w/o_APC               50.7 37.3 48.8 37.4
"""
TABLE_5 = """
10% 51.8 10.69 38.5 98.4
20% 52.1 10.20 38.3 98.4
30% 52.2 9.56 38.0 98.4
40% 52.4 8.92 38.3 98.4
50% 52.4 7.96 38.0 98.5
60% 52.0 6.59 37.8 98.3
70% 51.0 5.29 37.4 98.3
80% 48.9 4.46 37.3 98.2
90% 48.0 4.25 37.2 98.1
"""
TABLE_6 = """
ModernBERT-ESPLADE        49.4 36.7 98.4 72.4 80.0
ModernBERT-VT             51.1 37.5 97.9 71.9 79.7
ModernBERT-ESPLADE_+_EMLM 48.0 35.6 98.3 69.1 79.6
ModernBERT-ESPLADE_+_SAP  50.5 37.6 98.3 71.4 81.9
ModernBERT-VT             52.4 38.3 98.4 73.7 83.0
"""
TABLE_7 = """
RoBERTa-base  SPLADE            48.0 35.1 97.8 69.4 78.6
RoBERTa-base  +_lowercase_input 48.7 35.7 97.9 70.5 80.0
RoBERTa-base  VT                50.4 37.7 98.3 74.3 82.5
RoBERTa-large SPLADE            1.4 0.7 19.9 0.2 4.6
RoBERTa-large +_lowercase_input 0.8 0.1 8.9 0.0 0.6
RoBERTa-large VT                51.3 38.7 98.3 73.0 81.6
BERT-cased    SPLADE            10.6 5.9 57.5 15.2 27.7
BERT-cased    +_lowercase_input 27.8 22.8 85.4 44.8 50.6
BERT-cased    VT                50.2 37.4 98.2 71.7 82.1
"""


def test_table_3_has_both_blocks_of_the_papers(root: Path):
    blocks = {"Direct fine-tuning": {}, "Adapted": {}}
    for row in load_experiment(root, "table3").rows:
        blocks[row.group][row.label] = row.reported
    for line in TABLE_3.strip().splitlines():
        label, *values = line.split()
        for block, pair in zip(blocks.values(), (values[:2], values[2:]), strict=True):
            found = block.pop(label.replace("_", " "), None)
            assert found == (None if "-" in pair else tuple(map(float, pair))), label
    assert blocks == {"Direct fine-tuning": {}, "Adapted": {}}


def test_an_ablation_switches_one_component_and_nothing_else(root: Path):
    rows = {row.id: row.deltas for row in load_experiment(root, "table3").rows}
    switched = {
        "vt-without-pda": {"transfer.bias_alignment": "none"},
        "vt-without-omc": {"mlm.new_token_weight": 1},
        "vt-random-all": {"transfer.initialisation": "random_all"},
    }
    for name, change in switched.items():
        assert rows[name] == rows["modernbert-vt"] | change
    without = dict(rows["modernbert-vt"])
    del without["calibrated"]
    assert rows["modernbert-vt-uncalibrated"] == without


def test_table_5_is_whole(root: Path):
    rows = load_experiment(root, "table5").rows
    for row, line in zip(rows, TABLE_5.strip().splitlines(), strict=True):
        rate, *values = line.split()
        assert row.deltas["calibrate.rate"] == float(rate.rstrip("%")) / 100
        assert row.reported == tuple(map(float, values))


def test_table_7_is_whole(root: Path):
    rows = load_experiment(root, "table7").rows
    for row, line in zip(rows, TABLE_7.strip().splitlines(), strict=True):
        group, label, *values = line.split()
        assert (row.group, row.label) == (group, label.replace("_", " "))
        assert row.reported == tuple(map(float, values))


TABLE_10 = """
42   52.44 38.38 98.37 73.90 83.10
1    52.36 38.27 98.40 72.93 83.30
2    52.38 38.17 98.41 73.15 83.02
3    52.36 38.32 98.39 74.73 82.66
4    52.35 38.23 98.40 73.98 82.77
Mean 52.38 38.27 98.39 73.74 82.97
Std  0.04  0.08  0.02  0.69  0.27
"""


def test_table_10_is_whole_and_its_runs_are_those_of_table_2(root: Path, table2: Experiment):
    *seeds, mean = load_experiment(root, "table10").rows
    lines = [line.split() for line in TABLE_10.strip().splitlines()]
    for row, (label, *values) in zip(seeds, lines, strict=False):
        assert row.label == label
        assert row.deltas["seed"] == int(label)
        assert row.reported == tuple(map(float, values))
    assert mean.reported == tuple(map(float, lines[5][1:]))
    assert mean.reported_spread == tuple(map(float, lines[6][1:]))
    assert mean.deltas == next(row.deltas for row in table2.rows if row.id == mean.id)


TABLE_1 = """
                  arguana climate-fever dbpedia-entity fever fiqa hotpotqa nfcorpus nq quora scidocs scifact webis-touche2020 trec-covid
Co-SelfDistil     197.0 11.1 49.3 26.2 44.1 81.6 36.2 69.3 35.4 54.2 85.0 16.0 71.5 24.8 72.4 51.2
Co-EnsembleDistil 159.5 7.8  50.8 24.4 43.6 80.0 35.5 68.7 35.3 53.9 83.4 15.8 70.8 27.3 72.5 50.9
SPLADE-v3         213.2 8.0  48.7 25.6 45.1 81.0 38.1 69.2 36.3 58.7 81.4 15.6 71.6 31.2 73.1 52.0
BERT_(Splade)     198.7 13.0 51.6 24.7 43.4 81.0 35.1 69.2 34.9 53.8 80.7 15.7 71.3 25.8 70.8 50.6
ModernBERT-VT     203.1 9.1  49.0 27.8 45.1 84.4 36.3 68.8 35.8 55.9 83.6 15.6 70.5 33.0 75.9 52.4
"""  # noqa: E501


def test_table_1_is_whole_and_its_sets_are_those_of_the_paper_scale(root: Path, table2: Experiment):
    sets, *lines = [line.split() for line in TABLE_1.strip("\n").splitlines()]
    scale = load_scale(root, "paper")
    assert sorted(sets) == sorted(entry.split("/")[1] for entry in scale.evaluation["zero_shot"])
    shared = {row.id: row.deltas for row in table2.rows}
    for row, (label, *values) in zip(load_experiment(root, "table1").rows, lines, strict=True):
        numbers = list(map(float, values))
        assert row.label == label.replace("_", " ")
        assert row.reported == (*numbers[:2], None, numbers[-1])
        assert row.reported_sets == dict(zip(sets, numbers[2:-1], strict=True))
        assert row.deltas == shared[row.id]


TABLE_8 = """
BM25                        44.5 -   -
SPLADE-v3-doc               46.8 3.3 240.3
Nardini_et_al._(IDF)        48.9 -   -
Geng_et_al._(IDF)           50.4 2.1 248.6
CoCondenser_(IDF)           49.5 2.4 327.2
CoCondenser_(IDF,_l0)       50.3 2.1 275.0
ModernBERT,_naive_(IDF,_l0) 44.4 1.7 337.4
+_lowercase_input           49.5 2.1 296.9
ModernBERT-VT_(IDF)         51.4 2.1 286.8
ModernBERT-VT_(IDF,_l0)     51.5 2.1 265.3
"""


def test_table_8_is_whole(root: Path):
    rows = load_experiment(root, "table8").rows
    ours = {row.id for row in rows if row.note.startswith("Not a row of the paper")}
    assert ours == {"inference-free-bert-idf", "inference-free-bert"}
    cited = {row.id for row in rows if row.deltas is None}
    assert cited == {"splade-v3-doc", "li-lsr", "idf-aware"}
    theirs = [row for row in rows if row.id not in ours]
    for row, line in zip(theirs, TABLE_8.strip().splitlines(), strict=True):
        label, *values = line.split()
        assert row.label == label.replace("_", " ")
        shown = ["-" if value is None else str(value) for value in row.reported]
        assert shown == values, label


@pytest.mark.parametrize("scale", ["smoke", "mini", "development", "paper"])
def test_the_l0_of_table_8_is_one_recipe_switched_on_and_off(root: Path, scale: str):
    lineage = load_scale(root, scale).lineage
    rows = {row.id: dict(row.deltas_at(lineage)) for row in load_experiment(root, "table8").rows}
    pairs = [("inference-free-vt", "inference-free-vt-idf")]
    pairs += [("inference-free-bert", "inference-free-bert-idf")]
    pairs += [("cocondenser-idf-l0", "cocondenser-idf")]
    for on, off in ((rows[with_l0], rows[without]) for with_l0, without in pairs):
        assert (on.pop("finetune.activation"), off.pop("finetune.activation")) == (
            "double_log",
            "log1p",
        )
        assert on.pop("finetune.l0_threshold") > off.pop("finetune.l0_threshold") == 0
        assert on == off
        assert on["finetune.query_encoder"] == "idf"


def test_table_6_is_whole_and_calibrates_every_row(root: Path):
    rows = load_experiment(root, "table6").rows
    for row, line in zip(rows, TABLE_6.strip().splitlines(), strict=True):
        label, *values = line.split()
        assert row.label == label.replace("_", " ")
        assert row.reported == tuple(map(float, values))
        assert row.deltas["calibrated"] is True
    table3 = {row.id: row.deltas for row in load_experiment(root, "table3").rows}
    for row in rows:
        if row.id in table3:
            assert row.deltas == table3[row.id]


TABLE_9 = """
50k_own 1.36 0.526 0.081 1.33 0.271 0.031
10k     1.53 0.690 0.010 1.49 0.412 0.016
20k     1.40 0.720 0.039 1.38 0.342 0.023
30k     1.35 0.688 0.025 1.33 0.329 0.011
40k     1.32 0.756 0.033 1.31 0.322 0.045
50k     1.30 0.737 0.026 1.30 0.307 0.021
"""


def test_table_9_is_whole(root: Path):
    rows = load_experiment(root, "table9").rows
    ours = [row for row in rows if row.id != "domain-modernbert-calibrated"]
    for row, line in zip(ours, TABLE_9.strip().splitlines(), strict=True):
        size, *texts = line.split()
        a, first, first_spread, b, second, second_spread = map(float, texts)
        assert row.reported == pytest.approx((a, 100 * first, b, 100 * second))
        assert row.reported_spread[::2] == (None, None)
        assert row.reported_spread[1::2] == pytest.approx((100 * first_spread, 100 * second_spread))
        assert row.seeds == "many"
        if "own" not in size:
            assert row.deltas["vocabulary.size"] == 1000 * int(size.rstrip("k"))
            assert row.deltas["transfer.initialisation"] == "subtoken"
