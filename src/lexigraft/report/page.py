"""`results/index.html`: what a person opens first. Claims, then each table with its figure.

One file (`page.html.j2` filled) without scripts or anything from the network; runs and other forms
of the tables are linked beside it.
"""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, UndefinedError

from lexigraft.errors import LexigraftError
from lexigraft.files import read_object, whole_file
from lexigraft.report import text
from lexigraft.report.claims import BLIND, SIGNS
from lexigraft.report.neighbours import NeighboursTable, build_neighbours
from lexigraft.report.tables import Table, build_table
from lexigraft.specs.columns import parse_column
from lexigraft.specs.experiments import PlannedExperiment

NUMBERS = ("difference", "detectable", "p_adjusted", "reported_difference")
LARGEST = 1e9
"""What is measured is in hundredths; a number beyond is none of ours."""

WIDE = 2.4
"""Width of a picture, in heights, from which it is wide."""


class Picture(NamedTuple):
    """A picture of the page."""

    source: str
    """An address that holds it, so that the page can be sent alone."""
    wide: bool
    """Whether a narrow screen scrolls it in the place of shrinking it."""


def write_page(experiments: Mapping[str, PlannedExperiment], results: Path) -> None:
    """Write `<results>/index.html` from the experiments' results, their figures and claims.json.

    Raises:
        LexigraftError: a planned result, a figure or the claims are missing or not what was
            written.
    """
    tables = [
        build_table(experiment, results)
        if experiment.neighbours is None
        else build_neighbours(experiment, results)
        for experiment in experiments.values()
    ]
    pictures = {
        name: _embedded(results / "figures" / f"{name}.png")
        for name, experiment in experiments.items()
        if experiment.figure
    }
    claims = results / "claims.json"
    document = read_object(claims)
    try:
        _refuse_other_claims(document)
        content = page(tables, pictures, document).encode("utf-8")
    except (UndefinedError, LookupError, TypeError, AttributeError, ValueError) as error:
        raise LexigraftError(
            f"{claims}: not what was written ({type(error).__name__}: {error}); remove it and make "
            "it again"
        ) from None
    with whole_file(results / "index.html") as partial:
        partial.write_bytes(content)


def _refuse_other_claims(document: Mapping[str, Any]) -> None:
    """ValueError where what is to be told is not what `claims_record` makes."""
    counts = Counter(claim["verdict"] for claim in document["claims"])
    if counts != Counter(document["counts"]):
        raise ValueError(f"counts {document['counts']}, claims {dict(counts)}")
    if not all(isinstance(claim["source"], dict) for claim in document["claims"]):
        raise ValueError("a claim without a source")
    for claim in document["claims"]:
        for relation in claim["relations"]:
            for name in NUMBERS:
                number = relation.get(name)
                if number is not None and not abs(number) < LARGEST:
                    raise ValueError(f"{name} {str(number)[:20]} of {claim['id']}")


def page(
    tables: Sequence[Table | NeighboursTable],
    pictures: Mapping[str, Picture],
    claims: Mapping[str, Any],
) -> str:
    """The whole page.

    Args:
        pictures: name of a table to its figure.
        claims: what `claims.json` holds.
    """
    environment = Environment(
        loader=PackageLoader("lexigraft.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    verdicts = [
        (verdict, members)
        for verdict in SIGNS
        if (members := [c for c in claims["claims"] if c["verdict"] == verdict])
    ]
    return environment.get_template("page.html.j2").render(
        tables=tables,
        pictures=pictures,
        claims=claims,
        blind=BLIND,
        verdicts=verdicts,
        scale=tables[0].scale if tables else "",
        signs=SIGNS,
        text=text,
        parse_column=parse_column,
        heading=heading,
    )


def heading(table: Table | NeighboursTable) -> str:
    """`Table 2`, or the experiment's name where no paper has it."""
    kind = next((kind for kind in ("table", "figure", "section") if kind in table.source), "")
    return f"{kind.capitalize()} {table.source[kind]}" if kind else table.name


def _embedded(path: Path) -> Picture:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LexigraftError(f"{path}: {error.strerror}; make the figure first") from None
    # The header of a PNG: width and height in the bytes from 16 to 24.
    width, height = (int.from_bytes(content[place : place + 4]) for place in (16, 20))
    source = f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"
    return Picture(source, wide=width > WIDE * height)
