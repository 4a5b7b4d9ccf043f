"""Measures what a pass costs: the time of a forward by query tokens and attended tokens."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

import structlog
import torch

from redraft.model.base import PackedRow
from redraft.model.cache import cache_directory, read_json, write_json
from redraft.model.runner import TorchTarget

_log = structlog.get_logger(__name__)

_QUERIES = (1, 2, 4, 8, 16, 32, 64, 128, 257)
_SHORT, _LONG = 64, 1024


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """points: (query tokens, cost) at a short context, in units of `one_token_seconds`.

    attended: extra cost of one query token attending to one more token, in the same unit.
    """

    points: tuple[tuple[int, float], ...]
    one_token_seconds: float
    attended: float

    def one_token_at(self, context: float) -> float:
        """Seconds of a one-token pass that attends to `context` tokens."""
        return self.one_token_seconds * (1.0 + self.attended * max(0.0, context - _SHORT))


def measured_cost(target: TorchTarget, directory: Path | None = None) -> MeasuredCost:
    """The cost curve of this model on this device, from the cache if it was measured before."""
    path = (directory or cache_directory()) / "cost" / f"{_key(target)}.json"
    known = _parse(read_json(path))
    if known is None:
        known = measure(target)
        try:
            write_json(path, {"points": known.points, "one": known.one_token_seconds, "attended": known.attended})
        except OSError as error:  # a full disk costs the next start some seconds, not this one its life
            _log.warning("cost_curve_not_saved", error=type(error).__name__)
    return known


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
        seconds = [_time(target, PackedRow(slot, [0] * queries, 0)) for queries in _QUERIES]
        slot.extend([0] * (long - slot.length))
        far = _time(target, PackedRow(slot, [0] * 16, 0))
    finally:
        target.slots.discard(slot)
    one = seconds[0]
    slope = max(0.0, (far - seconds[_QUERIES.index(16)]) / one / (16 * max(1, long - _SHORT)))
    return MeasuredCost(tuple(zip(_QUERIES, _monotone([s / one for s in seconds]), strict=True)), one, slope)


def _time(target: TorchTarget, row: PackedRow) -> float:
    """Least seconds of a pass (what else runs on the machine only adds), more repetitions for shorter ones."""
    times: list[float] = []
    while len(times) < 4 or (sum(times) < 0.25 and len(times) < 12):
        start = time.perf_counter()
        logits = target.forward([row])
        if logits.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def _monotone(values: list[float]) -> list[float]:
    """A longer pass never costs less: noise must not suggest otherwise."""
    highest = 0.0
    result = []
    for value in values:
        highest = max(highest, value)
        result.append(highest)
    return result


def _key(target: TorchTarget) -> str:
    spec = target.spec
    device = torch.cuda.get_device_name(target.model.device) if target.model.device.type == "cuda" else "cpu"
    facts = f"{spec.name} {spec.parameters} {spec.dtype} {device} {torch.get_num_threads()} {torch.__version__}"
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def _parse(value: object) -> MeasuredCost | None:
    if not isinstance(value, dict):
        return None
    try:
        points = tuple((int(queries), float(cost)) for queries, cost in value["points"])
        return MeasuredCost(points, float(value["one"]), float(value["attended"])) if points else None
    except (KeyError, TypeError, ValueError):
        return None
