import logging
import os
from pathlib import Path

import pytest

from lexigraft.corpora import extraction
from lexigraft.corpora.extraction import Docstring, docstrings_of, extract, split_docstring
from lexigraft.corpora.packages import Package

SOURCE = '''\
"""Module summary.

Module body.
"""
import absent_package_that_is_never_imported

raise SystemExit("never run")

class Outer(Base):
    """Outer summary
    on two lines.

    Outer   body
        as written.
    """
    attribute = 1
    """No docstring of anything that has one."""

    def method(self):
        """Method summary."""
        def inner():
            """Not read."""

    async def waits(self): "Waits for it."

if condition:
    def branch():
        """Branch one."""
else:
    try:
        def branch():
            """Branch two."""
    except ImportError:
        def fallback():
            """In a handler."""

add_newdoc("numpy.core", "ufunc", ("at", """at(a, indices)

    Performs in place.

    Body of at.
    """))
add_docstr(torch.abs, r"""
abs(input) -> Tensor

Computes \\alpha {{x}}.
""".format(**common))
print("""no docstring""")
'''


def test_every_documented_thing_is_found_in_order() -> None:
    found = {d.id: (d.summary, d.body) for d in docstrings_of(SOURCE, "m")}
    assert found == {
        "m": ("Module summary.", "Module body."),
        "m.Outer": ("Outer summary on two lines.", "Outer   body\n    as written."),
        "m.Outer.method": ("Method summary.", ""),
        "m.Outer.waits": ("Waits for it.", ""),
        "m.branch": ("Branch two.", ""),
        "m.fallback": ("In a handler.", ""),
        "m.numpy.core.ufunc.at": ("Performs in place.", "Body of at."),
        "m.torch.abs": (r"Computes \alpha {x}.", ""),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("  \n ", None),
        ("f(x, *,\n  y=1) -> int", None),
        ("f(x)\n\ng($self, x) --\n\nSays\nit.\n\nBody.", ("Says it.", "Body.")),
        ("Parameters\n----------\nx : int", ("", "Parameters\n----------\nx : int")),
        ("====\nTitle\n====\n\nBody.", ("Title", "Body.")),
        ("One.\n \t\nTwo.\n\n  Three.", ("One.", "Two.\n\n  Three.")),
    ],
)
def test_split(text: str, expected: tuple[str, str] | None) -> None:
    found = split_docstring("n", text)
    assert (found and (found.summary, found.body)) == expected


def test_text_leaves_rule_lines_out_and_keeps_the_rest_as_written() -> None:
    docstring = Docstring("n", "S.", "Notes\n-----\n  Keep  CASE, *marks*;\n\n=== ===\n... ok")
    assert docstring.text == "Notes Keep CASE, *marks*; ... ok"
    assert docstring.whole == "S. Notes Keep CASE, *marks*; ... ok"


def test_files_that_are_no_python_are_counted(tmp_path: Path) -> None:
    sources = {"a": '"""Good."""', "b": "print 'old'", "c": '"""Half \\ud800."""', "d": "\0"}
    files = []
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
        files.append((name, tmp_path / f"{name}.py"))
    found = extract([Package("p", "1", tuple(files))])["p"]
    assert [d.id for d in found.docstrings] == ["a"]
    assert found.unreadable_files == 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_processes_find_what_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = []
    for number in range(100):
        path = tmp_path / f"m{number:03d}.py"
        path.write_text(f'"""Module {number}."""\ndef f():\n    """Function {number}."""\n')
        files.append((path.stem, path))
    package = Package("p", "1", tuple(files))
    alone = extract([package])
    monkeypatch.setattr(extraction, "FEWEST_FILES_FOR_PROCESSES", 1)
    with caplog.at_level(logging.INFO):
        together = extract([package])
    assert alone == together
    assert len(alone["p"].docstrings) == 200
