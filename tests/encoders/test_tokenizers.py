"""Lower-casing that survives saving, with the real tokenizers of four backbones where present."""

import copy
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from lexigraft.encoders.tokenizers import lowercase_tokenizer, save_tokenizer
from lexigraft.errors import LexigraftError


def test_lower_cases_words_and_keeps_special_tokens(tokenizer) -> None:
    lower = lowercase_tokenizer(tokenizer)
    assert tokenizer.tokenize("Solve [MASK]") == ["S", "##o", "##l", "##v", "##e", "[MASK]"]
    assert lower.tokenize("SOLVE [MASK]") == ["solve", "[MASK]"]
    assert lower.get_vocab() == tokenizer.get_vocab()
    assert lower("Solve").input_ids == [2, tokenizer.convert_tokens_to_ids("solve"), 3]


@pytest.mark.parametrize(
    "name", ["bert-base-cased", "bert-base-uncased", "modernbert-base", "roberta-base"]
)
def test_real_tokenizers_lower_case_after_a_round_trip(
    name: str, shared: Path, tmp_path: Path, make_model
) -> None:
    real = AutoTokenizer.from_pretrained(shared / "tokenizers" / name)
    lower = lowercase_tokenizer(real)
    text = "Returns the SINE of an Array, ΑΒΓ É"
    assert lower(text).input_ids == real(text.lower()).input_ids
    save_tokenizer(lower, make_model("BertConfig"), tmp_path, 64)
    back = AutoTokenizer.from_pretrained(tmp_path)
    assert back(text).input_ids == real(text.lower()).input_ids
    assert back.model_max_length == 64
    for role in ("pad", "cls", "sep", "mask", "unk"):
        assert getattr(back, f"{role}_token_id") == getattr(real, f"{role}_token_id")


def test_a_change_that_would_be_lost_is_refused(shared: Path, tmp_path: Path, make_model) -> None:
    """BertTokenizer rebuilds its normaliser when it is loaded."""
    from tokenizers import normalizers

    real = AutoTokenizer.from_pretrained(shared / "tokenizers" / "bert-base-cased")
    real.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(LexigraftError, match="not read back as it was saved"):
        save_tokenizer(real, make_model("BertConfig"), tmp_path, 64)


def test_only_inputs_that_the_model_takes_are_named(tokenizer, make_model, tmp_path: Path) -> None:
    segmented = copy.deepcopy(tokenizer)
    segmented.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    save_tokenizer(segmented, make_model("DistilBertConfig"), tmp_path, 64)
    assert set(AutoTokenizer.from_pretrained(tmp_path)("solve")) == {"input_ids", "attention_mask"}
    assert "token_type_ids" in segmented.model_input_names
    save_tokenizer(segmented, make_model("BertConfig"), tmp_path, 64)
    assert "token_type_ids" in AutoTokenizer.from_pretrained(tmp_path)("solve")
