"""Which edits run, and how many of their pending tokens the next pass takes. Imports no torch."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from redraft.engine.sequence import Sequence
from redraft.errors import Overloaded
from redraft.model.kv import Slot, SlotPool


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """max_running: edits in one pass; max_waiting: edits that may queue; prefill_tokens: prompt tokens a pass."""

    max_running: int = 8
    max_waiting: int = 64
    prefill_tokens: int = 512


@dataclass(frozen=True, slots=True)
class Portion:
    """What one edit gives to a pass: its next `count` pending tokens."""

    sequence: Sequence
    count: int

    @property
    def completes(self) -> bool:
        """Whether nothing stays pending, so that this pass emits and may carry a draft."""
        return self.count == self.sequence.pending


class Scheduler:
    """First come, first served; edits that already emit always take part, prompts share what is left of the budget."""

    def __init__(self, limits: SchedulerLimits, slots: SlotPool) -> None:
        self.limits = limits
        self._slots = slots
        self._waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def has_work(self) -> bool:
        return bool(self.running or self._waiting)

    def check_room(self, arriving: int) -> None:
        """Raise Overloaded if the queue is full, with `arriving` edits on their way into it."""
        queued = len(self._waiting) + arriving
        if queued >= self.limits.max_waiting:
            raise Overloaded(f"{queued} edits are waiting already", retry_after=1.0)

    def add(self, sequence: Sequence) -> None:
        self._waiting.append(sequence)

    def admit(self) -> list[Sequence]:
        """Give waiting edits a slot, in order, while there is room; returns those that start running."""
        admitted: list[Sequence] = []
        while self._waiting and len(self.running) < self.limits.max_running:
            sequence = self._waiting[0]
            slot = self._acquire(sequence)
            if slot is None:
                break
            sequence.slot = slot
            self.running.append(self._waiting.popleft())
            admitted.append(sequence)
        return admitted

    def _acquire(self, sequence: Sequence) -> Slot | None:
        """A slot for an edit; the shadows of running ones give way to it."""
        slot = self._slots.acquire(sequence.tokens, sequence.capacity, sequence.request.principal)
        if slot is None and any(other.shadow is not None for other in self.running):
            for other in self.running:
                self._discard_shadow(other)
            slot = self._slots.acquire(sequence.tokens, sequence.capacity, sequence.request.principal)
        return slot

    def interrupted(self) -> list[Sequence]:
        """Edits, running or waiting, that must end now."""
        return [sequence for sequence in (*self.running, *self._waiting) if sequence.interrupted()]

    def plan(self) -> list[Portion]:
        """The next pass."""
        budget = self.limits.prefill_tokens
        portions: list[Portion] = []
        for sequence in self.running:
            count = 1 if sequence.pending == 1 else min(sequence.pending, budget)
            if sequence.pending > 1:
                budget -= count
            if count:
                portions.append(Portion(sequence, count))
        return portions

    def remove(self, sequence: Sequence) -> None:
        """Forget an edit; its slot, if it has one, keeps its content for reuse."""
        if sequence.slot is not None:
            self._discard_shadow(sequence)
            self._slots.release(sequence.slot)
            sequence.slot = None
            self.running.remove(sequence)
        elif sequence in self._waiting:
            self._waiting.remove(sequence)

    def discard_all(self) -> list[Sequence]:
        """Forget every edit, running or waiting, and what the slots of the running ones hold."""
        edits = [*self.running, *self._waiting]
        for sequence in self.running:
            self._discard_shadow(sequence)
            self._slots.discard(sequence.held_slot)
            sequence.slot = None
        self.running.clear()
        self._waiting.clear()
        return edits

    def _discard_shadow(self, sequence: Sequence) -> None:
        if sequence.shadow is not None:
            self._slots.discard(sequence.shadow)
            sequence.shadow = None


def next_tokens(portion: Portion) -> list[int]:
    """The ids of a portion."""
    sequence = portion.sequence
    start = sequence.held_slot.length
    return sequence.tokens[start : start + portion.count]
