"""Packed rows against transformers' own forward, family by family."""

from __future__ import annotations

import pytest
import tiny_models
import torch
from redraft.errors import ModelRefused
from redraft.model import adapter
from redraft.model.attention import packed_attention
from redraft.model.base import PackedRow
from redraft.model.selfcheck import self_check
from transformers import LlamaConfig, Phi3Config


@pytest.mark.parametrize("family", tiny_models.CONFIGS)
def test_packed_chunks_equal_stock_forwards(family):
    assert self_check(tiny_models.target(tiny_models.build(family))) < 1e-5


@pytest.mark.parametrize("family", tiny_models.CONFIGS)
def test_rejected_draft_leaves_no_trace(family):
    target = tiny_models.target(tiny_models.build(family))
    ids = [(37 * i + 5) % tiny_models.VOCAB for i in range(60)]
    slot = target.slots.acquire(ids, 128, "")
    target.forward([PackedRow(slot, ids[:40], 40)])
    slot.extend(ids[:40])
    target.forward([PackedRow(slot, [*ids[40:42], 9, 9, 9, 9], 0)])  # a draft of which two tokens are accepted
    slot.extend(ids[40:42])
    last = target.forward([PackedRow(slot, ids[42:], len(ids) - 43)])
    with torch.inference_mode(), adapter.stock_attention(target.model):
        stock = adapter.stock_logits(target.model, torch.tensor([ids]))
    assert torch.allclose(last[-1], stock[-1], atol=1e-5)


def test_prefix_is_copied_between_slots():
    target = tiny_models.target(tiny_models.build("llama"))
    ids = list(range(3, 43))
    first = target.slots.acquire(ids, 64, "a")
    target.forward([PackedRow(first, ids, 0)])
    first.extend(ids)
    second = target.slots.acquire([*ids[:30], 99, 98], 64, "a")
    assert second.length == 30
    stranger = target.slots.acquire(ids, 64, "b")
    assert stranger.length == 0
    ours = target.forward([PackedRow(second, [99, 98], 0)])
    theirs = target.forward([PackedRow(stranger, [*ids[:30], 99, 98], 30)])
    assert torch.allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    "config",
    [
        LlamaConfig(rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}),
        LlamaConfig(is_encoder_decoder=True),
        Phi3Config(layer_types=["linear_attention"] * 32),
    ],
)
def test_unsupported_architectures_are_refused(config):
    with pytest.raises(ModelRefused):
        adapter.refuse_unsupported(config)


def test_unknown_attention_keyword_is_refused():
    nothing = torch.zeros(1, 1, 1, 8)
    with pytest.raises(ModelRefused, match="s_aux"):
        packed_attention(torch.nn.Identity(), nothing, nothing, nothing, None, packed=None, scaling=1.0, s_aux=nothing)
