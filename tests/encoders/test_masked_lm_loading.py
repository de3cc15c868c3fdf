"""Loading masked language models: both halves, and every refusal."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import CONFIGS, SIZE
from transformers import AutoModelForSequenceClassification, BertConfig, BertModel

from lexigraft.encoders.decoder import output_projection, project_states
from lexigraft.encoders.masked_lm import load_masked_lm, save_masked_lm
from lexigraft.errors import LexigraftError


@pytest.mark.parametrize("config", CONFIGS)
def test_hidden_times_weight_plus_bias_are_the_logits(
    config: str, make_model, tokenizer, tmp_path: Path
) -> None:
    save_masked_lm(make_model(config), tokenizer, tmp_path)
    model, read = load_masked_lm(tmp_path)
    batch = read(["solve a linear System", "matrix"], padding=True, return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    hidden = project_states(model, ids, mask)
    weight, bias = output_projection(model)
    logits = hidden @ weight.T if bias is None else hidden @ weight.T + bias
    expected = model(input_ids=ids, attention_mask=mask).logits
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)
    assert hidden.shape[-1] == weight.shape[1]
    assert not model.training


def test_states_carry_gradients_to_every_layer(make_model) -> None:
    model = make_model("ModernBertConfig")
    ids = torch.tensor([[2, 9, 11, 3]])
    project_states(model, ids, torch.ones_like(ids)).square().sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None]
    assert without == ["decoder.bias"]


def test_the_decoder_is_itself_again_after_an_error(make_model) -> None:
    model = make_model("BertConfig")
    ids = torch.tensor([[2, 3]])
    with pytest.raises(IndexError):
        project_states(model, torch.tensor([[10_000]]), torch.ones(1, 1))
    assert model(input_ids=ids).logits.shape[-1] == SIZE["vocab_size"]


def test_special_ids_become_the_tokenizers(make_model, tokenizer, tmp_path: Path) -> None:
    model = make_model("ModernBertConfig")
    model.config.mask_token_id, model.config.sep_token_id = 77, 78
    save_masked_lm(model, tokenizer, tmp_path, max_length=32)
    config = json.loads((tmp_path / "config.json").read_text())
    assert (config["cls_token_id"], config["sep_token_id"], config["pad_token_id"]) == (2, 3, 0)
    assert load_masked_lm(tmp_path)[1].model_max_length == 32


@pytest.fixture
def folder(make_model, tokenizer, tmp_path: Path) -> Path:
    save_masked_lm(make_model("BertConfig"), tokenizer, tmp_path / "model")
    return tmp_path / "model"


def refused(location: Path | str, message: str) -> None:
    with pytest.raises(LexigraftError, match=message) as caught:
        load_masked_lm(location)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["results/backbone/none", "/nowhere", "../nowhere", "~/nowhere"])
def test_a_missing_folder(name: str) -> None:
    refused(name, "no such folder")


def test_a_name_that_the_hub_cannot_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(*_: object, **__: object) -> None:
        raise OSError("no connection\nto the hub")

    monkeypatch.setattr("transformers.PretrainedConfig.get_config_dict", offline)
    refused("nobody/nothing-of-that-name", "neither a model folder nor")


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    refused(tmp_path, r"no config\.json")


def test_another_head(folder: Path, tokenizer) -> None:
    model = AutoModelForSequenceClassification.from_config(BertConfig(**SIZE))
    model.save_pretrained(folder)
    refused(folder, "no masked-language-model head .*BertForSequenceClassification")


def test_a_head_that_the_checkpoint_lacks(folder: Path) -> None:
    BertModel(BertConfig(**SIZE)).save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    refused(folder, "the checkpoint lacks .* weights of BertForMaskedLM")


def test_remote_code(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "architectures": ["OurOwnForMaskedLM"],
        "auto_map": {"AutoModelForMaskedLM": "modeling_own.OurOwnForMaskedLM"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    refused(folder, "needs remote code")


def test_an_unknown_kind_of_model(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "no-such-type"}))
    refused(folder, "not loadable as a masked language model")


def test_corrupt_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    refused(folder, "corrupt weights")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"intermediate_size": 48}, r"do not fit config\.json \(.* is \(32,\), .* says \(48,\)"),
        ({"hidden_size": 32}, r"do not fit config\.json \(.* is \(16,\), .* says \(32,\)"),
        ({"hidden_size": "abc"}, "not loadable as a masked language model .*'hidden_size'"),
        ({"num_attention_heads": 0}, "not loadable as a masked language model"),
        ({"architectures": "BertForMaskedLM"}, "'architectures' is 'BertForMaskedLM', a list"),
        ({"architectures": [3]}, r"'architectures' is \[3\], not names"),
    ],
)
def test_a_config_that_is_not_the_models(
    folder: Path, change: dict[str, object], told: str
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | change))
    refused(folder, told)


@pytest.mark.parametrize(
    ("text", "told"),
    [("{", "not valid JSON"), ("", "not valid JSON"), ("[]", "list found, a JSON object is")],
)
def test_a_broken_config(folder: Path, text: str, told: str) -> None:
    (folder / "config.json").write_text(text)
    refused(folder, rf"config\.json: {told}")


def test_weights_that_are_not_finite(folder: Path) -> None:
    path = folder / "model.safetensors"
    weights = load_file(path)
    name = next(name for name in weights if name.endswith("word_embeddings.weight"))
    weights[name][7, 3] = torch.nan
    save_file(weights, path, metadata={"format": "pt"})
    refused(folder, "word_embeddings.weight holds a value that is not a finite number")


def test_pickled_weights(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, r"only pickled ones \(pytorch_model\.bin\)")


def test_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, "no weights in safetensors format, none at all")


def test_no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    refused(folder, "no tokenizer file")


def test_a_tokenizer_with_ids_beyond_the_embeddings(folder: Path, tokenizer) -> None:
    import copy

    larger = copy.deepcopy(tokenizer)
    larger.add_tokens(["beyond"])
    larger.save_pretrained(folder)
    refused(folder, "do not fit the tokenizer .*largest id")


def test_an_unreadable_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    refused(folder, "unreadable tokenizer")


@pytest.mark.parametrize("longest", ["x", [3], 0, -5, True])
def test_a_length_that_is_none(folder: Path, longest: object) -> None:
    path = folder / "tokenizer_config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "model_max_length": longest}), encoding="utf-8")
    refused(folder, r"tokenizer_config\.json: model_max_length: found .*; allowed: 1 and more")


def test_a_head_that_adds_to_its_decoder(tokenizer, tmp_path: Path) -> None:
    """ESM's bias is beside its decoder, so its logits are not those of the decoder alone."""
    from transformers import EsmConfig, EsmForMaskedLM

    model = EsmForMaskedLM(EsmConfig(**SIZE, mask_token_id=4))
    torch.nn.init.normal_(model.lm_head.bias)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    refused(tmp_path, "not those of its decoder alone")


def test_copies_without_sentence_transformers_files_load_too(folder: Path) -> None:
    shutil.rmtree(folder / "1_SpladePooling")
    (folder / "modules.json").unlink()
    load_masked_lm(folder)


def test_modernbert_says_nothing(
    make_model, tokenizer, tmp_path: Path, recwarn: pytest.WarningsRecorder, caplog
) -> None:
    save_masked_lm(make_model("ModernBertConfig"), tokenizer, tmp_path)
    model, _ = load_masked_lm(tmp_path)
    ids = torch.tensor([[2, 9, 3]])
    project_states(model, ids, torch.ones_like(ids))
    assert [str(w.message) for w in recwarn.list] == []
    assert [r.message for r in caplog.records if r.levelname in ("WARNING", "ERROR")] == []
