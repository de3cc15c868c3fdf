from pathlib import Path

import pytest

from lexigraft.errors import LexigraftError
from lexigraft.files import write_json
from lexigraft.report.figures import write_figure
from lexigraft.report.summary import summary
from lexigraft.report.tables import write_table
from lexigraft.specs.experiments import PlannedExperiment

RELATION = {
    "relation": "moved > naive",
    "verdict": "holds",
    "difference": 48.0,
    "reported_difference": 4.7,
    "collapsed": {"naive": "dense collapse"},
}
CLAIMS = {
    "counts": {"holds": 1, "fails": 0, "within noise": 0, "not run here": 1},
    "claims": [
        {
            "text": "Moving the vocabulary helps.",
            "metric": "zero_shot.ndcg@10",
            "verdict": "holds",
            "relations": [RELATION],
        },
        {"text": "Unseen.", "metric": "zero_shot.ndcg@10", "verdict": "not run here"},
    ],
}


def test_a_person_reads_table_verdicts_and_places(experiment: PlannedExperiment, results: Path):
    write_table(experiment, results, results / "tables" / "tiny")
    write_figure(experiment, results, results / "figures" / "tiny")
    write_json(results / "claims.json", CLAIMS)
    text = summary(results)
    lines = text.splitlines()
    assert max(len(line) for line in lines) < 100 + len(str(results))
    assert "VT               51.0±1.0 (52.4)  42.0±2.0 (38.3)  110.0±10.0" in text
    assert "Model_1 & 50% ✗       3.0 (47.7)       1.0 (35.7)      3800.0" in text
    assert "✗ naive: collapsed (dense collapse)" in text
    assert "DPR" not in text
    assert "Claims: 1 holds, 0 fails, 0 within noise, 1 not run here" in text
    assert "  ✓ Moving the vocabulary helps." in text
    assert "      zero-shot nDCG@10: +48.0 (paper +4.7); naive collapsed" in text
    assert lines[-3:] == [
        f"Table   {results}/tables/tiny.md (.csv, .tex)",
        f"Figure  {results}/figures/tiny.png (.svg)",
        f"Claims  {results}/claims.md (.json)",
    ]


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("claims.json", "{}", "not what was written .KeyError: 'counts'.; remove it and make"),
        ("claims.json", "[]", "list found, a JSON object is needed"),
        ("claims.json", '{"counts": 3, "claims": []}', "not what was written"),
        ("tables/table2.csv", "a,b\n1,2\n", "not what was written .KeyError: 'status'"),
    ],
)
def test_a_file_that_is_not_what_was_written_is_named(
    tmp_path: Path, file: str, text: str, told: str
):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    with pytest.raises(LexigraftError, match=f"{file}: {told}"):
        summary(tmp_path)


def test_nothing_to_sum_up_is_an_error(tmp_path: Path):
    with pytest.raises(LexigraftError, match="make reproduce"):
        summary(tmp_path)
