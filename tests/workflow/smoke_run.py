"""One run of every experiment at the smallest scale, and what is asked of it afterwards."""

import csv
import hashlib
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SmokeRun:
    """A results folder and what Snakemake said while it made it."""

    root: Path
    results: Path
    shown: str = ""

    def command(self, *words: str, experiments: str = "") -> list[str]:
        """Snakemake with some words, on these results; all experiments unless some are named."""
        config = ["scale=smoke", f"results={self.results}"]
        config += [f"experiments={experiments}"] if experiments else []
        command = [sys.executable, "-m", "snakemake", "--cores", "2", *words]
        return [*command, "--config", *config]

    def snakemake(self, *words: str, experiments: str = "") -> str:
        """What it says; it must succeed."""
        done = subprocess.run(
            self.command(*words, experiments=experiments),
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def planned(self) -> set[str]:
        """`stage/id`, or the name of a report, of each job that would run now."""
        shown = self.snakemake("--dry-run", "--quiet", "host")
        logs = re.findall(r"^ +log: (\S+)\.log", shown, re.M)
        return {str(Path(log).relative_to(self.results / "logs")) for log in logs}

    def cells(self, table: str) -> list[dict[str, str]]:
        """The lines of a table's CSV."""
        path = self.results / "tables" / f"{table}.csv"
        with path.open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def hashes(self) -> dict[str, str]:
        """What must not depend on when, how often or how fast something was run."""
        marks = ("*/*/model.safetensors", "*/*/metrics.json", "*/*/manifest.json", "tables/*.md")
        return {
            str(path.relative_to(self.results)): hashlib.sha256(path.read_bytes()).hexdigest()
            for mark in marks
            for path in self.results.glob(mark)
        }
