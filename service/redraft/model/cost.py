"""Measures what a pass costs: the time of a forward by query tokens and attended tokens."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import structlog
import torch

from redraft.model import packed
from redraft.model.base import PackedRow
from redraft.model.cache import cache_directory, read_json, write_json
from redraft.model.runner import TorchTarget

_log = structlog.get_logger(__name__)

_QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 257)
_SHORT, _LONG = 64, 1024
_ROUNDS = (4, 12)  # at least, and at most
_ENOUGH = 0.25  # seconds spent on one size after which the least number of rounds will do


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """points: (query tokens, cost) at a short context, in units of `one_token_seconds`.

    attended: extra cost of one query token attending to one more token, in the same unit.
    """

    points: tuple[tuple[int, float], ...]
    one_token_seconds: float
    attended: float

    def seconds(self, queries: float, context: float) -> float:
        """Seconds of a pass of `queries` tokens, no more than measured, that attend to `context` tokens."""
        sizes, costs = zip(*self.points, strict=True)
        attended = self.attended * queries * max(0.0, context - _SHORT)
        return self.one_token_seconds * (float(np.interp(queries, sizes, costs)) + attended)


def measured_cost(target: TorchTarget, directory: Path | None = None) -> MeasuredCost:
    """The cost curve of this model on this device, from the cache if it was measured before."""
    known = _parse(read_json(_file(target, directory)))
    if known is None:
        known = measure(target)
        save_cost(target, known, directory)
    return known


def save_cost(target: TorchTarget, cost: MeasuredCost, directory: Path | None = None) -> None:
    """Keep the curve for the next start; a full disk costs that some seconds, not this process its life."""
    facts = {"points": cost.points, "one": cost.one_token_seconds, "attended": cost.attended}
    try:
        write_json(_file(target, directory), facts)
    except OSError as error:
        _log.warning("cost_curve_not_saved", error=type(error).__name__)


def _file(target: TorchTarget, directory: Path | None) -> Path:
    return (directory or cache_directory()) / "cost" / f"{_key(target)}.json"


def measure(target: TorchTarget) -> MeasuredCost:
    """Time passes of several sizes; a few seconds on a small CPU."""
    room = min(_LONG + _QUERIES[-1], target.spec.context_length, target.slots.arena_tokens)
    long = max(_SHORT, room - _QUERIES[-1])
    slot = target.slots.acquire([0] * (room - 1), room, "cost")
    if slot is None:
        raise RuntimeError("the cost curve is measured before any edit runs")
    slot.crop(0)
    try:
        slot.extend([0] * min(_SHORT, room - _QUERIES[-1]))
        seconds = _seconds(target, [PackedRow(slot, [0] * queries, 0) for queries in _QUERIES])
        slot.extend([0] * (long - slot.length))
        (far,) = _seconds(target, [PackedRow(slot, [0] * 16, 0)])
    finally:
        target.slots.discard(slot)
    seconds = _monotone(seconds)
    one = seconds[0]
    slope = max(0.0, (far - seconds[_QUERIES.index(16)]) / one / (16 * max(1, long - _SHORT)))
    return MeasuredCost(
        tuple((queries, spent / one) for queries, spent in zip(_QUERIES, seconds, strict=True)), one, slope
    )


def _seconds(target: TorchTarget, rows: list[PackedRow]) -> list[float]:
    """Least seconds of each pass: what else runs on the machine only adds.

    Rounds over all sizes, so that a busy moment does not fall on one of them alone; the first round only warms up, and
    short passes go on for some more.
    """
    best, spent = [math.inf] * len(rows), [0.0] * len(rows)
    for turn in range(_ROUNDS[1]):
        for index, row in enumerate(rows):
            if turn >= _ROUNDS[0] and spent[index] > _ENOUGH:
                continue
            seconds = _time(target, row)
            if turn:
                best[index] = min(best[index], seconds)
                spent[index] += seconds
    return best


def _time(target: TorchTarget, row: PackedRow) -> float:
    start = time.perf_counter()
    if target.forward([row]).is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def _monotone(seconds: list[float]) -> list[float]:
    """A shorter pass never takes longer than a longer one: where it did, something else took the time."""
    return list(accumulate(reversed(seconds), min))[::-1]


def _key(target: TorchTarget) -> str:
    spec = target.spec
    device = torch.cuda.get_device_name(target.model.device) if target.model.device.type == "cuda" else "cpu"
    kernels = "packed" if packed.is_packed(target.model) else "plain"
    facts = (spec.name, spec.parameters, spec.dtype, device, kernels, torch.get_num_threads(), torch.__version__)
    return hashlib.sha256(" ".join(map(str, facts)).encode()).hexdigest()[:16]


def _parse(value: object) -> MeasuredCost | None:
    if not isinstance(value, dict):
        return None
    try:
        points = tuple((int(queries), float(cost)) for queries, cost in value["points"])
        return MeasuredCost(points, float(value["one"]), float(value["attended"])) if points else None
    except (KeyError, TypeError, ValueError):
        return None
