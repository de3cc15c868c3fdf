"""The options of each stage that a run can vary: every field is an ablation axis.

Defaults are the Vocabulary Transfer paper's where it states a value (section 5.3), else those of
the protocol it cites (SPLADE-EnsembleDistil). A scale states its own values on top.
"""

from dataclasses import dataclass
from typing import Literal

Initialisation = Literal["semantic", "subtoken", "random_new", "random_all", "mean"]
BiasAlignment = Literal["prior_aware", "none"]
Objective = Literal["margin_mse", "info_nce", "margin_mse+info_nce", "kl"]
DISTILLING: tuple[Objective, ...] = ("margin_mse", "margin_mse+info_nce", "kl")
"""Objectives that need teacher scores and hard negatives."""
FlopsConvention = Literal["mean_positive_negative", "all_documents", "per_position_sum"]
Values = Literal["float32", "float16", "int8"]
Head = Literal["splade", "dense"]
Activation = Literal["log1p", "double_log"]
Pooling = Literal["max", "sum"]
QueryEncoder = Literal["model", "uniform", "idf", "learned"]
"""model: queries go through the model as documents do; the others are inference-free."""


@dataclass(frozen=True, kw_only=True)
class TransferOptions:
    """Options of the `transfer` stage."""

    initialisation: Initialisation = "semantic"
    """How rows of new tokens are made (equations 7-9 and table 3)."""
    bias_alignment: BiasAlignment = "prior_aware"
    """Prior-aware distribution alignment (equation 10) or each overlapping token's own bias."""
    part: Literal["vocabulary", "head"] = "vocabulary"
    """vocabulary: both sides are moved; head: the source's tokenizer and encoder stay, its output
    head alone is made anew in the target vocabulary (ESPLADE, section 6.3)."""


@dataclass(frozen=True, kw_only=True)
class MlmOptions:
    """Options of the `mlm` stage."""

    trains: Literal["embeddings", "all", "head"] = "embeddings"
    """embeddings: embeddings and output bias only; all: every weight (further MLM); head: output
    rows and bias of a head of its own."""
    steps: int = 20000
    """Optimiser steps."""
    batch_size: int = 2048
    """Sequences in a step, over all processes."""
    micro_batch_size: int = 0
    """Sequences in one forward pass; 0 for the whole batch."""
    length: int = 128
    """Tokens in a packed sequence."""
    learning_rate: float = 3e-4
    """Peak of the cosine schedule."""
    warmup_steps: int = 4000
    """Steps of linear warm-up."""
    mask_probability: float = 0.3
    """Share of positions to predict."""
    new_token_weight: float = 2.0
    """Lambda of overlap-aware masking: how much likelier a new token is chosen; 1 for uniform."""
    corruption: tuple[float, ...] = (0.8, 0.1, 0.1)
    """Of the chosen positions, the shares that become [MASK], a random token, or stay."""
    weight_decay: float = 0.01
    """Decoupled weight decay."""
    objective: Literal["mlm", "emlm", "sap"] = "mlm"
    """mlm: masked tokens are predicted; emlm: the output tokens that begin there are, in the output
    vocabulary; sap: the pooled logits of a sparse teacher are distilled, nothing is masked."""


@dataclass(frozen=True, kw_only=True)
class CalibrateOptions:
    """Options of the `calibrate` stage."""

    method: Literal["shift", "rate"] = "shift"
    """Whether the shift itself or the activation rate it must reach is given."""
    shift: float = 5.0
    """Scalar c taken from every output bias (b' <- b' - c)."""
    rate: float = 0.4
    """Share of vocabulary entries active in the pooled representation of the probe documents."""
    probes: int = 256
    """How many documents are probed."""
    length: int = 256
    """Tokens of a probe document."""


@dataclass(frozen=True, kw_only=True)
class TeacherOptions:
    """Options of the `teacher` stage."""

    method: Literal["shipped", "bm25", "dense", "dense+bm25"] = "shipped"
    """shipped: scores that come with the collection (MS MARCO has a cross-encoder's);
    bm25, dense: computed; dense+bm25: the mean of both, each scaled to unit deviation."""
    length: int = 128
    """Tokens of a document under the dense methods."""


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions:
    """Options of the `finetune` stage."""

    head: Head = "splade"
    """splade: max-pooled log(1 + ReLU(logits)); dense: mean-pooled hidden states."""
    activation: Activation = "log1p"
    """Weight of a logit x above zero: log(1 + x), or log(1 + log(1 + x)); sparse heads only."""
    pooling: Pooling = "max"
    """Over positions; sum is that of the first SPLADE; sparse heads only."""
    lowercase: bool = False
    """Whether every input is lower-cased before the tokenizer (a normaliser saved with it)."""
    objective: Objective = "margin_mse"
    """Ranking loss."""
    info_nce_weight: float = 1.0
    """Weight of InfoNCE beside MarginMSE, in the sum of both."""
    score_scale: float = 1.0
    """Factor on scores inside InfoNCE and KL (the inverse temperature)."""
    flops_query: float = 0.5
    """Regulariser weight lambda_q at the end of the ramp; sparse heads only."""
    flops_document: float = 0.4
    """Regulariser weight lambda_d at the end of the ramp; sparse heads only."""
    flops_convention: FlopsConvention = "mean_positive_negative"
    """Over which documents FLOPS averages."""
    flops_ramp_steps: int = 50000
    """Steps of the quadratic ramp of both weights."""
    steps: int = 150000
    """Optimiser steps."""
    batch_size: int = 128
    """Queries in a step, over all processes."""
    micro_batch_size: int = 0
    """Texts in one forward pass; 0 for all of a step. Changes memory, not the loss."""
    negatives: int = 1
    """Hard negatives of each query."""
    query_length: int = 256
    """Tokens of a query."""
    document_length: int = 256
    """Tokens of a document."""
    learning_rate: float = 2e-5
    """Peak of the linear schedule."""
    warmup_steps: int = 6000
    """Steps of linear warm-up."""
    weight_decay: float = 0.01
    """Decoupled weight decay."""
    query_encoder: QueryEncoder = "model"
    """model: the model itself. The others need none: a query is the bag of its tokens, each with a
    weight of 1 (uniform), its IDF in the training documents (idf), or one that starts there and
    is trained (learned). Sparse heads only."""
    query_learning_rate: float = 1e-3
    """Peak for learned query weights, on the same schedule: numbers of 1 to 10, each alone, which
    the model's own rate would hardly move."""
    l0_threshold: int = 0
    """Documents of at most so many active terms are not penalised by FLOPS (l0 mask); 0 penalises
    all."""


@dataclass(frozen=True, kw_only=True)
class EncodeOptions:
    """Options of the `encode` stage."""

    values: Values = "float32"
    """How values of documents are kept on disk; int8 is a byte a value and a scale a document."""

    query_length: int = 512
    """Tokens of a query."""
    document_length: int = 512
    """Tokens of a document."""


@dataclass(frozen=True, kw_only=True)
class RetrieveOptions:
    """Options of the `retrieve` stage."""

    engine: Literal["exact", "seismic", "bm25"] = "exact"
    """Search engine: exact; seismic, approximate, for sparse vectors; bm25, which reads words."""
    depth: int = 1000
    """Documents kept for each query."""
    k1: float = 0.9
    """BM25's saturation of term frequency."""
    b: float = 0.4
    """BM25's strength of length normalisation."""
    n_postings: int = 3000
    """Seismic: entries that an inverted list keeps, on average. These defaults and those below are
    what its guide gives for SPLADE on MS MARCO."""
    max_fraction: float = 6.0
    """Seismic: most entries of a list, as a multiple of n_postings."""
    centroid_fraction: float = 0.2
    """Seismic: blocks of a list, as a share of its entries."""
    min_cluster_size: int = 2
    """Seismic: fewest documents of a block."""
    summary_energy: float = 0.5
    """Seismic: share of a block's L1 norm that its summary keeps."""
    query_cut: int = 10
    """Seismic: heaviest terms of a query whose lists are read."""
    heap_factor: float = 0.8
    """Seismic: how readily blocks are skipped; 0 for none, 1 for all that promise too little."""
    sorted_summaries: bool = False
    """Seismic: whether the blocks of a query's first list are read from the most promising one."""


ENGINE_OPTIONS: dict[str, tuple[str, ...]] = {
    "exact": (),
    "seismic": (
        "n_postings",
        "max_fraction",
        "centroid_fraction",
        "min_cluster_size",
        "summary_energy",
        "query_cut",
        "heap_factor",
        "sorted_summaries",
    ),
    "bm25": ("k1", "b"),
}
"""Which of them each engine reads, beside the depth."""


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """Options of the `evaluate` stage."""

    metrics: tuple[str, ...] = ("ndcg@10", "mrr@10", "recall@100", "recall@1000")
    """Effectiveness measures."""


@dataclass(frozen=True, kw_only=True)
class TheoryOptions:
    """Options of the `theory` stage."""

    normaliser: Literal["none", "case", "case+accents", "case+positions"] = "case"
    """What keys are merged: tokens that differ in case, in accents as well, or in case and in
    whether they start a word (SPARSEUP's folding). none: the vocabulary as it is."""
    dealt: bool = False
    """Control: groups of the same sizes whose members are dealt out at random."""
    weights: Literal["uniform", "frequency"] = "uniform"
    """Weights of the tokens that one key merges: equal, or how often each occurs in the
    documents."""
    pairs: int = 1000
    """n: judged pairs of a query and a relevant document, drawn at random where there are more."""
    draws: int = 1000
    """Draws of Rademacher signs."""
    budget: float = 1.0
    """B: l1 norm of the weights of keys."""
    lipschitz: float = 1.0
    """L: Lipschitz constant of the loss."""
    failure_probability: float = 0.05
    """delta: the bound may fail with this probability."""


TRAINED = "trained"
"""Target of a run whose vocabulary is trained on its own text, by `VocabularyOptions`."""


@dataclass(frozen=True, kw_only=True)
class VocabularyOptions:
    """Options of the `vocabulary` stage; the defaults are those of section 6.6."""

    tokenizer: Literal["wordpiece", "byte_bpe"] = "byte_bpe"
    """Kind of tokenizer to train."""
    lowercase: bool = True
    """Whether it lower-cases and strips accents, as BERT-uncased does."""
    size: int = 30000
    """Entries, special tokens included; fewer where the text has no more pairs to merge."""
