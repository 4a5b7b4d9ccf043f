"""Slots: which tokens' keys and values lie where in the arena. Bookkeeping only; imports no torch."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redraft.prefix import common_prefix

#   arena   |  slot A (running)   |  slot B (idle) |      hole      | slot C … |
#           0                     offset           offset+capacity
#   slot    |#### tokens ####|....room....|
#           offset           +length      +capacity
#
# A running slot keeps room for all that its edit may still write. An idle slot is shrunk to what it holds: its tail
# is free for others, and its content stays until the room is needed (least recently used goes first).

CopyRange = Callable[[int, int, int], None]
"""copy(source, destination, count): copies the keys and values of `count` tokens between arena positions."""


@dataclass(slots=True, eq=False)
class Slot:
    """A contiguous range of the arena that belongs to one edit (running) or remembers one (idle)."""

    offset: int
    capacity: int
    principal: str
    tokens: list[int] = field(default_factory=list)
    running: bool = True
    last_used: int = 0

    @property
    def length(self) -> int:
        """How many tokens have valid keys and values."""
        return len(self.tokens)

    @property
    def end(self) -> int:
        return self.offset + self.capacity

    def extend(self, tokens: Sequence[int]) -> None:
        """Commit tokens whose keys and values the last pass wrote behind `length`."""
        if self.length + len(tokens) > self.capacity:
            raise ValueError(f"slot of {self.capacity} tokens cannot hold {self.length + len(tokens)}")
        self.tokens.extend(tokens)

    def crop(self, length: int) -> None:
        """Forget everything from position `length` on."""
        del self.tokens[length:]


class SlotPool:
    """Hands out slots of one arena; reuses prefixes within a principal, never across."""

    def __init__(self, arena_tokens: int, copy: CopyRange) -> None:
        """arena_tokens: positions the arena holds; copy: moves keys and values between positions."""
        self.arena_tokens = arena_tokens
        self._copy = copy
        self._slots: list[Slot] = []  # sorted by offset
        self._clock = 0

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(self._slots)

    @property
    def running(self) -> int:
        return sum(slot.running for slot in self._slots)

    def acquire(self, tokens: Sequence[int], capacity: int, principal: str) -> Slot | None:
        """A running slot with room for `capacity` tokens that already holds the longest known prefix of `tokens`.

        The last token is never taken from the cache, so that its logits are computed. None: running edits hold
        the room; try again when one ends. Raises ValueError if `capacity` exceeds the whole arena.
        """
        if capacity > self.arena_tokens:
            raise ValueError(f"{capacity} tokens do not fit an arena of {self.arena_tokens}")
        known = list(tokens[:-1])
        slot = self._take_over(known, capacity, principal) or self._allocate(known, capacity, principal)
        if slot is not None:
            self._touch(slot)
        return slot

    def fork(self, slot: Slot) -> Slot | None:
        """A running slot beside `slot` that holds the same, in room that is free; None: there is none.

        Nothing is evicted for it: what idle slots remember is worth more.
        """
        offset = self._first_fit(slot.capacity)
        if offset is None:
            return None
        other = Slot(offset, slot.capacity, slot.principal)
        self._insert(other)
        self.follow(other, slot)
        return other

    def follow(self, slot: Slot, ahead: Slot) -> None:
        """Take over what another slot holds behind the tokens that both share: all of `slot`'s, as it must be."""
        count = ahead.length - slot.length
        if count > 0:
            self._copy(ahead.offset + slot.length, slot.offset + slot.length, count)
            slot.extend(ahead.tokens[slot.length :])

    def release(self, slot: Slot) -> None:
        """The edit is over: keep what the slot holds for reuse, give back the rest of its room."""
        slot.running = False
        slot.capacity = slot.length
        self._touch(slot)
        if not slot.length:
            self.discard(slot)

    def discard(self, slot: Slot) -> None:
        """Forget a slot and free its whole range."""
        self._slots.remove(slot)

    def check(self) -> None:
        """Raise RuntimeError if slots overlap, leave the arena or hold more than their room."""
        position = 0
        for slot in self._slots:
            if slot.offset < position or slot.end > self.arena_tokens or slot.length > slot.capacity:
                raise RuntimeError(f"slot [{slot.offset}, {slot.end}) with {slot.length} tokens breaks the layout")
            position = slot.end

    def _touch(self, slot: Slot) -> None:
        self._clock += 1
        slot.last_used = self._clock

    def _take_over(self, known: list[int], capacity: int, principal: str) -> Slot | None:
        """An idle slot that shares at least half of what it holds, if it can grow to `capacity` where it lies.

        Only one that no other slot's prefix beats: copying a longer prefix is cheaper than computing it.
        """
        own = [slot for slot in self._slots if slot.principal == principal]
        matches = [(common_prefix(slot.tokens, known), slot) for slot in own]
        best = max((match for match, _ in matches), default=0)
        for match, slot in matches:
            half = match == best > 0 and 2 * match >= slot.length
            if half and not slot.running and slot.offset + capacity <= self._room_end(slot):
                slot.running, slot.capacity = True, capacity
                slot.crop(match)
                return slot
        return None

    def _room_end(self, slot: Slot) -> int:
        """Where the hole behind a slot ends."""
        following = self._slots.index(slot) + 1
        return self._slots[following].offset if following < len(self._slots) else self.arena_tokens

    def _allocate(self, known: list[int], capacity: int, principal: str) -> Slot | None:
        """A new range, with the longest common prefix copied in from any slot of the same principal."""
        source, match = self._best_source(known, principal)
        offset = self._make_hole(capacity, source)
        if offset is None:
            return None
        slot = Slot(offset, capacity, principal)
        if source in self._slots and source is not None and match:
            self._copy(source.offset, offset, match)
            slot.extend(known[:match])
        self._insert(slot)
        return slot

    def _insert(self, slot: Slot) -> None:
        insort(self._slots, slot, key=lambda other: other.offset)

    def _best_source(self, known: list[int], principal: str) -> tuple[Slot | None, int]:
        own = [slot for slot in self._slots if slot.principal == principal]
        matches = [(common_prefix(slot.tokens, known), slot) for slot in own]
        match, source = max(matches, key=lambda pair: pair[0], default=(0, None))
        return source, match

    def _make_hole(self, capacity: int, spare: Slot | None) -> int | None:
        """Offset of a hole of `capacity`, evicting idle slots, least recently used first, `spare` last."""
        idle = sorted((slot for slot in self._slots if not slot.running), key=lambda s: (s is spare, s.last_used))
        while (offset := self._first_fit(capacity)) is None and idle:
            self.discard(idle.pop(0))
        return offset

    def _first_fit(self, capacity: int) -> int | None:
        position = 0
        for slot in self._slots:
            if slot.offset - position >= capacity:
                return position
            position = slot.end
        return position if self.arena_tokens - position >= capacity else None
