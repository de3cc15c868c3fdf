"""How a browser lays the page of results out."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest


def laid_out(page: Path, width: int) -> tuple[int, int]:
    """Width that the page takes in a window of `width` pixels, and the rows of all its tables.

    Skips where there is no chromium.
    """
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium on this machine")
    frame = page.with_name("frame.html")
    frame.write_text(
        f'<iframe id="f" src="{page.name}" width="{width}" height="800" frameborder="0"></iframe>'
        "<script>onload = () => { const d = document.getElementById('f').contentDocument;"
        "document.title = [d.documentElement.scrollWidth, d.querySelectorAll('tr').length] }"
        "</script>",
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    profile = f"--user-data-dir={page.with_name('profile')}"
    found = subprocess.run(
        [browser, *options, profile, "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    title = re.search(r"<title>(\d+),(\d+)</title>", found.stdout)
    assert title is not None, found.stderr
    return int(title[1]), int(title[2])
