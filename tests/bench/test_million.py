"""The measurement of a large collection, at a size for tests."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from lexigraft.bench import million


@pytest.mark.slow
def test_every_way_is_measured_and_what_was_written_is_used_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    million.million(documents=300, queries=4, ways=["exact", "index"], out=out)
    written = (out / "documents.00000.npz").stat().st_mtime_ns
    million.million(documents=300, queries=4, ways=["seismic"], out=out)
    assert (out / "documents.00000.npz").stat().st_mtime_ns == written
    report = json.loads((out / "million.json").read_text())
    assert report["size"] == {"documents": 300, "queries": 4, "depth": 1_000}
    assert report["index"]["recall"] == {"10": 1.0, "1000": 1.0}
    assert 0.5 < report["seismic"]["recall"]["10"] <= 1.0
    for way in ("exact", "index", "seismic"):
        assert report[way]["peak_bytes"] > 10**7
        assert report[way]["seconds"]["search"] >= 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    # Another size keeps nothing to be compared with.
    million.million(documents=200, queries=4, ways=["seismic"], out=out)
    report = json.loads((out / "million.json").read_text())
    assert "recall" not in report["seismic"]
    assert "exact" not in report


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"documents": 0}, "--documents: found 0; allowed: 1 or more"),
        ({"queries": 0}, "--queries: found 0; allowed: 1 or more"),
        ({"ways": ["bm25"]}, "--way: found 'bm25'; allowed: exact, index, seismic"),
        ({}, "not empty, and not a folder of this command"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    given: dict[str, Any], sentence: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "someone's").write_text("", encoding="utf-8")
    with pytest.raises(typer.Exit) as ended:
        million.million(out=tmp_path, **given)
    assert ended.value.exit_code == 2
    assert sentence in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["someone's"]
