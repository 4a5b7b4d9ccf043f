"""A LoRA in peft's format is merged into the weights: the model then writes what peft's own model would."""

from __future__ import annotations

import pytest
import tiny_models
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from redraft.bench.random_model import byte_tokenizer
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.errors import ModelRefused
from redraft.model import adapter, loading, lora
from redraft.model.loading import LoadOptions, load
from transformers import AutoModelForCausalLM

IDS = torch.tensor([[5, 9, 30, 77, 200, 11]])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """(model, adapter that fits it, adapter of another size)."""
    root = tmp_path_factory.mktemp("lora")
    tiny_models.build("llama", torch.float32).save_pretrained(root / "model")
    byte_tokenizer().save_pretrained(root / "model")
    for name, family in (("adapter", "llama"), ("other", "phi3")):
        config = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM")
        get_peft_model(tiny_models.build(family, torch.float32), config).save_pretrained(root / name)
    return root / "model", root / "adapter", root / "other"


def test_the_merged_model_is_that_of_peft(folders):
    model, fitting, _ = folders
    loaded = load(LoadOptions(str(model), adapter=str(fitting)))
    assert loaded.target.spec.adapter == "adapter"
    expected = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32), str(fitting))
    plain = load(LoadOptions(str(model)))
    with (
        torch.inference_mode(),
        adapter.stock_attention(loaded.target.model),
        adapter.stock_attention(plain.target.model),
    ):
        theirs = expected(input_ids=IDS).logits
        assert torch.allclose(loaded.target.model(input_ids=IDS).logits, theirs, atol=1e-4)
        assert not torch.allclose(plain.target.model(input_ids=IDS).logits, theirs, atol=1e-2)


def test_get_model_names_it(folders):
    model, fitting, _ = folders
    service = EngineService(load(LoadOptions(str(model), adapter=str(fitting))), SchedulerLimits())
    assert service.info().adapter == "adapter"


def test_an_adapter_that_is_none_or_does_not_fit_is_refused(folders, tmp_path):
    model, _, other = folders
    with pytest.raises(ModelRefused, match="no LoRA adapter"):
        load(LoadOptions(str(model), adapter=str(tmp_path)))
    with pytest.raises(ModelRefused, match="does not fit"):
        load(LoadOptions(str(model), adapter=str(other)))


def test_none_means_none(folders):
    assert load(LoadOptions(str(folders[0]), adapter="none")).target.spec.adapter == ""


def test_the_demo_is_merged_once_and_named(folders, monkeypatch):
    model, fitting, _ = folders
    monkeypatch.setattr(loading, "demo_file", lambda: model / "config.json")
    monkeypatch.setattr(loading, "_converted", lambda gguf: model)
    monkeypatch.setattr(lora, "demo_adapter", lambda: fitting)
    first = load(LoadOptions())
    monkeypatch.setattr(lora, "merged", lambda *_: pytest.fail("merged twice"))
    second = load(LoadOptions())
    assert first.target.spec.adapter == second.target.spec.adapter == lora.DEMO_ADAPTER_NAME
    assert second.target.spec.demo
    heads = [loaded.target.model.get_output_embeddings() for loaded in (first, second)]
    with torch.inference_mode():
        assert torch.equal(*(head(torch.eye(head.in_features)) for head in heads))
