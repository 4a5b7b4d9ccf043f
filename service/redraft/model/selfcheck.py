"""Compares packed rows, through packed weights, with transformers' own forward before a model is served."""

from __future__ import annotations

import torch

from redraft.errors import ModelRefused
from redraft.model import adapter, packed
from redraft.model.base import PackedRow
from redraft.model.runner import TorchTarget

# Largest difference allowed, relative to the largest logit: float32 rounding differs by about 1e-6 of it, a wrong
# mask, position or head by more than a hundredth.
_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 6e-2, torch.float16: 2e-2}
_LENGTHS = (23, 40)
_CUT = 17


def self_check(target: TorchTarget) -> float:
    """Run two packed ragged rows in two chunks and compare their logits with stock forwards.

    Returns the largest relative difference; raises ModelRefused if it is out of tolerance.
    """
    rows = [_some_ids(length, target.spec.vocab_size) for length in _LENGTHS]
    ours = _packed(target, rows)
    with torch.inference_mode(), adapter.stock_attention(target.model), packed.plain_linear(target.model):
        stock = [adapter.stock_logits(target.model, torch.tensor([row], device=target.model.device)) for row in rows]
    worst = max(_difference(mine, theirs) for mine, theirs in zip(ours, stock, strict=True))
    if not worst <= _TOLERANCE[target.model.dtype]:
        raise ModelRefused(
            f"{target.spec.name}: packed rows differ from transformers' own forward by {worst:.2g} of the logits"
        )
    return worst


def _some_ids(length: int, vocabulary: int) -> list[int]:
    """Fixed ids spread over the vocabulary."""
    return [(7919 * (length + i) + 31) % vocabulary for i in range(length)]


def _packed(target: TorchTarget, rows: list[list[int]]) -> list[torch.Tensor]:
    slots = []
    for row in rows:
        slot = target.slots.acquire(row, len(row), "self-check")
        if slot is None:
            raise ModelRefused("the key/value budget does not even hold the self-check")
        slots.append(slot)
    chunks: list[list[torch.Tensor]] = [[] for _ in rows]
    for start, end in ((0, _CUT), (_CUT, None)):
        parts = [row[start:end] for row in rows]
        logits = target.forward([PackedRow(slot, part, 0) for slot, part in zip(slots, parts, strict=True)])
        pieces = logits.split([len(part) for part in parts])
        for slot, part, chunk, piece in zip(slots, parts, chunks, pieces, strict=True):
            slot.extend(part)
            chunk.append(piece)
    for slot in slots:
        target.slots.discard(slot)
    return [torch.cat(chunk) for chunk in chunks]


def _difference(mine: torch.Tensor, theirs: torch.Tensor) -> float:
    return float((mine.float() - theirs.float()).abs().max() / theirs.float().abs().max().clamp_min(1e-6))
