"""What a column of an experiment means: the role, the measure, its unit and its name in print."""

from dataclasses import dataclass

from lexigraft.errors import LexigraftError

ROLES = {"zero_shot": "Zero-shot", "in_domain": "In-domain", "dl19": "DL-19"}
"""Roles of evaluation sets: BEIR, MS MARCO dev and TREC-DL 2019 at paper scale."""
THEORY = "theory"
"""What the theory stage measures on the in-domain sets, in the place of a role."""
HEADINGS = {**ROLES, THEORY: "Section 3"}
EFFECTIVENESS = {"ndcg": "nDCG", "mrr": "MRR", "recall": "R", "map": "MAP", "precision": "P"}
"""Measures between 0 and 1 that are printed in hundredths, as the papers do; higher is better."""
EFFICIENCY = {
    "document_length": ("Document length", 1),
    "query_length": ("Query length", 1),
    "flops": ("FLOPS", 2),
}
"""Measures printed as they are, with their decimals. No value of these is the best one: a collapsed
model can be the shortest."""

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

    @property
    def role_heading(self) -> str:
        return HEADINGS[self.role]


def parse_column(key: str) -> Column:
    """The column that `role.metric` names.

    Raises:
        LexigraftError: the role or the measure is not known.
    """
    role, _, metric = key.partition(".")
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
    measure, _, cutoff = metric.partition("@")
    if measure not in EFFECTIVENESS:
        allowed = ", ".join([*(f"{name}@k" for name in EFFECTIVENESS), *EFFICIENCY])
        raise LexigraftError(f"column {key!r}: measure {metric!r}; allowed: {allowed}")
    heading = f"{EFFECTIVENESS[measure]}@{cutoff}" if cutoff else EFFECTIVENESS[measure]
    return Column(key, role, metric, heading, factor=100.0, decimals=1, ranked=True)
