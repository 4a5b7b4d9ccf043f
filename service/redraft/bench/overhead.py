"""What our own Python costs: the time of a step outside the forward, as a share of a one-token pass."""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch

from redraft.engine.request import Drafting, DraftMode, EditRequest, Sampling
from redraft.engine.results import EditEvent, Failed, Finished
from redraft.engine.service import EngineService
from redraft.model.base import PackedRow
from redraft.model.runner import TorchTarget

_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Overhead:
    """Median seconds of a step of `rows` edits, inside the forward and outside it."""

    rows: int
    sampled: bool
    forward: float
    outside: float


class _TimedTarget:
    """A target that notes when each forward began and ended."""

    def __init__(self, target: TorchTarget) -> None:
        self._target = target
        self.spec, self.slots = target.spec, target.slots
        self.spans: list[tuple[float, float, int, bool]] = []  # begin, end, rows, whether every row is one token

    def forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        began = time.perf_counter()
        logits = self._target.forward(rows)
        single = all(len(row.tokens) == 1 for row in rows)
        self.spans.append((began, time.perf_counter(), len(rows), single))
        return logits

    def last_seconds(self) -> float:
        return self._target.last_seconds()


def measure_overhead(service: EngineService, target: TorchTarget, document: str) -> list[Overhead]:
    """1 and 8 edits, greedy and sampled, without drafts; the service serves nothing else meanwhile."""
    results = []
    for rows in (1, 8):
        for sampled in (False, True):
            timed = _TimedTarget(target)
            with service.observed(timed):
                _run(service, document, rows, sampled)
            results.append(_summarise(timed, rows, sampled))
    return results


def _run(service: EngineService, document: str, rows: int, sampled: bool) -> None:
    queues: list[queue.SimpleQueue[EditEvent]] = [queue.SimpleQueue() for _ in range(rows)]
    for seed, events in enumerate(queues):
        sampling = Sampling(temperature=0.8 if sampled else 0.0, top_p=0.95, seed=seed, max_output_tokens=_TOKENS)
        service.submit(
            EditRequest(document, "Rewrite.", sampling=sampling, drafting=Drafting(DraftMode.OFF)), events.put
        )
    for events in queues:
        while not isinstance(event := events.get(), Finished):
            if isinstance(event, Failed):
                raise event.error


def _summarise(timed: _TimedTarget, rows: int, sampled: bool) -> Overhead:
    """From the end of one forward to the beginning of the next, between full steps of single tokens."""
    full = [span for span in timed.spans if span[2] == rows and span[3]]
    outside = [b[0] - a[1] for a, b in itertools.pairwise(full)]
    return Overhead(rows, sampled, median(end - began for began, end, _, _ in full), median(outside))
