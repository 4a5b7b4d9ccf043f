"""Linear weights laid out for the CPU's matrix kernels: a pass of few tokens spends its time reading them.

torch hands a plain matrix to its BLAS, which reads it in an order that suits long passes. oneDNN can reorder weights
once into blocks that its kernels read straight through. A pass that verifies a draft, some 2 to 64 tokens, gains most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

# What oneDNN is told to expect when it chooses the blocks. The layout it chooses for 16 rows was the best one for 1 and
# for 256 rows too, so one layout serves every pass.
_ROWS = 16


class PackedLinear(nn.Module):
    """A float32 `nn.Linear` on the CPU, its weights in oneDNN's blocks. Cannot be trained, moved or saved."""

    weight: torch.Tensor

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach(), _ROWS)
        self.register_buffer("weight", packed, persistent=False)
        self.bias = linear.bias
        self.plain = False

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs[..., in] -> outputs[..., out]."""
        if self.plain:
            return nn.functional.linear(inputs, self.weight.to_dense(), self.bias)
        outputs: torch.Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self.weight, self.bias, "none", [], "")
        return outputs


def pack(model: nn.Module) -> None:
    """Lay out the model's linear weights for passes on the CPU, in place of the plain ones.

    Nothing happens to weights that oneDNN has no such layout for: on another device, of another type than float32. An
    output layer that shares its weights with the input embedding gets a copy of its own.
    """
    if not _available():
        return
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and _fits(child):
                setattr(parent, name, PackedLinear(child))


def is_packed(model: nn.Module) -> bool:
    """Whether `pack` has found anything to do."""
    return any(isinstance(module, PackedLinear) for module in model.modules())


@contextmanager
def plain_linear(model: nn.Module) -> Iterator[None]:
    """The model's linear layers computed from plain weights by torch's own kernel, for comparison. Slow."""
    layers = [module for module in model.modules() if isinstance(module, PackedLinear)]
    for layer in layers:
        layer.plain = True
    try:
        yield
    finally:
        for layer in layers:
            layer.plain = False


def _available() -> bool:
    """The operators are torch's own for compiled graphs and not part of its public interface: they may go."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in operators)


def _fits(module: nn.Linear) -> bool:
    """Subclasses are left alone: they may compute something else."""
    return type(module) is nn.Linear and module.weight.device.type == "cpu" and module.weight.dtype == torch.float32
