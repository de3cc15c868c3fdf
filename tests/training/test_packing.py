"""Token streams and packed sequences, with a vocabulary of five words."""

from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from lexigraft.errors import LexigraftError
from lexigraft.training.masked_lm import MaskedLmOptions
from lexigraft.training.masked_sequences import MaskedSequences
from lexigraft.training.packing import PackedSequences, token_stream

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "[", "]", "MASK"]
SEP, CLS = 3, 2


@pytest.fixture
def tokenizer() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.add_special_tokens([AddedToken(w, normalized=False) for w in WORDS[:5]])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def test_texts_are_joined_and_cut(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    stream, _ = token_stream(["a b", "", "c", "d e a"], tokenizer, tmp_path)
    assert stream.tolist() == [5, 6, SEP, 7, SEP, 8, 9, 5, SEP]
    packed = PackedSequences(stream, 4, cls_id=CLS, sep_id=SEP)
    assert len(packed) == 4
    assert packed.rows([0, 1, 2, 3]).tolist() == [
        [CLS, 5, 6, SEP],
        [CLS, SEP, 7, SEP],
        [CLS, SEP, 8, SEP],
        [CLS, 9, 5, SEP],
    ]


def test_special_tokens_in_a_text_are_text(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    stream, _ = token_stream(["a [MASK] b"], tokenizer, tmp_path)
    assert stream.tolist() == [5, 10, 12, 11, 6, SEP]


def test_truncation_and_padding_of_the_tokenizer_do_not_matter(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    expected, key = token_stream(["a b c", "d"], tokenizer, tmp_path / "one")
    tokenizer(["a b c", "d"], truncation=True, max_length=3, padding="max_length")
    found, again = token_stream(["a b c", "d"], tokenizer, tmp_path / "two")
    assert (found.tolist(), again) == (expected.tolist(), key)


def test_the_file_is_used_again_for_the_same_text_and_tokenizer_only(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    token_stream(["a b"], tokenizer, tmp_path)
    [path] = tmp_path.glob("tokens-*.uint16")
    written = (path.stat().st_ino, path.stat().st_mtime_ns)
    assert token_stream(["a b"], tokenizer, tmp_path)[0].tolist() == [5, 6, SEP]
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == written
    assert token_stream(["a", "b"], tokenizer, tmp_path)[0].tolist() == [5, SEP, 6, SEP]
    tokenizer.add_tokens(["f"])
    assert token_stream(["a b"], tokenizer, tmp_path)[0].tolist() == [5, 6, SEP]
    assert len(list(tmp_path.glob("tokens-*.uint16"))) == 3


def test_no_text_or_too_little(tokenizer: PreTrainedTokenizerFast, tmp_path: Path) -> None:
    for texts in ([], [""]):
        with pytest.raises(LexigraftError, match="no text"):
            token_stream(texts, tokenizer, tmp_path)
    stream, _ = token_stream(["a"], tokenizer, tmp_path)
    with pytest.raises(LexigraftError, match="2 tokens, less than one sequence of 5"):
        PackedSequences(stream, 5, cls_id=CLS, sep_id=SEP)


def test_a_generator_would_be_empty_the_second_time(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    with pytest.raises(TypeError):
        token_stream((text for text in ["a"]), tokenizer, tmp_path)


def items(tokenizer: PreTrainedTokenizerFast, folder: Path, **changes: object) -> MaskedSequences:
    stream, _ = token_stream(["a b c d e"] * 40, tokenizer, folder)
    packed = PackedSequences(stream, 10, cls_id=CLS, sep_id=SEP)
    options = MaskedLmOptions(
        steps=1, batch_size=1, length=10, learning_rate=1, warmup_steps=0, **changes
    )
    return MaskedSequences(packed, tokenizer, options, [7], items=300)


def test_an_item_does_not_depend_on_its_batch(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    made = items(tokenizer, tmp_path)
    together = made.__getitems__(list(range(95)))
    late = items(tokenizer, tmp_path).__getitems__([41])
    for name in ("input_ids", "labels"):
        assert together[name][41].tolist() == late[name][0].tolist() == made[41][name].tolist()
    other = items(tokenizer, tmp_path, seed=43).__getitems__(list(range(95)))
    assert other["labels"].tolist() != together["labels"].tolist()


def test_each_pass_visits_each_sequence_once_in_another_order(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    made = items(tokenizer, tmp_path)
    count = len(made.packed)
    passes = [[made._sequence(p * count + i) for i in range(count)] for p in range(3)]
    assert all(sorted(order) == list(range(count)) for order in passes)
    assert len({tuple(order) for order in passes}) == 3
    assert made._sequence(0) == passes[0][0]


def test_special_tokens_are_neither_predicted_nor_put_in(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    made = items(tokenizer, tmp_path, mask_probability=0.9, corruption=(0.0, 1.0, 0.0))
    batch = made.__getitems__(list(range(300)))
    chosen = batch["labels"] != -100
    assert set(batch["labels"][chosen].tolist()) == {5, 6, 7, 8, 9}
    assert set(batch["input_ids"][chosen].tolist()) == set(range(5, 13))


def test_new_tokens_are_chosen_lambda_times_as_often(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    made = items(tokenizer, tmp_path, new_token_weight=2.0, mask_probability=0.3)
    found = made.measure({7})
    # One word in five is new: 2 / (2 + 4) of the choices, at an unchanged rate.
    assert found["new_share_of_text"] == pytest.approx(1 / 5, abs=0.01)
    assert found["new_share_of_masked"] == pytest.approx(1 / 3, abs=0.05)
    assert found["masked_share"] == pytest.approx(0.3, abs=0.03)


def test_a_token_file_that_was_cut_short_is_refused(
    tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    token_stream(["a b", "c"], tokenizer, tmp_path)
    [path] = tmp_path.glob("tokens-*.uint16")
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(LexigraftError, match="not the tokens that were written"):
        token_stream(["a b", "c"], tokenizer, tmp_path)
