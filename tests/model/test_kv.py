"""Slot bookkeeping under random use."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redraft.model.kv import SlotPool, common_prefix


@given(st.lists(st.integers(0, 2), max_size=40), st.lists(st.integers(0, 2), max_size=40))
def test_common_prefix(a, b):
    expected = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert common_prefix(a, b) == expected


operations = st.lists(
    st.tuples(st.sampled_from(["acquire", "release", "discard"]), st.integers(0, 5), st.integers(1, 60)), max_size=40
)


@settings(max_examples=200)
@given(operations)
def test_layout_and_content_hold(steps):
    content = [None] * 128  # what the arena would hold: (principal, tokens up to and with this one)

    def copy(source, destination, count):
        content[destination : destination + count] = content[source : source + count]

    pool = SlotPool(128, copy)
    running = []
    for action, which, size in steps:
        if action == "acquire":
            principal = "ab"[which % 2]
            tokens = [which // 2] * size
            slot = pool.acquire(tokens, size, principal)
            if slot is not None:
                for i in range(slot.length):
                    assert content[slot.offset + i] == (principal, tuple(tokens[: i + 1]))
                assert slot.length < size
                for i in range(slot.length, size):
                    content[slot.offset + i] = (principal, tuple(tokens[: i + 1]))
                slot.extend(tokens[slot.length :])
                running.append(slot)
        elif running:
            slot = running.pop(which % len(running))
            pool.release(slot) if action == "release" else pool.discard(slot)
        pool.check()
        assert pool.running == len(running)


def test_a_slot_larger_than_the_arena_is_an_error():
    with pytest.raises(ValueError, match="do not fit"):
        SlotPool(8, lambda *_: None).acquire([1, 2], 9, "")


def test_a_fork_holds_the_same_and_follows():
    copies = []
    pool = SlotPool(100, lambda source, destination, count: copies.append((source, destination, count)))
    slot = pool.acquire([1, 2, 3, 4], 40, "a")
    slot.extend([1, 2, 3])
    other = pool.fork(slot)
    assert (other.tokens, other.offset, other.running) == ([1, 2, 3], 40, True)
    assert copies == [(0, 40, 3)]
    other.extend([4, 5])
    pool.follow(slot, other)
    assert slot.tokens == [1, 2, 3, 4, 5]
    assert copies[-1] == (43, 3, 2)
    pool.follow(slot, other)
    assert len(copies) == 2
    assert pool.fork(slot) is None  # 20 positions are left, and nobody is evicted for it
    pool.check()
