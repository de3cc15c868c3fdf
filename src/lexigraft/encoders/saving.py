"""Encoders on disk: plain transformers, and sentence-transformers beside it.

A folder that is written here loads with `AutoModelForMaskedLM`, `AutoTokenizer` and, in
sentence-transformers 6, with `SparseEncoder` (splade head) or `SentenceTransformer` (dense head),
and gives the same vectors there.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.output_vocabulary import save_output_tokenizer
from lexigraft.encoders.router import ROUTER, write_router
from lexigraft.encoders.tokenizers import save_tokenizer
from lexigraft.errors import LexigraftError
from lexigraft.files import write_json
from lexigraft.specs.options import Activation, Pooling

Head = Literal["splade", "dense"]
TRANSFORMER = "sentence_transformers.base.modules.transformer.Transformer"
POOLING = {
    "splade": "sentence_transformers.sparse_encoder.modules.splade_pooling.SpladePooling",
    "dense": "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
}
ACTIVATION: dict[Activation, str] = {"log1p": "relu", "double_log": "log1p_relu"}
"""sentence-transformers' names: what comes before its own log(1 + x)."""
FAMILY = {"splade": "SparseEncoder", "dense": "SentenceTransformer"}


def save_encoder(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    folder: str | Path,
    head: Head,
    query_length: int | None = None,
    document_length: int | None = None,
    *,
    activation: Activation = "log1p",
    pooling: Pooling = "max",
    query_weights: Tensor | None = None,
    output_tokenizer: PreTrainedTokenizerFast | None = None,
) -> None:
    """Write model, tokenizer and head into `folder`, which may exist.

    Args:
        head: splade (pooled log(1 + ReLU(logits))) or dense (mean-pooled, dot product).
        query_length: tokens of a query in sentence-transformers' `encode_query`; None for the
            longest input.
        document_length: the same for `encode_document`.
        activation: of a sparse head.
        pooling: of a sparse head.
        query_weights: weight of each token in a query, (V,), where queries are inference-free.
        output_tokenizer: of the output vocabulary, where it is another than the tokenizer's.

    Raises:
        LexigraftError: a length is beyond what the model can read, the tokenizer would not be
            read back as it was saved, or an output vocabulary has no tokenizer.
    """
    folder = Path(folder)
    for length in (query_length, document_length):
        refuse_long_input(model, length, str(folder))
    given = [length for length in (query_length, document_length) if length is not None]
    limit = max(given) if given else min(tokenizer.model_max_length, longest_input(model))
    folder.mkdir(parents=True, exist_ok=True)
    save_output_tokenizer(model, output_tokenizer, folder)
    model.save_pretrained(folder)
    save_tokenizer(tokenizer, model, folder, limit)
    sparse = {"pooling_strategy": pooling, "activation_function": ACTIVATION[activation]}
    modules = _write_parts(model, folder, head, sparse, query_length, document_length)
    if query_weights is not None:
        write_router(folder, modules, query_weights, model, tokenizer, query_length or limit)
        modules = [("", ROUTER)]
    _write_modules(folder, head, modules)


def longest_input(model: PreTrainedModel) -> int:
    """Tokens that the model has positions for.

    Position embeddings of the RoBERTa family count on from the padding id, so the first ones are
    no positions at all.
    """
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding):
            skipped = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - skipped
    return int(getattr(model.config, "max_position_embeddings", None) or 1 << 20)


def refuse_long_input(
    model: PreTrainedModel, length: int | None, place: str, least: int = 1
) -> None:
    """Raise LexigraftError if `length` tokens are more than the model can read, or fewer than
    `least`."""
    if length is not None and not least <= length <= longest_input(model):
        raise LexigraftError(
            f"{place}: inputs of {length} tokens asked for; the model reads {least} to "
            f"{longest_input(model)}"
        )


def _write_parts(
    model: PreTrainedModel,
    folder: Path,
    head: Head,
    sparse_pooling: dict[str, str],
    query_length: int | None,
    document_length: int | None,
) -> list[tuple[str, str]]:
    """Write the settings of the model and its pooling; returns the folder and class of each."""
    pooling = POOLING[head]
    pooling_folder = f"1_{pooling.rsplit('.', 1)[1]}"
    sparse = head == "splade"
    transformer: dict[str, Any] = {
        "transformer_task": "fill-mask" if sparse else "feature-extraction",
        "modality_config": {
            "text": {
                "method": "forward",
                "method_output_name": "logits" if sparse else "last_hidden_state",
            }
        },
        "module_output_name": "token_embeddings",
    }
    if query_length is not None:
        transformer["query_length"] = query_length
    if document_length is not None:
        transformer["document_length"] = document_length
    write_json(folder / "sentence_bert_config.json", transformer)
    write_json(
        folder / pooling_folder / "config.json",
        {
            **sparse_pooling,
            "embedding_dimension": model.get_output_embeddings().weight.shape[0],
        }
        if sparse
        else {
            "embedding_dimension": model.config.hidden_size,
            "pooling_mode": "mean",
            "include_prompt": True,
        },
    )
    return [("", TRANSFORMER), (pooling_folder, pooling)]


def _write_modules(folder: Path, head: Head, modules: list[tuple[str, str]]) -> None:
    write_json(
        folder / "modules.json",
        [
            {"idx": number, "name": str(number), "path": path, "type": kind}
            for number, (path, kind) in enumerate(modules)
        ],
    )
    write_json(
        folder / "config_sentence_transformers.json",
        {
            "__version__": {
                "pytorch": version("torch"),
                "sentence_transformers": version("sentence-transformers"),
                "transformers": version("transformers"),
            },
            "default_prompt_name": None,
            "model_type": FAMILY[head],
            "prompts": {"document": "", "query": ""},
            "similarity_fn_name": "dot",
        },
    )
