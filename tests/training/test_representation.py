import pytest
import torch

from lexigraft.encoders import load_masked_lm
from lexigraft.training.representation import by_length, text_encoder
from tiny_retrieval import tiny_model

SHORT = "w1 w2"
LONG = " ".join(f"w{i}" for i in range(28))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory):
    return load_masked_lm(tiny_model(tmp_path_factory.mktemp("model") / "model"))


def tokens_of(tokenizer, texts: list[str]) -> dict[str, torch.Tensor]:
    return dict(tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False))


def test_the_sparse_head_by_the_plain_formula(loaded) -> None:
    model, tokenizer = loaded
    tokens = tokens_of(tokenizer, [SHORT, LONG, SHORT, SHORT])
    activation = torch.log1p(model(**tokens).logits.relu()) * tokens["attention_mask"][..., None]
    torch.testing.assert_close(text_encoder(model, "splade")(tokens), activation.amax(1))


def test_the_dense_head_is_the_mean_of_real_positions(loaded) -> None:
    model, tokenizer = loaded
    tokens = tokens_of(tokenizer, [SHORT, LONG, SHORT, SHORT])
    hidden = model.bert(**tokens).last_hidden_state
    # [CLS] w1 w2 [SEP]
    expected = torch.stack([hidden[0, :4].mean(0), hidden[1].mean(0)])
    torch.testing.assert_close(text_encoder(model, "dense")(tokens)[:2], expected)


@pytest.mark.parametrize(
    ("texts", "shapes"),
    [
        ([SHORT, LONG, SHORT, SHORT], [(3, 4), (1, 30)]),
        ([SHORT, LONG, LONG, LONG], [(4, 30)]),
        ([SHORT, SHORT], [(2, 4)]),
    ],
)
def test_texts_of_like_length_share_a_pass_where_it_pays(loaded, texts, shapes) -> None:
    _, tokenizer = loaded
    seen = []

    def states(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        seen.append(tuple(ids.shape))
        return (ids * mask)[..., None].float()

    tokens = tokens_of(tokenizer, texts)
    hidden = by_length(states, tokens)
    assert seen == shapes
    assert torch.equal(hidden[..., 0], (tokens["input_ids"] * tokens["attention_mask"]).float())
