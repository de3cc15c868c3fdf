"""Docstrings of Python sources: the first paragraph is a query, the rest its document."""

import ast
import gc
import inspect
import logging
import multiprocessing
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from lexigraft.corpora.packages import Package
from lexigraft.corpora.running_text import is_markup
from lexigraft.progress import track

log = logging.getLogger(__name__)
FEWEST_FILES_FOR_PROCESSES = 400

_REGISTERED = frozenset({"add_newdoc", "add_docstr"})
"""Functions by which numpy, scipy and torch give docstrings to compiled code."""
_RULE_LINE = re.compile(r"\s*[-=~^*+_#|:.\s]{3,}")
_SIGNATURE = re.compile(r"[\w.]+\(.*\)\s*(->.*|--)?", re.DOTALL)
_BLANK = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True)
class Docstring:
    """One docstring, in two parts."""

    id: str
    """Dotted name of what it documents."""
    summary: str
    """First paragraph, on one line; empty where the docstring starts with a list or with code."""
    body: str
    """Everything after it as written, line by line; may be empty."""

    @property
    def text(self) -> str:
        """The body as running text: rule lines left out, white space collapsed, else as written."""
        lines = (line for line in self.body.splitlines() if not _RULE_LINE.fullmatch(line))
        return " ".join(" ".join(lines).split())

    @property
    def whole(self) -> str:
        """Summary and text."""
        return f"{self.summary} {self.text}".strip()


@dataclass(frozen=True)
class Extracted:
    """All docstrings of a package."""

    docstrings: tuple[Docstring, ...]
    """In order of module name and place in the module; one a name."""
    unreadable_files: int
    """Files that are not Python of this version (templates, samples of older versions)."""


def extract(packages: Sequence[Package]) -> dict[str, Extracted]:
    """Read the docstrings of several packages, in parallel where that pays.

    The result does not depend on the number of processes.
    """
    files = [file for package in packages for file in package.files]
    workers = min(len(os.sched_getaffinity(0)), 8)
    if workers < 2 or len(files) < FEWEST_FILES_FOR_PROCESSES:
        results = list(track(map(_read_file, files), "read docstrings", total=len(files)))
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
            found = pool.map(_read_file, files, chunksize=32)
            results = list(track(found, "read docstrings", total=len(files)))
    extracted, start = {}, 0
    for package in packages:
        parts = results[start : start + len(package.files)]
        start += len(package.files)
        by_id: dict[str, Docstring] = {}
        for part in parts:
            for docstring in part or ():
                by_id.setdefault(docstring.id, docstring)
        extracted[package.name] = Extracted(tuple(by_id.values()), parts.count(None))
    return extracted


def docstrings_of(source: str | bytes, module: str) -> list[Docstring]:
    """Docstrings of one module's source, in the order in which they stand.

    Args:
        source: Python source; it is parsed, never run.
        module: dotted name, the start of every id.

    Raises:
        SyntaxError, ValueError, RecursionError: not Python of this version.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    return [
        parts
        for name, text in _documented(tree, module)
        if (parts := split_docstring(name, text)) is not None
    ]


def split_docstring(name: str, text: str) -> Docstring | None:
    """Split a docstring after its first paragraph; None if it is empty.

    Signatures before that paragraph are left out; where it starts a list, a field or code there is
    no summary and all is body.
    """
    rest = inspect.cleandoc(text).strip()
    paragraph = ""
    while rest:
        paragraph, _, rest = (
            part.strip("\n") for part in _BLANK.sub("\0", rest, 1).partition("\0")
        )
        if not _SIGNATURE.fullmatch(paragraph.strip()):
            break
        paragraph = ""
    if is_markup(paragraph):
        return Docstring(name, "", f"{paragraph}\n\n{rest}".strip())
    lines = [line for line in paragraph.splitlines() if not _RULE_LINE.fullmatch(line)]
    summary = " ".join(" ".join(lines).split())
    return Docstring(name, summary, rest) if summary or rest else None


def _read_file(file: tuple[str, Path]) -> list[Docstring] | None:
    module, path = file
    collecting = gc.isenabled()
    gc.disable()  # Syntax trees have no cycles: looking for some costs time.
    try:
        found = docstrings_of(path.read_bytes(), module)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    finally:
        if collecting:
            gc.enable()
    return [d for d in found if _encodable(d.summary + d.body)]


def _documented(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings of a module or class and of what is defined in it, by any branch."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node, clean=False)
        if text:
            yield name, text
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(child, f"{name}.{child.name}")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler | ast.For):
            yield from _documented(child, name)
        elif isinstance(child, ast.Expr) and isinstance(child.value, ast.Call):
            yield from _registered(child.value, name)


def _registered(call: ast.Call, module: str) -> Iterator[tuple[str, str]]:
    """The docstring that a call such as `add_docstr(torch.abs, "...")` registers."""
    function = call.func
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if called not in _REGISTERED or len(call.args) < 2:
        return
    *owners, text = call.args
    formatted = False
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Attribute):
        formatted, text = text.func.attr == "format", text.func.value
    if isinstance(text, ast.Tuple) and len(text.elts) == 2:
        owners, text = [*owners, text.elts[0]], text.elts[1]
    if isinstance(text, ast.Constant) and isinstance(text.value, str):
        parts = [o.value if isinstance(o, ast.Constant) else ast.unparse(o) for o in owners]
        value = text.value.replace("{{", "{").replace("}}", "}") if formatted else text.value
        yield ".".join([module, *map(str, parts)]), value


def _encodable(text: str) -> bool:
    """Whether a text can be written as UTF-8 (a docstring may hold half a surrogate pair)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
