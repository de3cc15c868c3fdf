"""What a transfer did, for people: coverage, kinds of tokens, nearest anchors (table 4)."""

from typing import Any

import numpy as np
import pandas as pd

from lexigraft.analysis.neighbours import neighbourhood, sampled
from lexigraft.report.markdown import code
from lexigraft.transfer.transfer import Transfer
from lexigraft.vocabulary.pieces import Piece

WORDS_OF_TABLE_4 = ("collaborations", "nationalists", "clears", "centimetres")
SAMPLED_TOKENS = 12
HEAD_ONLY: dict[str, list[str]] = {
    "vocabulary": [],
    "head": ["The output head alone: the model reads the source's tokens and writes these.", ""],
}
KINDS = ("word-initial", "continuation", "symbol", "special", "added", "byte")
KIND_OF_PLACE = {"initial": "word-initial", "inside": "continuation", "bytes": "byte"}


def transfer_report(transfer: Transfer, tokens: pd.DataFrame, seed: int = 42) -> dict[str, Any]:
    """Everything that `transfer.json` says, as plain JSON.

    Args:
        tokens: `token_table` of the transfer.
        seed: which new tokens are sampled beside the words of table 4.
    """
    shared, done = transfer.overlap, transfer.initialised
    real = transfer.bias[list(transfer.target.pieces)]
    return {
        "part": "vocabulary" if transfer.output_tokenizer is None else "head",
        "initialisation": transfer.strategy,
        "bias_alignment": transfer.bias_alignment,
        "tokens_in_space": None
        if (space := transfer.space) is None
        else {"own": space.own, "written": space.written, "absent": space.absent},
        "source_tokens": len(transfer.source.pieces),
        "target_tokens": len(transfer.target.pieces),
        "overlapping_tokens": len(shared.target_ids),
        "new_tokens": len(shared.new_ids),
        "coverage": shared.coverage,
        "kinds": _kinds(transfer),
        "fallbacks": {
            "count": len(done.fallback_ids),
            "examples": [transfer.target.shown(i) for i in done.fallback_ids[:20].tolist()],
        },
        "sub_tokens_of_new_tokens": _spread(
            np.array([len(ids) for ids in transfer.sub_tokens.values()])
        ),
        "support_of_new_tokens": None
        if done.neighbours is None
        else _spread(done.neighbours.support.numpy()),
        "bias": {
            "prior": transfer.prior,
            "texts_counted": transfer.unigrams.texts if transfer.unigrams else 0,
            "tokens_counted": transfer.unigrams.tokens if transfer.unigrams else 0,
            "source_mean": float(transfer.source_bias.mean()),
            "source_deviation": float(transfer.source_bias.std(correction=0)),
            "mean": float(real.mean()),
            "deviation": float(real.std(correction=0)),
        },
        "examples": _examples(tokens, seed),
    }


def transfer_markdown(report: dict[str, Any]) -> str:
    """The report as a page: counts, then new tokens in the form of table 4."""
    lines = [
        "# Vocabulary transfer",
        "",
        *HEAD_ONLY[report["part"]],
        f"{report['overlapping_tokens']:,} of {report['target_tokens']:,} target tokens overlap "
        f"with the source's {report['source_tokens']:,} (**{100 * report['coverage']:.1f} %**); "
        f"{report['new_tokens']:,} are new. Initialisation: {report['initialisation']}; bias "
        f"alignment: {report['bias_alignment']}.",
        "",
        "| kind of target token | overlapping | new |",
        "|---|---:|---:|",
        *(
            f"| {kind} | {counts['overlapping']:,} | {counts['new']:,} |"
            for kind, counts in report["kinds"].items()
        ),
        "",
        f"New tokens without anything to start from: {report['fallbacks']['count']:,} (they start "
        "at the centroid of the overlapping tokens).",
    ]
    if space := report["tokens_in_space"]:
        lines.append(
            f"Neighbours are looked for in the input embeddings of {report['space']}, where "
            f"{space['own']:,} target tokens are tokens, {space['written']:,} are the mean of "
            f"their sub-tokens and {space['absent']:,} have no place."
        )
    if support := report["support_of_new_tokens"]:
        lines.append(
            f"Anchors with weight per new token: {support['mean']:.1f} on average, "
            f"{support['smallest']} to {support['largest']}."
        )
    bias = report["bias"]
    if bias["prior"]:
        counted = (
            f" ({bias['tokens_counted']:,} tokens in {bias['texts_counted']:,} texts)"
            if bias["tokens_counted"]
            else ""
        )
        lines.append(f"Priors of the output bias: {bias['prior']}{counted}.")
    lines += ["", "## New tokens", ""]
    semantic = any(example["anchors"] for example in report["examples"])
    lines += ["| token | sub-tokens |" + (" nearest anchors (weight) |" if semantic else "")]
    lines += ["|---|---|" + ("---|" if semantic else "")]
    for example in report["examples"]:
        cells = [code(example["token"]), " ".join(map(code, example["sub_tokens"]))]
        if semantic:
            anchors = example["anchors"]
            cells.append(", ".join(f"{code(a['token'])} {a['weight']:.3f}" for a in anchors))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _kinds(transfer: Transfer) -> dict[str, dict[str, int]]:
    counts = {kind: {"overlapping": 0, "new": 0} for kind in KINDS}
    for fate, ids in (
        ("overlapping", transfer.overlap.target_ids),
        ("new", transfer.overlap.new_ids),
    ):
        for token_id in ids.tolist():
            counts[_kind(transfer.target.pieces[token_id])][fate] += 1
    return {kind: count for kind, count in counts.items() if any(count.values())}


def _kind(piece: Piece) -> str:
    return "symbol" if piece.is_symbol else KIND_OF_PLACE.get(piece.place, piece.place)


def _spread(counts: np.ndarray) -> dict[str, float | int] | None:
    if not len(counts):
        return None
    return {
        "mean": float(counts.mean()),
        "median": float(np.median(counts)),
        "smallest": int(counts.min()),
        "largest": int(counts.max()),
    }


def _examples(tokens: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """The words of table 4 that are new, then a sample."""
    named = [neighbourhood(tokens, word) for word in WORDS_OF_TABLE_4]
    new = [each for each in named if each.fate == "new"]
    return [
        {
            "token": each.token,
            "sub_tokens": list(each.sub_tokens),
            "anchors": [
                {"token": anchor, "weight": round(weight, 4)} for anchor, weight in each.anchors
            ],
        }
        for each in new + sampled(tokens, SAMPLED_TOKENS, seed, without=WORDS_OF_TABLE_4)
    ]
