"""Calibration: what a shift does to logits, and rates against a count over plain logits."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from transformers import AutoModelForMaskedLM

from lexigraft.encoders.masked_lm import save_masked_lm
from lexigraft.errors import LexigraftError
from lexigraft.transfer import calibrate, calibration
from lexigraft.transfer.calibration import shift_for_rate

ARCHITECTURES = ("bert", "roberta", "modernbert")


def plain_rates(model, tokenizer, texts: list[str]) -> tuple[float, float]:
    """Pooled and per-position rates from whole logits, one text at a time: no padding, no tiles."""
    pooled, single = [], []
    for text in texts:
        logits = model(**tokenizer(text, return_tensors="pt")).logits[0, :, : len(tokenizer)]
        pooled.append((logits > 0).any(0).double().mean())
        single.append((logits > 0).flatten())
    return float(torch.stack(pooled).mean()), float(torch.cat(single).double().mean())


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("tied", [True, False])
def test_a_shift_moves_every_logit_by_itself(
    architecture: str, tied: bool, byte_bpe, build, sentences, tmp_path: Path
) -> None:
    model = build(architecture, byte_bpe, tie_word_embeddings=tied)
    inputs = byte_bpe(sentences, return_tensors="pt", padding=True)
    before = model(**inputs).logits
    result = calibrate(model, byte_bpe, sentences, shift=1.5)
    assert result.shift == 1.5
    torch.testing.assert_close(model(**inputs).logits, before - 1.5)
    save_masked_lm(model, byte_bpe, tmp_path)
    loaded = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    assert torch.equal(loaded(**inputs).logits, model(**inputs).logits)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_rates_are_those_of_plain_logits(
    architecture: str, byte_bpe, build, sentences, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With rows that no token uses, whose logits are huge, tiles of a few entries, and padding."""
    model = build(architecture, byte_bpe, rows=len(byte_bpe) + 40)
    model.get_output_embeddings().bias.data[len(byte_bpe) :] = 1e4
    monkeypatch.setattr(calibration, "LOGITS_IN_A_TILE", 900)
    before = plain_rates(model, byte_bpe, sentences)
    result = calibrate(model, byte_bpe, sentences, shift=0.7, batch_size=4)
    after = plain_rates(model, byte_bpe, sentences)
    assert (result.before.rate, result.before.position_rate) == pytest.approx(before)
    assert (result.after.rate, result.after.position_rate) == pytest.approx(after)
    assert result.before.rate > result.after.rate
    assert result.before.health["active_share"] == pytest.approx(before[0])
    assert result.positions == sum(len(byte_bpe(text)["input_ids"]) for text in sentences)


@pytest.mark.parametrize("rate", [0.1, 0.37, 0.9])
def test_a_rate_is_met_to_one_entry(rate: float, byte_bpe, build, sentences) -> None:
    model = build("modernbert", byte_bpe)
    result = calibrate(model, byte_bpe, sentences, rate=rate)
    assert result.after.rate == pytest.approx(rate, abs=1 / result.after.pooled.size)
    assert plain_rates(model, byte_bpe, sentences)[0] == pytest.approx(result.after.rate)


@settings(max_examples=100, deadline=None)
@given(
    arrays(np.float32, (3, 7), elements=st.floats(-9, 9, width=32), unique=True),
    st.floats(0.01, 0.99),
)
def test_the_shift_leaves_the_asked_number_above_it(pooled: np.ndarray, rate: float) -> None:
    shift = shift_for_rate(pooled, rate)
    active = sum(value > shift for value in pooled.ravel().tolist())
    assert abs(active - rate * 21) <= 1
    assert 1 <= active <= 20


def test_the_shift_by_hand() -> None:
    assert shift_for_rate(np.array([[5.0, 1.0], [3.0, -1.0]]), 0.5) == 2
    assert shift_for_rate(np.array([[5.0, 1.0], [3.0, -1.0]]), 0.25) == 4


def test_a_decoder_without_a_bias_gets_one(byte_bpe, build, sentences, tmp_path: Path) -> None:
    model = build("modernbert", byte_bpe, decoder_bias=False)
    inputs = byte_bpe(sentences, return_tensors="pt", padding=True)
    before = model(**inputs).logits
    calibrate(model, byte_bpe, sentences, shift=2.0)
    save_masked_lm(model, byte_bpe, tmp_path)
    loaded = AutoModelForMaskedLM.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(loaded(**inputs).logits, before - 2)


@pytest.mark.parametrize(("shift", "verdict"), [(-1e3, "dense collapse"), (1e3, "dead outputs")])
def test_collapse_is_told(
    shift: float, verdict: str, byte_bpe, build, sentences, caplog: pytest.LogCaptureFixture
) -> None:
    result = calibrate(build("bert", byte_bpe), byte_bpe, sentences, shift=shift)
    assert result.after.health["verdict"] == verdict
    assert f"{verdict} after calibration" in caplog.text


def test_the_mode_of_the_model_is_kept(byte_bpe, build, sentences) -> None:
    model = build("bert", byte_bpe).train()
    calibrate(model, byte_bpe, sentences, shift=1.0)
    assert model.training


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a shift or"),
        ({"shift": 1.0, "rate": 0.1}, "either a shift or"),
        ({"rate": 1.0}, "rate is 1.0; it must lie between 0 and 1"),
        ({"rate": 40.0}, "rate is 40.0"),
        ({"shift": math.nan}, "shift is nan"),
        ({"shift": 1.0, "texts": []}, "no probe document"),
        ({"shift": 1.0, "length": 9999}, "9999 tokens"),
    ],
)
def test_what_is_refused(options: dict, message: str, byte_bpe, build) -> None:
    model = build("bert", byte_bpe)
    given = {"texts": ["heat"], "length": 32, **options}
    with pytest.raises(LexigraftError, match=message):
        calibrate(model, byte_bpe, **given)
