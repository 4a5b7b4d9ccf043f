"""Drafts from the output's own n-grams: what followed the last tokens when they were written before."""

from __future__ import annotations

from collections.abc import Sequence

_LONGEST = 16  # tokens of a match that are told apart
_TRIED = 8  # latest occurrences compared


class Lookup:
    """An incremental index of the output by its last two tokens."""

    def __init__(self) -> None:
        self._text: list[int] = []
        self._after: dict[tuple[int, int], list[int]] = {}

    def observe(self, tokens: Sequence[int]) -> None:
        """Append emitted tokens."""
        for token in tokens:
            self._text.append(token)
            if len(self._text) >= 2:
                self._after.setdefault((self._text[-2], token), []).append(len(self._text))

    def best(self) -> tuple[int, int]:
        """(length of the longest earlier match of the output's end, where its continuation begins); (0, 0): none."""
        if len(self._text) < 2:
            return 0, 0
        best = (0, 0)
        for place in reversed(self._after[self._text[-2], self._text[-1]][-_TRIED - 1 : -1]):
            length = self._match(place)
            if length > best[0]:
                best = (length, place)
        return best

    def continuation(self, place: int, limit: int) -> tuple[int, ...]:
        """What followed there; a repetition goes on where it meets itself."""
        return tuple(self._text[place : place + limit])

    def _match(self, place: int) -> int:
        end, length = len(self._text), 0
        while length < min(_LONGEST, place) and self._text[place - 1 - length] == self._text[end - 1 - length]:
            length += 1
        return length
