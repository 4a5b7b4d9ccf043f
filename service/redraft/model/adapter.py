"""Every call that depends on the version of transformers. Tested with the range pinned in pyproject.toml."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers import AttentionInterface, PretrainedConfig, PreTrainedModel

from redraft.errors import ModelRefused
from redraft.model.arena import CacheShape
from redraft.model.attention import PassPlan, packed_attention

ATTENTION = "redraft_packed"
_PACK_DEPENDENT_ROPE = {"dynamic", "longrope"}
_RECURRENT = ("linear_attention", "mamba", "recurrent", "conv", "moe_mamba")


def install_attention(model: PreTrainedModel) -> None:
    """Route the model's attention through packed rows.

    No mask function is registered under this name, so transformers builds no mask: the rows carry their own.
    """
    AttentionInterface.register(ATTENTION, packed_attention)
    model.set_attn_implementation(ATTENTION)


@contextmanager
def stock_attention(model: PreTrainedModel) -> Iterator[None]:
    """The model as transformers runs it, for comparison. Eager: it is the only one that knows every variant."""
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(ATTENTION)


@contextmanager
def first_layers(model: PreTrainedModel, count: int) -> Iterator[None]:
    """Only the first `count` layers run, then the final norm and the head: early exit."""
    config = model.config.get_text_config()
    usual, config.num_hidden_layers = config.num_hidden_layers, count
    try:
        yield
    finally:
        config.num_hidden_layers = usual


def packed_logits(
    model: PreTrainedModel, ids: torch.Tensor, positions: torch.Tensor, wanted: torch.Tensor, plan: PassPlan
) -> torch.Tensor:
    """Forward ids int64[1, tokens] at positions int64[1, tokens]; logits[wanted, vocab] at indices `wanted`."""
    output = model(
        input_ids=ids, position_ids=positions, cache=plan, use_cache=True, logits_to_keep=wanted, packed=plan
    )
    logits: torch.Tensor = output.logits[0]
    return logits


def stock_logits(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Plain forward of ids int64[1, tokens] without a cache; logits[tokens, vocab]."""
    logits: torch.Tensor = model(input_ids=ids, use_cache=False).logits[0]
    return logits


def cache_shape(config: PretrainedConfig, dtype: torch.dtype) -> CacheShape:
    """Keys and values of one token; the same head size in every layer is required."""
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    return CacheShape(config.num_hidden_layers, kv_heads, head_dim, dtype)


def refuse_unsupported(config: PretrainedConfig) -> None:
    """Raise ModelRefused for an architecture whose layers packed rows cannot serve; the self-check stands behind."""
    for reason in _reasons_against(config):
        raise ModelRefused(f"{config.model_type}: {reason}")


def _reasons_against(config: PretrainedConfig) -> Iterator[str]:
    if getattr(config, "is_encoder_decoder", False):
        yield "encoder-decoder models cannot use the document as a draft of the same sequence"
    for rope in _rope_types(config):
        if rope in _PACK_DEPENDENT_ROPE:
            yield f"{rope} RoPE looks at the longest position of the whole packed batch"
    if getattr(config, "num_kv_shared_layers", 0):
        yield "layers that share keys and values are not supported"
    if getattr(config, "use_bidirectional_attention", False) or getattr(config, "is_causal", True) is False:
        yield "bidirectional attention cannot verify a draft"
    kinds = set(getattr(config, "layer_types", None) or ())
    for kind in kinds:
        if any(name in kind for name in _RECURRENT) or "chunked" in kind:
            yield f"layers of type {kind!r} keep a state that cannot be cropped"
    if config.model_type == "gpt_oss":
        yield "attention sinks are not supported"


def _rope_types(config: PretrainedConfig) -> Iterator[str]:
    parameters = getattr(config, "rope_parameters", None) or {}
    tables = [parameters, *(value for value in parameters.values() if isinstance(value, dict))]
    yield from (str(table["rope_type"]) for table in tables if "rope_type" in table)
