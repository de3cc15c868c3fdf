"""The embedded corpus: docstrings of installed packages as training pairs and evaluation sets.

No network and no account: sources are read from where they are installed and never imported. The
first paragraph of a docstring is a query, the rest its document. Training packages play the part of
MS MARCO, each zero-shot package that of one BEIR set.

In-domain queries are held out whole: neither they nor their documents are in the training split,
not even as text. Their corpus adds training documents, four for each query, as MS MARCO's passages
answer training and evaluation queries alike. Whatever resembles a zero-shot or held-out pair is
left out of training, wherever it comes from.
"""

import hashlib
import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexigraft.corpora.collection import write_manifest, write_negatives
from lexigraft.corpora.extraction import Docstring, Extracted, extract
from lexigraft.corpora.negatives import hard_negatives
from lexigraft.corpora.packages import Package, find_package
from lexigraft.corpora.pairs import Pair, distinct, fair_pairs, other_texts, unquoting
from lexigraft.corpora.records import (
    Document,
    Judgement,
    Query,
    write_documents,
    write_objects,
    write_qrels,
    write_queries,
)
from lexigraft.errors import LexigraftError
from lexigraft.specs.stages import IN_DOMAIN

log = logging.getLogger(__name__)
DISTRACTORS_A_QUERY = 4


@dataclass(frozen=True)
class DocstringOptions:
    """What the embedded corpus is made of; the fields of the corpus spec."""

    train_packages: tuple[str, ...]
    zero_shot_packages: tuple[str, ...]
    in_domain_queries: int
    minimum_words: int
    negatives: int
    limit: int
    seed: int


def write_docstring_collection(options: DocstringOptions, out: Path) -> None:
    """Write the embedded corpus as a collection; the same versions give the same bytes.

    Raises:
        LexigraftError: no package at all, one that is not installed, one that is named twice, one
            without a fair pair, or too few pairs to hold the in-domain queries out.
    """
    packages = [find_package(name) for name in _names(options)]
    extracted = extract(packages)
    dropped: dict[str, Counter[str]] = {}
    zero_shot = {
        name: _pairs([name], extracted, options, [], dropped) for name in options.zero_shot_packages
    }
    unseen = [pair for pairs in zero_shot.values() for pair in pairs]
    train = _pairs(options.train_packages, extracted, options, unseen, dropped)
    held_out, train = _hold_out(train, options)
    evaluated = [*unseen, *held_out]
    train = unquoting(train, evaluated, dropped)
    train = _sample(train, options.limit, options.seed)

    sets: dict[str, dict[str, Any]] = {}
    if held_out:
        size = DISTRACTORS_A_QUERY * len(held_out)
        size = min(size, options.limit - len(held_out)) if options.limit else size
        searched = [*held_out, *_sample(train, size, options.seed)] if size > 0 else held_out
        sets[IN_DOMAIN] = _write_set(out / "sets" / IN_DOMAIN, held_out, searched)
    for name, pairs in zero_shot.items():
        pairs = _sample(pairs, options.limit, options.seed)
        sets[name] = _write_set(out / "sets" / name, pairs, pairs)
    counts: dict[str, int] | None = None
    if train:
        counts = _write_train(out / "train", train, options.negatives)
        if not options.limit:
            docstrings = [d for n in options.train_packages for d in extracted[n].docstrings]
            texts = other_texts(docstrings, train, evaluated)
            counts["other_texts"] = _write_texts(out / "train" / "text.jsonl", texts)
    facts = {
        package.name: {
            "role": "train" if package.name in options.train_packages else "zero-shot",
            **_facts(package, extracted[package.name], dropped[package.name]),
        }
        for package in packages
    }
    write_manifest(out, "docstrings", sets, counts, packages=facts)
    _tell(sets, counts)


def _names(options: DocstringOptions) -> tuple[str, ...]:
    names = (*options.train_packages, *options.zero_shot_packages)
    if not names:
        raise LexigraftError(
            "train_packages and zero_shot_packages are both empty, at least one package is needed"
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise LexigraftError(
            f"package {twice[0]!r} is named twice in train_packages and zero_shot_packages; "
            "a package has one part"
        )
    return names


def _pairs(
    names: Sequence[str],
    extracted: Mapping[str, Extracted],
    options: DocstringOptions,
    others: Sequence[Pair],
    dropped: dict[str, Counter[str]],
) -> list[Pair]:
    """Fair and distinct pairs of some packages; reasons for the rest are added to `dropped`."""
    fair: list[Pair] = []
    for name in names:
        found, dropped[name] = fair_pairs(name, extracted[name].docstrings, options.minimum_words)
        fair += found
    kept, repeated = distinct(fair, others)
    for name in names:
        dropped[name] += repeated.get(name, Counter())
        if not any(pair.package == name for pair in kept):
            raise LexigraftError(
                f"package {name!r}: none of its {len(extracted[name].docstrings)} docstrings makes "
                f"a pair with minimum_words = {options.minimum_words}"
            )
    return kept


def _hold_out(pairs: list[Pair], options: DocstringOptions) -> tuple[list[Pair], list[Pair]]:
    """Held-out pairs and the rest, both in their order."""
    if options.in_domain_queries == 0 or not pairs:
        return [], pairs
    if options.in_domain_queries > len(pairs) // 2:
        raise LexigraftError(
            f"in_domain_queries = {options.in_domain_queries}, but the training packages give "
            f"{len(pairs)} pairs; at most half may be held out"
        )
    if options.limit and options.in_domain_queries > options.limit:
        raise LexigraftError(
            f"in_domain_queries = {options.in_domain_queries} is more than limit = {options.limit} "
            "documents in a set"
        )
    held_out = _sample(pairs, options.in_domain_queries, options.seed)
    chosen = {pair.docstring.id for pair in held_out}
    return held_out, [pair for pair in pairs if pair.docstring.id not in chosen]


def _sample(pairs: Sequence[Pair], size: int, seed: int) -> list[Pair]:
    """`size` pairs (all if 0) in their order, chosen by the hash of seed and name.

    A hash rather than a shuffle: a docstring more or less changes few of the choices.
    """
    if not 0 < size < len(pairs):
        return list(pairs)

    def lot(position: int) -> bytes:
        return hashlib.sha256(f"{seed}:{pairs[position].docstring.id}".encode()).digest()

    return [pairs[position] for position in sorted(sorted(range(len(pairs)), key=lot)[:size])]


def _query_id(docstring: Docstring) -> str:
    """Unlike the document's, because tools that drop self-matches compare the two."""
    return f"query:{docstring.id}"


def _write_set(folder: Path, asked: Sequence[Pair], searched: Sequence[Pair]) -> dict[str, Any]:
    """A BEIR folder in which each query has one relevant document; its facts for the manifest.

    Documents are in order of their names, so that place tells nothing.
    """
    judged = _by_name(asked)
    counts = {
        "documents": write_documents(folder / "corpus.jsonl", map(_document, _by_name(searched))),
        "queries": write_queries(folder / "queries.jsonl", map(_query, judged)),
        "judgements": write_qrels(folder / "qrels" / "test.tsv", map(_judgement, judged)),
    }
    return {
        **counts,
        "judged_queries": counts["queries"],
        "missing_documents": 0,
        "remove_self_match": False,
        "split": "test",
    }


def _write_train(folder: Path, pairs: Sequence[Pair], negatives: int) -> dict[str, int]:
    docstrings = [pair.docstring for pair in pairs]
    write_documents(folder / "corpus.jsonl", map(_document, docstrings))
    write_queries(folder / "queries.jsonl", map(_query, docstrings))
    write_qrels(folder / "qrels" / "train.tsv", map(_judgement, docstrings))
    mined = hard_negatives(
        {_query_id(d): d.summary for d in docstrings},
        {d.id: d.text for d in docstrings},
        {_query_id(d): [d.id] for d in docstrings},
        negatives,
    )
    write_negatives(folder / "negatives.jsonl", mined)
    return {
        "pairs": len(docstrings),
        "documents": len(docstrings),
        "negatives": sum(map(len, mined.values())),
        "words": sum(len(d.whole.split()) for d in docstrings),
    }


def _write_texts(path: Path, texts: Iterable[str]) -> int:
    return write_objects(path, ({"text": text} for text in texts))


def _by_name(pairs: Sequence[Pair]) -> list[Docstring]:
    return sorted((pair.docstring for pair in pairs), key=lambda docstring: docstring.id)


def _document(docstring: Docstring) -> Document:
    return Document(docstring.id, "", docstring.text)


def _query(docstring: Docstring) -> Query:
    return Query(_query_id(docstring), docstring.summary)


def _judgement(docstring: Docstring) -> Judgement:
    return Judgement(_query_id(docstring), docstring.id, 1)


def _facts(package: Package, extracted: Extracted, dropped: Counter[str]) -> dict[str, Any]:
    """What the manifest tells of a package; the hash is over its docstrings in their order."""
    digest = hashlib.sha256()
    for docstring in extracted.docstrings:
        record = [docstring.id, docstring.summary, docstring.body]
        digest.update(json.dumps(record).encode() + b"\n")
    return {
        "version": package.version,
        "files": len(package.files),
        "unreadable_files": extracted.unreadable_files,
        "docstrings": len(extracted.docstrings),
        "pairs": len(extracted.docstrings) - dropped.total(),
        "dropped": dict(sorted(dropped.items())),
        "sha256": digest.hexdigest(),
    }


def _tell(sets: Mapping[str, Mapping[str, Any]], train: Mapping[str, int] | None) -> None:
    if train:
        log.info("training: %d pairs, %d words", train["pairs"], train["words"])
    for name, facts in sets.items():
        log.info("%s: %d queries, %d documents", name, facts["queries"], facts["documents"])
