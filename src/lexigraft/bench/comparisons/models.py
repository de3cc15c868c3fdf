"""A masked language model and texts for it, made on the spot: the same for the same numbers.

Words are of one width, so that a text's length in letters tells its length in tokens (by which
SparseEncoder sorts).
"""

from pathlib import Path
from typing import Any

SPECIALS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
ACTIVE_SHARE = 0.01
PROBES = 4
"""Texts of the longest kind on which the share of active entries is set."""


def make_texts(count: int, *, shortest: int, longest: int, vocabulary: int, seed: int) -> list[str]:
    """Texts of random words; their lengths, special tokens included, are uniform in a range."""
    import numpy as np

    generator = np.random.default_rng(seed)
    lengths = generator.integers(shortest, longest, endpoint=True, size=count)
    # At least one text is of the longest, so that batches are as wide as they are said to be.
    lengths[0] = longest
    words = vocabulary - len(SPECIALS)
    return [
        " ".join(_word(i) for i in generator.integers(words, size=length - 2).tolist())
        for length in lengths.tolist()
    ]


def make_encoder(
    folder: Path, *, layers: int, width: int, heads: int, vocabulary: int, longest: int
) -> Path:
    """A BERT with random weights and without dropout, as an encoder's folder.

    The bias of every output is set so that ACTIVE_SHARE of the entries of a long text is active.
    """
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from lexigraft.encoders.decoder import output_projection, project_states
    from lexigraft.encoders.saving import save_encoder

    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        max_position_embeddings=longest,
        # Two implementations draw different masks, and their results could not be compared.
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = BertForMaskedLM(config).eval()
    tokenizer = _tokenizer(vocabulary, longest)
    probes = make_texts(PROBES, shortest=longest, longest=longest, vocabulary=vocabulary, seed=1)
    tokens = tokenizer(probes, return_tensors="pt")
    with torch.no_grad():
        hidden_BLH = project_states(model, tokens["input_ids"], tokens["attention_mask"])
        weight_VH, bias_V = output_projection(model)
        assert bias_V is not None
        best_BV = torch.stack([(hidden_LH @ weight_VH.T).amax(0) for hidden_LH in hidden_BLH])
        kept = max(1, round(ACTIVE_SHARE * best_BV.numel()))
        bias_V.fill_(-float(best_BV.flatten().topk(kept + 1).values[-1]))
    save_encoder(model, tokenizer, folder, "splade")
    return folder


def _tokenizer(vocabulary: int, longest: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    tokens = [*SPECIALS.values(), *(_word(i) for i in range(vocabulary - len(SPECIALS)))]
    ids = {token: i for i, token in enumerate(tokens)}
    backend = Tokenizer(models.WordPiece(ids, unk_token=SPECIALS["unk_token"]))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    start, end = SPECIALS["cls_token"], SPECIALS["sep_token"]
    backend.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, ids[start]), (end, ids[end])]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=longest, **SPECIALS)


def _word(number: int) -> str:
    return f"w{number:06d}"
