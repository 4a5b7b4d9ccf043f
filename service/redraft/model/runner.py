"""Packed ragged forward: the pending tokens and drafts of all edits in one pass of the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain

import torch
from transformers import PreTrainedModel

from redraft.model import adapter
from redraft.model.arena import Arena
from redraft.model.attention import PassPlan, RowPlan, VarlenTables
from redraft.model.base import ModelSpec, PackedRow
from redraft.model.clock import Clock, DeviceClock, HostClock
from redraft.model.kv import SlotPool


class TorchTarget:
    """A transformers model behind the `Target` interface, with its own arena of keys and values."""

    def __init__(self, model: PreTrainedModel, spec: ModelSpec, arena_tokens: int) -> None:
        """The model is switched to packed attention; arena_tokens: positions that all slots together may hold."""
        adapter.refuse_unsupported(model.config)
        adapter.install_attention(model)
        self.model = model.eval()
        self._spec = spec
        self._device = model.device
        shape = adapter.cache_shape(model.config, model.dtype)
        self._arena = Arena(shape, arena_tokens, self._device)
        self._slots = SlotPool(arena_tokens, self._arena.copy)
        # Variable-length attention has no float32 kernel; there SDPA runs row by row, as on the CPU.
        self._clock: Clock = DeviceClock() if self._device.type == "cuda" else HostClock()
        self._varlen = self._device.type == "cuda" and model.dtype in (torch.bfloat16, torch.float16)

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    @property
    def slots(self) -> SlotPool:
        return self._slots

    def forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        """See `Target.forward`."""
        with self._clock:
            return self._forward(rows)

    def forward_early(self, rows: Sequence[PackedRow], layers: int) -> torch.Tensor:
        """As `forward`, but out of the first `layers` layers; the keys and values of the others are not written."""
        with adapter.first_layers(self.model, layers):
            return self._forward(rows)

    @property
    def memory(self) -> int:
        """Bytes of weights, keys and values."""
        tensors = chain(self.model.parameters(), self.model.buffers())
        weights = sum(tensor.numel() * tensor.dtype.itemsize for tensor in tensors)
        return int(weights) + self._arena.bytes

    @property
    def layers(self) -> int:
        """How many there are."""
        return int(self.model.config.get_text_config().num_hidden_layers)

    def last_seconds(self) -> float:
        """See `Target.last_seconds`."""
        return self._clock.seconds()

    @torch.inference_mode()
    def _forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        plans = list(_row_plans(rows))
        wanted = [
            position
            for row, plan in zip(rows, plans, strict=True)
            for position in range(plan.query_start + row.logits_from, plan.query_end)
        ]
        positions = chain.from_iterable(range(row.slot.length, row.slot.length + len(row.tokens)) for row in rows)
        return adapter.packed_logits(
            self.model,
            self._ids(list(chain.from_iterable(row.tokens for row in rows)))[None],
            self._ids(list(positions))[None],
            self._ids(wanted),
            self._pass_plan(plans),
        )

    def _ids(self, values: list[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int64).to(self._device, non_blocking=True)

    def _pass_plan(self, plans: list[RowPlan]) -> PassPlan:
        destinations = None
        if len(plans) > 1:
            ranges = (range(plan.key_end - plan.queries, plan.key_end) for plan in plans)
            destinations = self._ids(list(chain.from_iterable(ranges)))
        return PassPlan(plans, self._arena, destinations, self._varlen_tables(plans) if self._varlen else None)

    def _varlen_tables(self, plans: list[RowPlan]) -> VarlenTables:
        used = [plan.key_end - plan.key_start for plan in plans]
        starts = [plan.key_start for plan in plans]
        return VarlenTables(
            self._int32([0, *(plan.query_end for plan in plans)]),
            self._int32([*starts, starts[-1] + used[-1]]),
            self._int32(used),
            max(plan.queries for plan in plans),
            max(used),
        )

    def _int32(self, values: list[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32).to(self._device, non_blocking=True)


def _row_plans(rows: Sequence[PackedRow]) -> Iterator[RowPlan]:
    ends = accumulate(len(row.tokens) for row in rows)
    for row, end in zip(rows, ends, strict=True):
        start = row.slot.offset
        yield RowPlan(end - len(row.tokens), end, start, start + row.slot.length + len(row.tokens))
