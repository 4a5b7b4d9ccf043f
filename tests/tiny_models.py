"""Random-weight models of every supported family, small enough for a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from redraft.bench.random_model import byte_tokenizer
from redraft.model.base import ModelSpec
from redraft.model.loading import LoadedModel
from redraft.model.runner import TorchTarget
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GenerationConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
)

VOCAB = 320
END = 2
_SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "bos_token_id": 1,
    "eos_token_id": END,
    "pad_token_id": 0,
}

CONFIGS: dict[str, Callable[[], object]] = {
    "llama": lambda: LlamaConfig(**_SHAPE),
    "qwen2": lambda: Qwen2Config(**_SHAPE),
    "qwen3": lambda: Qwen3Config(**_SHAPE, head_dim=8),
    "mistral-sliding": lambda: MistralConfig(**_SHAPE, sliding_window=16),
    "gemma2": lambda: Gemma2Config(**_SHAPE, head_dim=8, query_pre_attn_scalar=8, sliding_window=16),
    "gemma3": lambda: Gemma3TextConfig(**_SHAPE, head_dim=8, query_pre_attn_scalar=8, sliding_window=16),
    "phi3": lambda: Phi3Config(**_SHAPE),
}


def build(family: str, dtype: torch.dtype = torch.float64) -> PreTrainedModel:
    """A fresh model with fixed random weights, larger than usual so that choices are clear."""
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(CONFIGS[family]()).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(6)
    return model


def target(model: PreTrainedModel, arena_tokens: int = 4096) -> TorchTarget:
    """A target over the model (which is switched to packed attention)."""
    dtype = str(model.dtype).removeprefix("torch.")
    spec = ModelSpec("tiny", 512, VOCAB, (END,), "cpu", dtype, sum(p.numel() for p in model.parameters()))
    return TorchTarget(model, spec, arena_tokens)


def loaded(family: str = "llama", arena_tokens: int = 20_000) -> LoadedModel:
    """A tiny model as the service takes it; 2,048 tokens of context."""
    model = build(family)
    spec = replace(target(model).spec, context_length=2048)
    return LoadedModel(TorchTarget(model, spec, arena_tokens), byte_tokenizer(), GenerationConfig(eos_token_id=END))
