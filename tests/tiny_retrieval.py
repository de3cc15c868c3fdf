"""A masked language model and a collection small enough to train on in a second."""

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from lexigraft.corpora.collection import write_manifest, write_negatives
from lexigraft.corpora.records import write_objects
from lexigraft.encoders import save_masked_lm
from lexigraft.training.scores import write_scores

WORDS = [f"w{i}" for i in range(40)]
QUERIES = 24


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {token: i for i, token in enumerate([*specials, *WORDS])}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.Sequence([])
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    roles = ["pad_token", "unk_token", "cls_token", "sep_token", "mask_token"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=32, **dict(zip(roles, specials, strict=True))
    )


def tiny_model(folder: Path, *, dropout: float = 0.1, bias: float = -3.0) -> Path:
    """BERT of two layers, width 16; `bias` on every output moves the activation rate."""
    tokenizer = tiny_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        pad_token_id=0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertForMaskedLM(config)
    with torch.no_grad():
        # Larger embeddings than BERT's 0.02, so that logits differ from token to token.
        model.bert.embeddings.word_embeddings.weight.mul_(20)
        model.get_output_embeddings().bias.fill_(bias)
    save_masked_lm(model, tokenizer, folder)
    return folder


def tiny_collection(folder: Path) -> Path:
    """Query i asks for two words; its document has both among six, its negatives one of them."""
    generator = np.random.default_rng(0)
    queries, documents, negatives, judged = [], [], {}, []
    for i in range(QUERIES):
        first, second = generator.choice(WORDS, 2, replace=False)
        queries.append({"_id": f"q{i}", "text": f"{first} {second}"})
        texts = {f"d{i}": [first, second], f"n{i}": [first], f"m{i}": [second]}
        for name, own in texts.items():
            text = " ".join(generator.permutation([*own, *generator.choice(WORDS, 4)]))
            documents.append({"_id": name, "title": "", "text": text})
        negatives[f"q{i}"] = [f"n{i}", f"m{i}"]
        judged.append(f"q{i}\td{i}\t1\n")
    train = folder / "train"
    (train / "qrels").mkdir(parents=True)
    write_objects(train / "queries.jsonl", queries)
    write_objects(train / "corpus.jsonl", documents)
    (train / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged))
    write_negatives(train / "negatives.jsonl", negatives)
    write_manifest(folder, "docstrings", {}, {"pairs": QUERIES})
    return folder


def tiny_teacher(folder: Path) -> Path:
    """Scores 3 for a positive, 1 and 0 for the negatives."""
    names = [f"q{i}" for i in range(QUERIES) for _ in range(3)]
    documents = [f"{kind}{i}" for i in range(QUERIES) for kind in "dnm"]
    scores = np.tile(np.array([3, 1, 0], np.float32), QUERIES)
    write_scores(folder / "scores.parquet", [(names, documents, scores)])
    return folder
