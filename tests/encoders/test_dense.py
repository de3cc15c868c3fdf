"""Mean pooling."""

import torch

from lexigraft.encoders.dense import last_states, mean_pool


def test_by_hand() -> None:
    hidden = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]], [[5.0, 5.0]] * 3])
    mask = torch.tensor([[1, 1, 0], [0, 0, 0]])
    assert mean_pool(hidden, mask).tolist() == [[2.0, 4.0], [0.0, 0.0]]


def test_half_precision_is_averaged_in_float32() -> None:
    hidden = torch.full((1, 4096, 1), 1.0, dtype=torch.bfloat16)
    pooled = mean_pool(hidden, torch.ones(1, 4096))
    assert pooled.dtype == torch.bfloat16
    assert pooled.item() == 1.0


def test_last_states_leave_the_prediction_head_out(make_model) -> None:
    model = make_model("BertConfig")
    ids, mask = torch.tensor([[2, 7, 3]]), torch.ones(1, 3, dtype=torch.long)
    expected = model(ids, mask, output_hidden_states=True).hidden_states[-1]
    torch.testing.assert_close(last_states(model, ids, mask), expected)
