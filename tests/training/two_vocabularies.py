"""Two small vocabularies, a text, and a model that reads the one and writes the other."""

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from lexigraft.encoders.architectures import Shape, new_masked_lm
from lexigraft.transfer.transfer import transfer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def wordpiece(*pieces: str, lowercase: bool = False) -> PreTrainedTokenizerFast:
    ids = {token: i for i, token in enumerate([*SPECIALS, *pieces])}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIALS, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, **{f"{role}_token": token for role, token in names.items()}
    )


READER = wordpiece("collabor", "##ations", "End", "of", "Heat")
WRITER = wordpiece("co", "##lla", "##bo", "##rations", "endof", "end", "of", lowercase=True)
TEXTS = ["collaborations End", "Heat of"]
SHAPE = Shape(layers=1, hidden_size=16, heads=2, intermediate_size=32, positions=16)


def head_only() -> PreTrainedModel:
    source = new_masked_lm("modernbert", SHAPE, READER, seed=1)
    config = {"initialisation": "subtoken", "bias_alignment": "none", "part": "head"}
    return transfer(source, READER, WRITER, None, config).model
