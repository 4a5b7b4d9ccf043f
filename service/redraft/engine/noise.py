"""Counter-based Gumbel noise: a pure function of (seed, position, token id), cheap where most tokens cannot win."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn import functional as F

BLOCK = 64
"""Token ids that share one block's maximum; see `BlockNoise`."""

_MASK = (1 << 64) - 1
_LARGEST, _WINNER, _TOKEN, _TEST = 1, 2, 3, 4  # independent streams of one (seed, position)


def _mix(value: int) -> int:
    """Finaliser of SplitMix64 (Steele, Lea and Flood 2014) on a Python integer."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def _signed(value: int) -> int:
    """The int64 with the same bits."""
    return value - (1 << 64) if value >> 63 else value


def _key(seed: int, position: int, stream: int) -> int:
    return _signed(_mix(_mix(_mix(seed & _MASK) + position & _MASK) + stream * 0x9E3779B97F4A7C15 & _MASK))


def _shift(bits: torch.Tensor, count: int) -> torch.Tensor:
    """Logical right shift of int64."""
    return (bits >> count) & ((1 << (64 - count)) - 1)


def _hash(keys: torch.Tensor, counters: torch.Tensor) -> torch.Tensor:
    """64 well-mixed bits for each (key, counter); int64 with wrap-around, the same on every device."""
    bits = keys + counters * _signed(0x9E3779B97F4A7C15)
    bits = (bits ^ _shift(bits, 30)) * _signed(0xBF58476D1CE4E5B9)
    bits = (bits ^ _shift(bits, 27)) * _signed(0x94D049BB133111EB)
    return bits ^ _shift(bits, 31)


def _uniform(bits: torch.Tensor) -> torch.Tensor:
    """float64 strictly between 0 and 1 from the upper 53 bits."""
    return (_shift(bits, 11).double() + 0.5) * 2.0**-53


def uniform(seed: int, position: int) -> float:
    """One number strictly between 0 and 1 for each (seed, position)."""
    return ((_key(seed, position, _TEST) >> 11 & (1 << 53) - 1) + 0.5) * 2.0**-53


def in_blocks(scores: torch.Tensor) -> torch.Tensor:
    """scores [rows, ids] as [rows, blocks, 64], padded with -inf."""
    missing = -scores.shape[-1] % BLOCK
    if missing:
        scores = F.pad(scores, (0, missing), value=-torch.inf)
    return scores.view(len(scores), -1, BLOCK)


@dataclass(frozen=True, slots=True)
class BlockNoise:
    """Independent standard Gumbels for every token id at several positions, revealed from the top down.

    Per block of 64 ids the largest of its 64 Gumbels is drawn first (it is Gumbel with location log 64) with the id
    that attains it; the other ids' noise is Gumbel truncated below that. Jointly this is exactly independent noise,
    and a block whose best score plus largest noise cannot win is never looked into. The top-down order is that of
    Maddison, Tarlow and Minka 2014 ("A* sampling"), cut to two levels.
    """

    counters: tuple[tuple[int, int], ...]  # (seed, output position), one a row
    device: torch.device

    def rows(self, rows: Sequence[int]) -> BlockNoise:
        """The same noise for some of the rows."""
        return BlockNoise(tuple(self.counters[row] for row in rows), self.device)

    def all_blocks(self, count: int) -> torch.Tensor:
        """float64[rows, count]: the largest noise in each of the vocabulary's blocks."""
        return self.largest(torch.arange(count, device=self.device)[None, :])

    def largest(self, blocks: torch.Tensor) -> torch.Tensor:
        """float64[rows, k]: the largest noise in the blocks int64[rows or 1, k]."""
        uniform = _uniform(_hash(self._keys(_LARGEST), blocks))
        return -torch.log(-torch.log(uniform)) + math.log(BLOCK)

    def tokens(self, blocks: torch.Tensor, largest: torch.Tensor) -> torch.Tensor:
        """float64[rows, k, 64]: noise of every id in blocks int64[rows, k], whose largest is given in [rows, k]."""
        offsets = torch.arange(BLOCK, device=self.device)
        winner = _hash(self._keys(_WINNER), blocks) & (BLOCK - 1)
        ids = blocks[..., None] * BLOCK + offsets
        exponential = -torch.log(_uniform(_hash(self._keys(_TOKEN)[..., None], ids)))
        truncated = -torch.log(torch.exp(-largest)[..., None] + exponential)
        return torch.where(offsets == winner[..., None], largest[..., None], truncated)

    def _keys(self, stream: int) -> torch.Tensor:
        keys = [_key(seed, position, stream) for seed, position in self.counters]
        return torch.tensor(keys, dtype=torch.int64, device=self.device)[:, None]
