"""The stages of the workflow: options, and the outputs of other stages that they read."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lexigraft.specs.base import StageSpec, reads, slug
from lexigraft.specs.options import (
    CalibrateOptions,
    EncodeOptions,
    EvaluateOptions,
    FinetuneOptions,
    MlmOptions,
    RetrieveOptions,
    TeacherOptions,
    TheoryOptions,
    TransferOptions,
    VocabularyOptions,
)

IN_DOMAIN = "in-domain"
"""Evaluation set of the held-out queries of the embedded corpus."""
MSMARCO_SETS = {"dev": "dev", "trec-dl-2019": "test"}
"""Evaluation sets of MS MARCO, and the splits of BEIR's copy that judge them."""


@dataclass(frozen=True, kw_only=True)
class CorpusSpec(StageSpec):
    """A collection: training text and pairs, evaluation sets, or both, as BEIR folders."""

    stage = "corpus"
    kind: Literal["docstrings", "beir", "msmarco", "text", "pairs"] = "docstrings"
    """docstrings: embedded; beir: a BEIR set; msmarco: training triplets, dev, TREC-DL; text: plain
    text for masked-language-model adaptation; pairs: a table of queries and their documents."""
    source: str = ""
    """Which BEIR set (of the benchmark, or `owner/name` of the hub), or which data set of the hub;
    empty for the other kinds."""
    path: str = ""
    """A BEIR folder, text files or a table of pairs on disk to read instead of downloading."""
    split: str = "test"
    """Which qrels of a BEIR folder judge it."""
    remove_self_match: bool = False
    """Whether a document with the query's own id is removed from its ranking (the benchmark says so
    for ArguAna and Quora, where it is set without asking)."""
    train_packages: tuple[str, ...] = ()
    """Packages whose docstrings are training text and in-domain documents."""
    zero_shot_packages: tuple[str, ...] = ()
    """Packages that are one zero-shot evaluation set each; none of their text is trained on."""
    in_domain_queries: int = 500
    """How many queries of the training packages are held out for evaluation."""
    minimum_words: int = 30
    """Shortest document, in words of running text."""
    negatives: int = 8
    """Hard negatives for each training query, by BM25."""
    limit: int = 0
    """At most so many training pairs and documents in each set; 0 for all."""
    seed: int = 42
    """Which queries are held out, or which rows of a table of pairs are drawn."""
    query_column: str = "query"
    """Column of a table of pairs that holds the query."""
    document_column: str = "document"
    """Column of a table of pairs that holds its document."""

    def set_names(self) -> tuple[str, ...]:
        """Names of the evaluation sets that the collection has."""
        if self.kind == "docstrings":
            held_out = self.train_packages and self.in_domain_queries
            return (*((IN_DOMAIN,) if held_out else ()), *self.zero_shot_packages)
        if self.kind == "beir":
            return (beir_set_name(self.source, self.path),)
        return tuple(MSMARCO_SETS) if self.kind == "msmarco" else ()


def beir_set_name(source: str, path: str) -> str:
    """Name of the one evaluation set of a BEIR collection: the source's (without its owner on the
    hub), else the folder's."""
    if "/" in source:
        return slug(source.split("/")[-1])
    return source or slug(Path(path).resolve().name)


@dataclass(frozen=True, kw_only=True)
class BackboneSpec(StageSpec):
    """A masked language model and its tokenizer: fetched, found or pre-trained."""

    stage = "backbone"
    origin: Literal["hub", "folder", "package", "vocabulary", "shipped", "pretrain"] = "hub"
    """Where it comes from; vocabulary: a package has its vocabulary, and it is not trained at all;
    shipped: from a folder that `lexigraft ship` wrote."""
    location: str = ""
    """Hub id, folder, or name of the installed package."""
    sha256: str = ""
    """Hash that the weights of a shipped one must have; empty for what its record says."""
    revision: str = ""
    """Commit of the hub repository; empty for the newest, whose commit is recorded."""
    corpus: str = reads("collection", optional=True)
    """Collection whose training text it is pre-trained on."""
    architecture: Literal["bert", "roberta", "modernbert"] = "bert"
    """Class of transformers to pre-train."""
    tokenizer: Literal["wordpiece", "byte_bpe"] = "wordpiece"
    """Kind of tokenizer to train."""
    lowercase: bool = True
    """Whether the trained tokenizer lower-cases and strips accents."""
    vocabulary_size: int = 30522
    """Entries of the trained tokenizer, special tokens included."""
    layers: int = 12
    """Transformer layers."""
    hidden_size: int = 768
    """Width."""
    heads: int = 12
    """Attention heads."""
    intermediate_size: int = 3072
    """Width of the feed-forward layers."""
    positions: int = 512
    """Longest input in tokens."""
    output_bias: Literal["zero", "uniform", "unigram"] = "zero"
    """What the output bias starts from: zero, or log-probabilities, uniform or of the text's
    unigrams. Softmax does not see a constant in it, ReLU does."""
    steps: int = 100000
    """Optimiser steps of pre-training."""
    batch_size: int = 256
    """Sequences in a step."""
    length: int = 128
    """Tokens in a packed sequence."""
    learning_rate: float = 1e-3
    """Peak of the cosine schedule."""
    warmup_steps: int = 1000
    """Steps of linear warm-up."""
    mask_probability: float = 0.3
    """Share of positions to predict."""
    corruption: tuple[float, ...] = (0.8, 0.1, 0.1)
    """Of the chosen positions, the shares that become [MASK], a random token, or stay."""
    weight_decay: float = 0.01
    """Decoupled weight decay."""
    seed: int = 42
    """Initial weights, data order and masks."""


@dataclass(frozen=True, kw_only=True)
class TransferSpec(TransferOptions, StageSpec):
    """Vocabulary transfer, step 2: embeddings and output bias in the target vocabulary."""

    stage = "transfer"
    source: str = reads("model")
    """Masked language model that is moved."""
    target: str = reads("model")
    """Model whose vocabulary (and embedding space) it is moved to."""
    text: str = reads("collection", optional=True)
    """Collection whose training text gives unigram priors where the target has no output bias."""
    space: str = reads("model", optional=True)
    """Model whose input embeddings semantic initialisation compares tokens in, instead of the
    target's own."""
    seed: int = 42
    """Random rows, sampled tokens of the report."""


@dataclass(frozen=True, kw_only=True)
class MlmSpec(MlmOptions, StageSpec):
    """Masked-language-model adaptation (section 4.2.3), or further MLM as the control."""

    stage = "mlm"
    model: str = reads("model")
    """Masked language model that is adapted."""
    text: str = reads("collection")
    """Collection whose training text is masked."""
    teacher: str = reads("model", optional=True)
    """Sparse encoder that sap distils; its vocabulary is the model's output vocabulary."""
    seed: int = 42
    """Data order and masks."""


@dataclass(frozen=True, kw_only=True)
class CalibrateSpec(CalibrateOptions, StageSpec):
    """Activation potential calibration (section 4.2.3): the output bias is lowered by a scalar."""

    stage = "calibrate"
    model: str = reads("model")
    """Masked language model whose bias is shifted."""
    text: str = reads("collection")
    """Collection whose training documents are probed."""
    seed: int = 42
    """Which documents are probed."""


@dataclass(frozen=True, kw_only=True)
class TeacherSpec(TeacherOptions, StageSpec):
    """Scores of training pairs that a student distils."""

    stage = "teacher"
    corpus: str = reads("collection")
    """Collection whose training pairs are scored."""
    model: str = reads("model", optional=True)
    """Bi-encoder of the dense methods."""


@dataclass(frozen=True, kw_only=True)
class FinetuneSpec(FinetuneOptions, StageSpec):
    """Retrieval fine-tuning of a sparse or a dense bi-encoder."""

    stage = "finetune"
    model: str = reads("model")
    """Masked language model that becomes the encoder."""
    corpus: str = reads("collection")
    """Collection with the training pairs."""
    teacher: str = reads("scores", optional=True)
    """Teacher scores, for the distilling objectives."""
    seed: int = 42
    """Data order and dropout."""


@dataclass(frozen=True, kw_only=True)
class EncodeSpec(EncodeOptions, StageSpec):
    """Vectors of the queries and documents of a collection's evaluation sets."""

    stage = "encode"
    kept = False
    model: str = reads("model")
    """Fine-tuned encoder (or, for a probe, a model never tuned)."""
    collection: str = reads("collection")
    """Collection whose evaluation sets are encoded."""


@dataclass(frozen=True, kw_only=True)
class RetrieveSpec(RetrieveOptions, StageSpec):
    """The best documents of each query."""

    stage = "retrieve"
    collection: str = reads("collection")
    """Collection that is searched."""
    vectors: str = reads("vectors", optional=True)
    """Encoded collection; none for BM25."""


@dataclass(frozen=True, kw_only=True)
class EvaluateSpec(EvaluateOptions, StageSpec):
    """Metrics of a ranking, for each query and on average."""

    stage = "evaluate"
    collection: str = reads("collection")
    """Collection with the judgements."""
    run: str = reads("run")
    """Rankings."""


@dataclass(frozen=True, kw_only=True)
class TheorySpec(TheoryOptions, StageSpec):
    """The theory of section 3 on judged pairs: complexity, compatibility error and bound."""

    stage = "theory"
    model: str = reads("model")
    """Sparse encoder whose features are measured."""
    collection: str = reads("collection")
    """Collection with the judged pairs, or one BEIR folder."""
    evaluation_set: str = ""
    """The set whose pairs are measured; empty for each one that there is."""
    query_length: int = 0
    """Tokens of a query; 0: the model's own."""
    document_length: int = 0
    """Tokens of a document; 0: the model's own."""
    seed: int = 42
    """Which pairs, and the signs."""


@dataclass(frozen=True, kw_only=True)
class VocabularySpec(VocabularyOptions, StageSpec):
    """A vocabulary without a model: a tokenizer trained on a collection's text."""

    stage = "vocabulary"
    text: str = reads("collection")
    """Collection whose training text it is trained on."""


STAGES: dict[str, type[StageSpec]] = {
    spec.stage: spec
    for spec in (
        CorpusSpec,
        BackboneSpec,
        TransferSpec,
        MlmSpec,
        CalibrateSpec,
        TeacherSpec,
        FinetuneSpec,
        EncodeSpec,
        RetrieveSpec,
        EvaluateSpec,
        TheorySpec,
        VocabularySpec,
    )
}
