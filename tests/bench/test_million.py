"""The measurement of a large collection, at a size for tests."""

import json
from pathlib import Path

import pytest

from lexigraft.bench import million


@pytest.mark.slow
def test_every_way_is_measured_and_what_was_written_is_used_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["--documents", "300", "--queries", "4", "--out", str(out)]
    million.main([*words, "--ways", "exact", "index"])
    written = (out / "documents.00000.npz").stat().st_mtime_ns
    million.main([*words, "--ways", "seismic"])
    assert (out / "documents.00000.npz").stat().st_mtime_ns == written
    report = json.loads((out / "million.json").read_text())
    assert report["size"] == {"documents": 300, "queries": 4, "depth": 1_000}
    assert report["index"]["recall"] == {"10": 1.0, "1000": 1.0}
    assert 0.5 < report["seismic"]["recall"]["10"] <= 1.0
    for way in ("exact", "index", "seismic"):
        assert report[way]["peak_bytes"] > 10**7
        assert report[way]["seconds"]["search"] >= 0
    assert len(capsys.readouterr().out.splitlines()) == 3
