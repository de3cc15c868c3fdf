"""Values that no stage can work with: out of range, or not fitting another value of the stage."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.specs.base import StageSpec
from lexigraft.specs.options import FinetuneOptions, VocabularyOptions
from lexigraft.specs.run import Run, axis_types
from lexigraft.specs.stages import BackboneSpec, VocabularySpec

SHARES = ("mask_probability", "rate")
UP_TO_ONE = ("b", "heap_factor")
ABOVE_ZERO_UP_TO_ONE = ("centroid_fraction", "summary_energy")
AT_LEAST_ONE = (
    "steps",
    "batch_size",
    "new_token_weight",
    "probes",
    "depth",
    "n_postings",
    "max_fraction",
    "min_cluster_size",
    "query_cut",
    "layers",
    "hidden_size",
    "heads",
    "intermediate_size",
    "positions",
    "pairs",
)
AT_LEAST_TWO = ("draws",)
UP_TO_HALF = ("failure_probability",)
ABOVE_ZERO = ("score_scale", "query_learning_rate", "budget", "lipschitz")
LENGTHS = ("length", "query_length", "document_length")
SHORTEST_LENGTH = 3
"""Tokens of an input: one between two special ones. Tokenizers do not cut to fewer."""
MEASURES = "ndcg@k, recall@k, precision@k, map@k, mrr@k"
METRIC = re.compile(r"(ndcg|recall|precision|map|mrr)@[1-9][0-9]*")
SHA256 = re.compile(r"[0-9a-f]{64}")
LARGEST_SHIFT = 1000
"""Logits are tens at most: a shift beyond leaves nothing or everything active."""
LARGEST_SEED = 2**32 - 1
LARGEST_COUNT = 2**31 - 1
"""What libraries count in 32 bits."""
SMALLEST_VOCABULARY = {"wordpiece": 5 + 1, "byte_bpe": 5 + 256}
"""Special tokens, and one character or every byte."""


def out_of_range(name: str, found: Any) -> str:
    """What is wrong with the value of a field of that name; empty if nothing."""
    if name == "corruption":
        if len(found) != 3 or min(found) < 0 or not math.isclose(sum(found), 1):
            return f"found {list(found)}; allowed: three shares that sum to 1"
        return ""
    if name == "sha256":
        return "" if SHA256.fullmatch(found) else f"found {found!r}; allowed: 64 hexadecimal digits"
    if name == "metrics":
        wrong = [metric for metric in found if not METRIC.fullmatch(metric)]
        return f"found {wrong[0]!r}; allowed: {MEASURES} with k from 1" if wrong else ""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return ""
    if not math.isfinite(found):
        return f"found {found}; allowed: a finite number"
    if name in SHARES and not 0 < found < 1:
        return f"found {found}; allowed: between 0 and 1, both excluded"
    if name in UP_TO_ONE and not 0 <= found <= 1:
        return f"found {found}; allowed: 0 to 1"
    if name in ABOVE_ZERO_UP_TO_ONE and not 0 < found <= 1:
        return f"found {found}; allowed: above 0, up to 1"
    if isinstance(found, int) and name != "seed" and found > LARGEST_COUNT:
        return f"found {found}; allowed: at most {LARGEST_COUNT}"
    if name in AT_LEAST_ONE and found < 1:
        return f"found {found}; allowed: 1 or more"
    if name in AT_LEAST_TWO and found < 2:
        return f"found {found}; allowed: 2 or more"
    if name in UP_TO_HALF and not 0 < found <= 0.5:
        return f"found {found}; allowed: above 0, to 0.5"
    if name in LENGTHS and found < SHORTEST_LENGTH:
        return f"found {found}; allowed: {SHORTEST_LENGTH} or more"
    if name in ABOVE_ZERO and found <= 0:
        return f"found {found}; allowed: above 0"
    if name == "seed" and not 0 <= found <= LARGEST_SEED:
        return f"found {found}; allowed: 0 to {LARGEST_SEED}"
    if name == "shift" and abs(found) > LARGEST_SHIFT:
        return f"found {found}; allowed: {-LARGEST_SHIFT} to {LARGEST_SHIFT}"
    if name != "shift" and found < 0:
        return f"found {found}; allowed: 0 or more"
    return ""


def head_problem(options: FinetuneOptions) -> str:
    """A sparse head's option with a dense head; empty if there is none."""
    sparse = {"activation": "log1p", "pooling": "max", "query_encoder": "model", "l0_threshold": 0}
    for name, alone in sparse.items():
        found = getattr(options, name)
        if options.head == "dense" and found != alone:
            return f"{name}: found {found!r}; allowed with a dense head: {alone}"
    return ""


def vocabulary_problem(options: VocabularyOptions) -> str:
    """A vocabulary to train that cannot hold its alphabet; empty if there is none."""
    smallest = SMALLEST_VOCABULARY[options.tokenizer]
    if options.size < smallest:
        return f"size: found {options.size}; allowed: {smallest} or more with {options.tokenizer}"
    return ""


def run_problem(run: Run) -> str:
    """The first axis of a run that is out of range, and what is wrong; empty if none is."""
    for axis in axis_types():
        if problem := out_of_range(axis.split(".")[-1], value(run, axis)):
            return f"{axis}: {problem}"
    return ""


def value(run: Run, axis: str) -> object:
    """The value of a dotted axis."""
    found: object = run
    for part in axis.split("."):
        found = getattr(found, part)
    return found


def as_option(field: str) -> str:
    """How the command line names a field."""
    return f"--{field.replace('_', '-')}"


def check_fields(spec: StageSpec, name_of: Callable[[str], str] = as_option) -> None:
    """Refuse a stage's options that are out of range or do not go together, before any work.

    Args:
        spec: what the stage is asked for.
        name_of: what a message calls a field.

    Raises:
        LexigraftError: the message names the option, the value found and what is allowed.
    """
    for name, problem in _problems(spec):
        raise LexigraftError(f"{name_of(name)}: {problem}")


def _problems(spec: StageSpec) -> Iterator[tuple[str, str]]:
    for field in fields(spec):
        found = getattr(spec, field.name)
        # A default is always allowed: the length 0 stands for the model's own where it is one.
        if found != field.default and (problem := out_of_range(field.name, found)):
            yield field.name, problem
    if isinstance(spec, BackboneSpec) and spec.sha256 and spec.origin != "shipped":
        yield "sha256", f"read with origin shipped only, the origin is {spec.origin}"
    if isinstance(spec, BackboneSpec) and spec.origin in ("pretrain", "vocabulary"):
        yield from _misfits(spec)
    if isinstance(spec, VocabularySpec) and (problem := vocabulary_problem(spec)):
        name, _, told = problem.partition(": ")
        yield name, told


def _misfits(spec: BackboneSpec) -> Iterator[tuple[str, str]]:
    """What does not go together in a model that is made here."""
    # Rotary position embeddings turn pairs of dimensions.
    step = spec.heads * (2 if spec.architecture == "modernbert" else 1)
    if spec.hidden_size % step:
        yield (
            "hidden_size",
            f"found {spec.hidden_size}; allowed: a multiple of {step} with {spec.heads} heads in "
            f"{spec.architecture}",
        )
    if spec.length > spec.positions:
        yield "length", f"found {spec.length}; allowed: at most positions ({spec.positions})"
    smallest = SMALLEST_VOCABULARY.get(spec.tokenizer, 0)
    if spec.vocabulary_size < smallest:
        yield (
            "vocabulary_size",
            f"found {spec.vocabulary_size}; allowed: {smallest} or more with {spec.tokenizer}",
        )
