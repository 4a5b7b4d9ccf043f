"""Packed linear layers compute what plain ones do, for passes of every size, and never where they do not fit."""

from __future__ import annotations

import pytest
import tiny_models
import torch
from redraft.errors import ModelRefused
from redraft.model import packed
from redraft.model.selfcheck import self_check
from torch import nn

needs_onednn = pytest.mark.skipif(not packed._available(), reason="this torch has no oneDNN")


def packed_copy(linear):
    holder = nn.Sequential(nn.Linear(linear.in_features, linear.out_features, linear.bias is not None))
    holder.load_state_dict({f"0.{name}": value for name, value in linear.state_dict().items()})
    packed.pack(holder)
    return holder


@needs_onednn
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), [(1, 1), (7, 33), (64, 48), (576, 192)])
@pytest.mark.parametrize("rows", [0, 1, 2, 5, 16, 33, 130])
def test_equals_the_plain_layer(inputs, outputs, rows, bias):
    torch.manual_seed(rows)
    linear = nn.Linear(inputs, outputs, bias)
    layer = packed_copy(linear)
    assert packed.is_packed(layer)
    wide = torch.randn(1, rows, 2 * inputs)
    with torch.inference_mode():
        for x in (wide[..., :inputs], wide[..., inputs:]):  # neither is contiguous
            torch.testing.assert_close(layer(x), linear(x), rtol=1e-5, atol=1e-5)
            with packed.plain_linear(layer):
                assert torch.equal(layer(x), linear(x))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_types_stay_plain(dtype):
    model = nn.Sequential(nn.Linear(4, 4, dtype=dtype))
    packed.pack(model)
    assert type(model[0]) is nn.Linear
    assert not packed.is_packed(model)


def test_a_subclass_stays_as_it_is():
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    model = nn.Sequential(Doubled(4, 4))
    packed.pack(model)
    assert type(model[0]) is Doubled


def test_a_torch_without_the_operators_keeps_plain_layers(monkeypatch):
    monkeypatch.setattr(packed, "_available", lambda: False)
    model = nn.Sequential(nn.Linear(4, 4))
    packed.pack(model)
    assert type(model[0]) is nn.Linear


@needs_onednn
@pytest.mark.parametrize("family", sorted(tiny_models.CONFIGS))
def test_every_family_passes_the_self_check_with_packed_weights(family):
    target = tiny_models.target(tiny_models.build(family, torch.float32))
    before = target.memory
    packed.pack(target.model)
    assert packed.is_packed(target.model)
    assert target.memory >= before  # a tied output layer has its own copy now
    assert self_check(target) < 1e-4


@needs_onednn
def test_the_self_check_sees_a_kernel_that_computes_something_else(monkeypatch):
    target = tiny_models.target(tiny_models.build("llama", torch.float32))
    packed.pack(target.model)
    forward = packed.PackedLinear.forward
    monkeypatch.setattr(
        packed.PackedLinear, "forward", lambda layer, x: forward(layer, x) * (1 if layer.plain else 1.1)
    )
    with pytest.raises(ModelRefused, match="differ"):
        self_check(target)
