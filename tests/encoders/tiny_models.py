"""Sizes of tiny models of transformers' own classes, and the words of their tokenizer."""

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["solve", "return", "the", "of", "linear", "System", "matrix", "array", "Eigenvalues"]
WORDS += ["sparse", "graph"]
PIECES = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")]
VOCABULARY = [*SPECIALS, *PIECES, *"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *WORDS]
SIZE = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 80,
    "pad_token_id": 0,
}
CONFIGS = {
    "BertConfig": SIZE,
    "RobertaConfig": SIZE,
    "ModernBertConfig": SIZE
    | {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
    "DistilBertConfig": {
        "vocab_size": len(VOCABULARY),
        "dim": 16,
        "n_layers": 1,
        "n_heads": 2,
        "hidden_dim": 32,
        "max_position_embeddings": 80,
    },
    "XLMRobertaConfig": SIZE,
    "ElectraConfig": SIZE | {"embedding_size": 8},
    "AlbertConfig": SIZE | {"embedding_size": 8},
    "DebertaV2Config": SIZE,
    "MPNetConfig": SIZE,
}
