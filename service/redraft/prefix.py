"""The longest common prefix of two sequences, at the speed of slice comparison."""

from __future__ import annotations

from typing import TypeVar

Tokens = TypeVar("Tokens", list[int], tuple[int, ...])


def common_prefix(a: Tokens, b: Tokens) -> int:
    """Length of the longest common prefix of two lists or two tuples, by bisection over slice comparisons."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
