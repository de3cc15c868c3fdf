"""Running text of a docstring: what is left without parameter lists, code and markup."""

import re

_WORD = re.compile(r"[^\W\d_]{2,}")
UNDERLINE = re.compile(r"\s*[-=~^]{3,}\s*")
LIST_TITLES = frozenset(
    {"parameters", "other parameters", "params", "args", "arguments", "inputs", "outputs"}
    | {"keyword args", "keyword arguments", "kwargs", "returns", "return", "yields", "yield"}
    | {"receives", "raises", "throws", "exceptions", "warns", "attributes", "properties"}
    | {"methods", "shape", "see also", "references"}
)
"""Titles of sections that list things, in the styles of numpy and of Google."""
_FIELD = re.compile(r"\s*(:[\w\s*.,`]+:|@\w+)(\s|$)")
"""`:param x:` and `@param x`, the styles of Sphinx and Epydoc."""
_PROMPT = re.compile(r"\s*(>>>|\.\.\.|\$ |In \[)")
_DIRECTIVE = re.compile(r"\s*\.\. ")


def running_words(body: str) -> int:
    """Words of two letters or more in a docstring's sentences.

    Lists of parameters, returns, exceptions, attributes and related functions do not count, nor
    do code, doctest output and directives.
    """
    return sum(len(_WORD.findall(line)) for line in _running_lines(body.splitlines()))


def _running_lines(lines: list[str]) -> list[str]:
    kept: list[str] = []
    skip_deeper_than: int | None = None
    in_list = in_code = False
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        indent = len(line) - len(line.lstrip())
        title = line.strip().rstrip(":").lower()
        if not line.strip():
            in_code = False
            continue
        if UNDERLINE.fullmatch(following) and not UNDERLINE.fullmatch(line):
            in_list, skip_deeper_than = title in LIST_TITLES, None
            continue
        if UNDERLINE.fullmatch(line) or in_list:
            continue
        if skip_deeper_than is not None and indent > skip_deeper_than:
            continue
        skip_deeper_than = None
        if _PROMPT.match(line):
            in_code = True
        elif in_code:
            continue
        elif (line.rstrip().endswith(":") and title in LIST_TITLES) or _FIELD.match(line):
            skip_deeper_than = indent
        elif _DIRECTIVE.match(line):
            if "::" not in line or re.search(r"\.\. (code|math|plot|image|list-table)", line):
                skip_deeper_than = indent
        else:
            kept.append(line)
            if line.rstrip().endswith("::"):
                skip_deeper_than = indent
    return kept


def is_markup(paragraph: str) -> bool:
    """Whether a paragraph starts a list, a field, a directive or code."""
    first = paragraph.strip().splitlines()[0] if paragraph.strip() else ""
    listed = first.strip().rstrip(":").lower() in LIST_TITLES
    return listed or any(pattern.match(first) for pattern in (_FIELD, _DIRECTIVE, _PROMPT))
