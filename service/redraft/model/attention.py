"""Attention for packed rows: every row of a pass attends to its own slot of the arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional as F
from torch.nn.attention.varlen import varlen_attn

from redraft.errors import ModelRefused
from redraft.model.arena import Arena

#   queries  |--- row 0 ---|- row 1 -|----- row 2 -----|          packed, no padding
#            query_start   query_end
#   keys     slot.offset |###### cached ######|## this row ##|    one range of the arena a row
#                        key_start            key_end - n    key_end


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Where one row's queries lie in the packed pass, and where its keys lie in the arena."""

    query_start: int
    query_end: int
    key_start: int
    key_end: int

    @property
    def queries(self) -> int:
        return self.query_end - self.query_start

    def windowed(self, window: int | None) -> RowPlan:
        """The same row with the keys that no query can reach through a sliding window left out."""
        if window is None:
            return self
        first = self.key_end - self.queries - window + 1
        return RowPlan(self.query_start, self.query_end, max(self.key_start, first), self.key_end)


@dataclass(slots=True)
class PassPlan:
    """The rows of one pass over one arena; also the cache object that transformers' layers write through."""

    rows: Sequence[RowPlan]
    arena: Arena
    destinations: torch.Tensor | None  # int64[tokens], arena positions to write; None for a single row
    varlen: VarlenTables | None = None
    _masks: dict[tuple[int, int | None], torch.Tensor | None] = field(default_factory=dict)

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write one layer's new keys and values [1, kv_heads, tokens, head_dim]; return that layer's whole arena."""
        key_arena, value_arena = self.arena.keys[layer_idx], self.arena.values[layer_idx]
        if self.destinations is None:
            end = self.rows[0].key_end
            start = end - self.rows[0].queries
            key_arena[start:end] = keys[0].transpose(0, 1)
            value_arena[start:end] = values[0].transpose(0, 1)
        else:
            key_arena.index_copy_(0, self.destinations, keys[0].transpose(0, 1))
            value_arena.index_copy_(0, self.destinations, values[0].transpose(0, 1))
        return key_arena, value_arena

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Positions are given with every pass, so no layer may derive them from a length."""
        return 0

    def mask(self, index: int, window: int | None) -> torch.Tensor | None:
        """bool[queries, keys] of row `index`, True where a query may look; None where it may look at every key."""
        if (index, window) not in self._masks:
            self._masks[index, window] = _lower_right_mask(self.rows[index].windowed(window), window, self._device)
        return self._masks[index, window]

    @property
    def _device(self) -> torch.device:
        return self.arena.keys[0].device


@dataclass(frozen=True, slots=True)
class VarlenTables:
    """Row tables on the device, for one variable-length call a layer: int32[rows + 1], and int32[rows] for used."""

    query_starts: torch.Tensor
    key_starts: torch.Tensor
    keys_used: torch.Tensor
    longest_query: int
    longest_key: int


def _lower_right_mask(row: RowPlan, window: int | None, device: torch.device) -> torch.Tensor | None:
    """Causal (and windowed) mask whose last query sees the last key."""
    if row.queries == 1:
        return None
    keys = row.key_end - row.key_start
    key = torch.arange(keys, device=device)
    query = torch.arange(keys - row.queries, keys, device=device)[:, None]
    allowed = key <= query
    return allowed if window is None else allowed & (key > query - window)


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    packed: PassPlan,
    scaling: float,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **unknown: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention interface over packed rows.

    query: [1, heads, tokens, head_dim]; key, value: a layer's arena [arena_tokens, kv_heads, head_dim].
    Returns [1, tokens, heads, head_dim]. Raises ModelRefused for a keyword that it does not know.
    """
    _refuse_unknown(unknown)
    if packed.varlen is not None and softcap is None:
        return _varlen(query, key, value, packed.varlen, scaling, sliding_window), None
    attend = _soft_capped if softcap is not None else _sdpa
    outputs = []
    for index, full_row in enumerate(packed.rows):
        row = full_row.windowed(sliding_window)
        outputs.append(
            attend(
                query[:, :, row.query_start : row.query_end],
                key[row.key_start : row.key_end].transpose(0, 1).unsqueeze(0),
                value[row.key_start : row.key_end].transpose(0, 1).unsqueeze(0),
                packed.mask(index, sliding_window),
                scaling,
                softcap,
            )
        )
    joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=2)
    return joined.transpose(1, 2), None


_IGNORED = {"dropout", "position_ids", "use_cache", "is_causal", "cache", "output_attentions"}


def _refuse_unknown(keywords: dict[str, Any]) -> None:
    for name, value in keywords.items():
        if name == "dropout" and value:
            raise ModelRefused("attention dropout is on: the model is in training mode")
        if name not in _IGNORED and value is not None and value is not False:
            raise ModelRefused(f"the model's attention passes {name!r}, which packed attention does not know")


def _sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float,
    _: float | None,
) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling, enable_gqa=True)


def _soft_capped(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float,
    softcap: float | None,
) -> torch.Tensor:
    """Attention with soft-capped scores (Gemma 2): cap * tanh(score / cap) before the mask."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    scores = query @ key.transpose(2, 3) * scaling
    scores = torch.tanh(scores / softcap) * softcap if softcap else scores
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype) @ value


def _varlen(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    tables: VarlenTables,
    scaling: float,
    window: int | None,
) -> torch.Tensor:
    """One call for all rows. Key rows are ranges of the arena: starts and used lengths, not a packed sequence."""
    output = varlen_attn(
        query[0].transpose(0, 1),
        key,
        value,
        tables.query_starts,
        tables.key_starts,
        tables.longest_query,
        tables.longest_key,
        scale=scaling,
        window_size=(-1 if window is None else window - 1, 0),
        enable_gqa=True,
        seqused_k=tables.keys_used,
    )
    if not isinstance(output, torch.Tensor):
        raise TypeError("varlen_attn returned auxiliary outputs that were not asked for")
    return output.unsqueeze(0)
