"""What a column of an experiment means: the role, the measure, its unit and its name in print."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from lexigraft.errors import LexigraftError

ROLES = {
    "zero_shot": "Zero-shot",
    "in_domain": "In-domain",
    "dl19": "DL-19",
    "domain_a": "Domain A",
    "domain_b": "Domain B",
}
"""Roles of evaluation sets: BEIR, MS MARCO dev, TREC-DL 2019, ChemHotpotQA and ChemNQ at paper
scale."""
THEORY = "theory"
"""What the theory stage measures on the in-domain sets, in the place of a role."""
HEADINGS = {**ROLES, THEORY: "Section 3"}
EFFECTIVENESS = {"ndcg": "nDCG", "mrr": "MRR", "recall": "R", "map": "MAP", "precision": "P"}
"""Measures between 0 and 1 that are printed in hundredths, as the papers do; higher is better."""
EFFICIENCY = {
    "document_length": ("Document length", 1),
    "query_length": ("Query length", 1),
    "flops": ("FLOPS", 2),
    "document_bytes": ("Bytes a document", 0),
    "fragmentation": ("Tokens a word", 2),
}
"""Measures printed as they are, with their decimals. No value of these is the best one: a collapsed
model can be the shortest."""
ENGINE = {"engine_recall": "Found of exact", "engine_recall@10": "Found of exact@10"}
"""What an approximate search engine finds of exact search's hits, in hundredths; a property of the
engine and not of the model, so no value is the best one. None for an exact engine."""
CERTAIN = ("fragmentation",)
"""Measures without chance, which tokenizer and texts alone decide: any difference is a real one."""
LOW_RECALL = 0.97
"""Below this an approximate engine's rankings say as much about the engine as about the model."""

THEORETICAL = {
    "keys": ("Keys", 0),
    "complexity": ("Complexity", 4),
    "complexity_error": ("Complexity, s.e.", 4),
    "complexity_pairwise": ("Pairwise complexity", 4),
    "compatibility_error": ("Compatibility, at most", 3),
    "compatibility_error_least": ("Compatibility, at least", 3),
    "estimation": ("Estimation term", 3),
    "bound": ("Bound", 3),
}
"""Measures of the theory stage, with their decimals: V', the Rademacher complexity and its standard
error, that of differences, the error of merging from above and from below, 4 B L times the
complexity, and theorem 3.2's right side."""


@dataclass(frozen=True)
class Column:
    """A column such as `zero_shot.ndcg@10`."""

    key: str
    role: str
    metric: str
    heading: str
    """Name of the measure in print, without the role."""
    factor: float
    """From the stored value to the printed one."""
    decimals: int
    ranked: bool
    """Whether the highest value is marked as the best."""
    only: str = ""
    """The one set of the role that it is about; empty for the mean over all."""

    @property
    def certain(self) -> bool:
        """Whether there is no chance in the measure, so that a difference needs no test."""
        return self.metric in CERTAIN

    @property
    def role_heading(self) -> str:
        return self.only or HEADINGS[self.role]


EACH = "each"
"""Stands for every set of a role in an experiment's file: `zero_shot/each.ndcg@10`."""


def expand_columns(keys: Iterable[str], sets: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The columns with a column for each set where `each` stands.

    Args:
        keys: as an experiment's file states them.
        sets: role to the names of its sets.
    """
    expanded: list[str] = []
    for key in keys:
        role, _, metric = key.partition(f"/{EACH}.")
        if metric:
            expanded += [f"{role}/{name}.{metric}" for name in sets.get(role, ())]
        else:
            expanded.append(key)
    return tuple(expanded)


def parse_column(key: str) -> Column:
    """The column that `role.metric` or `role/set.metric` names.

    Raises:
        LexigraftError: the role or the measure is not known.
    """
    place, _, metric = key.partition(".")
    role, _, only = place.partition("/")
    return replace(_parsed(key, role, metric), only=only)


def _parsed(key: str, role: str, metric: str) -> Column:
    if role not in HEADINGS:
        raise LexigraftError(f"column {key!r}: role {role!r}; allowed: {', '.join(HEADINGS)}")
    if role == THEORY:
        if metric not in THEORETICAL:
            raise LexigraftError(
                f"column {key!r}: measure {metric!r}; allowed: {', '.join(THEORETICAL)}"
            )
        heading, decimals = THEORETICAL[metric]
        return Column(key, role, metric, heading, factor=1.0, decimals=decimals, ranked=False)
    if metric in EFFICIENCY:
        heading, decimals = EFFICIENCY[metric]
        return Column(key, role, metric, heading, factor=1.0, decimals=decimals, ranked=False)
    if metric in ENGINE:
        return Column(key, role, metric, ENGINE[metric], factor=100.0, decimals=1, ranked=False)
    measure, _, cutoff = metric.partition("@")
    if measure not in EFFECTIVENESS:
        allowed = ", ".join([*(f"{name}@k" for name in EFFECTIVENESS), *EFFICIENCY, *ENGINE])
        raise LexigraftError(f"column {key!r}: measure {metric!r}; allowed: {allowed}")
    heading = f"{EFFECTIVENESS[measure]}@{cutoff}" if cutoff else EFFECTIVENESS[measure]
    return Column(key, role, metric, heading, factor=100.0, decimals=1, ranked=True)
