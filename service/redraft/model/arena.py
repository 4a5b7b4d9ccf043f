"""The tensors behind the slots: keys and values of every layer, token-major."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What one token's keys and values take in every layer."""

    layers: int
    kv_heads: int
    head_dim: int
    dtype: torch.dtype

    @property
    def bytes_per_token(self) -> int:
        return 2 * self.layers * self.kv_heads * self.head_dim * self.dtype.itemsize


class Arena:
    """keys[layer], values[layer]: [tokens, kv_heads, head_dim].

    Token-major, so that a pass appends with one copy a row and CUDA's variable-length attention reads it as it is.
    On CPU the memory is committed by the operating system only as it is written.
    """

    def __init__(self, shape: CacheShape, tokens: int, device: torch.device) -> None:
        size = (tokens, shape.kv_heads, shape.head_dim)
        self.keys = [torch.empty(size, dtype=shape.dtype, device=device) for _ in range(shape.layers)]
        self.values = [torch.empty(size, dtype=shape.dtype, device=device) for _ in range(shape.layers)]

    @property
    def bytes(self) -> int:
        """How many bytes all positions take."""
        return sum(tensor.nbytes for tensor in (*self.keys, *self.values))

    def copy(self, source: int, destination: int, count: int) -> None:
        """Copy `count` tokens' keys and values between two ranges that do not overlap."""
        for tensor in (*self.keys, *self.values):
            tensor[destination : destination + count] = tensor[source : source + count]
