"""A transfer's table of tokens, written by hand."""

from pathlib import Path
from typing import Any

import pandas as pd

from lexigraft.analysis.neighbours import COLUMNS, TOKENS

RECORDS: list[tuple[Any, ...]] = [
    (0, "[CLS]", "[CLS]", "special", "<s>", [], [], [], None),
    (1, "heat", "heat", "initial", "Ġheat", [], [], [], None),
    (2, "##s", "s", "inside", "s", [], [], [], None),
    (
        3,
        "clears",
        "clears",
        "initial",
        None,
        ["Ġcle", "ars"],
        ["Ġcleared", "clear", "a|b"],
        [0.5, 0.3, 0.2],
        3,
    ),
    (4, "##ears", "ears", "inside", None, ["ears"], ["Ġheat"], [1.0], 1),
    (5, "metres", "metres", "initial", None, ["Ġmet", "res"], ["Ġheat"], [1.0], 1),
    (6, "lost", "lost", "initial", None, [], [], [], 0),
    (7, "cm", "cm", "initial", None, ["c", "m"], ["Ġheat"], [1.0], 1),
    (8, "cleared", "cleared", "initial", "Ġcleared", [], [], [], None),
    (9, "##clear", "clear", "inside", "clear", [], [], [], None),
    (10, "a|b", "a|b", "initial", "a|b", [], [], [], None),
]


def write_tokens(results: Path, identity: str) -> Path:
    folder = results / "transfer" / identity
    folder.mkdir(parents=True)
    frame = pd.DataFrame.from_records(RECORDS, columns=list(COLUMNS))
    frame.astype({"support": "Int32"}).to_parquet(folder / TOKENS, index=False)
    return folder
