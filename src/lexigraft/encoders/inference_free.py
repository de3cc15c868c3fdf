"""Inference-free queries: a query is the bag of its tokens, each with a weight of its own.

    w_v(q) = weight_v if token v is in q, else 0

No model reads the query; documents keep their sparse encoder. How often a token stands in the query
does not matter. Special tokens, the unknown one included, weigh nothing. Weights are 1, or

    idf_v = ln(1 + (N - n_v + 0.5) / (n_v + 0.5))

with n_v of N documents that have token v, or start there and are trained. A token that is in no
document has the largest IDF: the formula is smoothed so that it has a value there, and in a new
corpus such a token is the rarest of all. (Where no document has it either, it costs nothing.)

Source: Geng et al. 2024, "Towards Competitive Search Relevance for Inference-Free Learned Sparse
Retrievers" (IDF); the form is that of BM25 (Robertson and Zaragoza 2009) with Lucene's 1, as in the
code that Shen et al. 2025 published, whose unseen tokens weigh 1. Learned weights: Nardini et al.
2025, "Effective Inference-Free Retrieval for Learned Sparse Representations", which makes them from
token embeddings; here each is a parameter.

Shapes: B queries, L tokens, V vocabulary.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError

TEXTS_IN_A_BATCH = 1000


class TokenWeights(nn.Module):
    """The weight of each vocabulary entry in a query.

    Args:
        weight_V: float32, none below 0.
        learned: whether it is trained. A weight that training takes below 0 is 0, and stays there.
    """

    def __init__(self, weight_V: Tensor, *, learned: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight_V, requires_grad=learned)

    def forward(self, input_ids_BL: Tensor, mask_BL: Tensor) -> Tensor:
        """Representation of each query, rep_BV; `mask_BL` is 1 for real tokens, 0 for padding."""
        present_BV = self.weight.new_zeros(len(input_ids_BL), len(self.weight))
        present_BV.scatter_reduce_(1, input_ids_BL, mask_BL.to(present_BV.dtype), reduce="amax")
        return present_BV * self.weight.relu()

    def values(self) -> Tensor:
        """The weights as they count in a query, (V,), apart from any graph."""
        return self.weight.detach().relu().cpu()


def uniform_weights(tokenizer: PreTrainedTokenizerFast) -> Tensor:
    """1 for every token but special ones, (V,)."""
    return _without_specials(torch.ones(_size(tokenizer)), tokenizer)


def idf_weights(tokenizer: PreTrainedTokenizerFast, documents: Iterable[str]) -> Tensor:
    """IDF of every token over the documents that have any, (V,) float32; 0 for special tokens.

    Documents are counted whole, however much of them the model reads.

    Raises:
        LexigraftError: no document has a token, or the vocabulary has gaps in its ids.
    """
    size = _size(tokenizer)
    frequency: Counter[int] = Counter()
    count = 0
    remaining = iter(documents)
    while texts := list(islice(remaining, TEXTS_IN_A_BATCH)):
        encoded = tokenizer(
            texts,
            add_special_tokens=False,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,
        )
        for ids in encoded["input_ids"]:
            frequency.update(set(ids))
            count += bool(ids)
    if not count:
        raise LexigraftError("inverse document frequencies: no document has any token")
    frequency_V = torch.zeros(size, dtype=torch.float64)
    seen = sorted(frequency)
    frequency_V[seen] = torch.tensor([frequency[v] for v in seen], dtype=torch.float64)
    idf_V = torch.log1p((count - frequency_V + 0.5) / (frequency_V + 0.5))
    return _without_specials(idf_V.float(), tokenizer)


def drop_tokenless_rows(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Take off embedding and output rows that belong to no token (ModernBERT is padded with some).

    No query could ask for them, so they would only lengthen documents; and sentence-transformers'
    static queries have one entry a token.

    Raises:
        LexigraftError: the vocabulary has gaps in its ids.
    """
    size = _size(tokenizer)
    if model.get_input_embeddings().weight.shape[0] > size:
        model.resize_token_embeddings(size)


def _size(tokenizer: PreTrainedTokenizerFast) -> int:
    vocabulary = tokenizer.get_vocab()
    if max(vocabulary.values()) != len(vocabulary) - 1:
        raise LexigraftError(
            f"inference-free queries: the tokenizer's {len(vocabulary)} tokens have ids up to "
            f"{max(vocabulary.values())}; ids without gaps are needed"
        )
    return len(vocabulary)


def _without_specials(weight_V: Tensor, tokenizer: PreTrainedTokenizerFast) -> Tensor:
    weight_V[tokenizer.all_special_ids] = 0.0
    return weight_V
