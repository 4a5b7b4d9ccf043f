"""What the output put in place of what: a rename seen once is proposed at its next occurrence."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_MOST_OLD, _MOST_NEW = 8, 16  # tokens of a replacement that is remembered
_MOST_PLACES = 256  # an old text that stands in more places than this is no name
_RARE = (4, 12)
_AFTER = (16,)
_COUNTED = 3  # occurrences that are told apart in a kind


@dataclass(slots=True, eq=False)
class Replacement:
    """`old` of the document became `new` in the output; since then it was met `repeated` times so, `kept` times not."""

    old: tuple[int, ...]
    new: tuple[int, ...]
    places: int = 1  # where the old text stands in the document
    repeated: int = 0
    kept: int = 0
    foreseen: int = 0  # tokens between it and the draft's first wrong one, if the target was seen to prefer it here

    @property
    def kind(self) -> str:
        """For the survival table."""
        if self.foreseen:
            return f"foreseen/{bisect_right(_AFTER, self.foreseen)}"
        rare = bisect_right(_RARE, self.places)
        long = min(len(self.old), 2) if self.new else 0
        return f"swap/{min(self.repeated, _COUNTED)}/{min(self.kept, _COUNTED)}/{rare}/{long}"


@dataclass(frozen=True, slots=True)
class Encounter:
    """A place where a remembered replacement could have happened again; kind: its kind before this was known."""

    kind: str
    repeated: bool


class Replacements:
    """Learns replacements from where each emitted token was copied from."""

    def __init__(self, document: Sequence[int], places: Mapping[int, Sequence[int]]) -> None:
        """places: token -> its positions in the document, ascending."""
        self._document = document
        self._places = places
        self._known: dict[tuple[int, ...], Replacement] = {}
        self._at: dict[int, Replacement] = {}  # by document position where its old text stands
        self._positions: list[int] = []  # the same, ascending
        self._last = -1  # document position of the token copied last
        self._gap: list[int] = []  # emitted since

    def sites(self, start: int, end: int) -> Iterator[tuple[int, Replacement]]:
        """Where in document[start:end] replacements may happen again, in order and not overlapping."""
        index = bisect_left(self._positions, start)
        while index < len(self._positions) and (position := self._positions[index]) < end:
            found = self._at[position]
            yield position, found
            index = bisect_left(self._positions, position + len(found.old), index)

    def foresee(self, position: int, token: int, after: int) -> None:
        """The target prefers `token` to document[position], seen `after` tokens behind a draft's first wrong one."""
        if position not in self._at:
            insort(self._positions, position)
        self._at[position] = Replacement((self._document[position],), (token,), foreseen=after)

    def under_way(self) -> tuple[tuple[int, ...], int, Replacement] | None:
        """If the gap begins a known replacement: what is left of its new text, where the document goes on, and it."""
        found = self._at.get(self._last + 1) if self._gap else None
        begun = len(self._gap)
        if found is None or found.new[:begun] != tuple(self._gap):
            return None
        return found.new[begun:], self._last + 1 + len(found.old), found

    def advance(self, count: int) -> bool:
        """Take in `count` tokens of a copy that goes on, if no replacement could have happened among them."""
        start = self._last + 1
        if self._gap or next(self.sites(start, start + count), None) is not None:
            return False
        self._last += count
        return True

    def observe(self, token: int, origin: int | None) -> Encounter | None:
        """Take in an emitted token and the document position it was copied from, None: not copied."""
        met = self._meet(token) if not self._gap else None
        if origin is None:
            self._gap.append(token)
            return met
        if self._gap and origin > self._last:
            self._remember(list(self._document[self._last + 1 : origin]), list(self._gap))
        self._gap.clear()
        self._last = origin
        return met

    def _meet(self, token: int) -> Encounter | None:
        found = self._at.get(self._last + 1)
        if found is None:
            return None
        kind, repeated = found.kind, token == self._first_instead(found)
        if found.foreseen:  # for this place only
            del self._at[self._last + 1]
            self._positions.remove(self._last + 1)
        found.repeated += repeated
        found.kept += token == found.old[0]
        return Encounter(kind, repeated)

    def _first_instead(self, replacement: Replacement) -> int | None:
        """The token that would stand in place of the old text: the new one's first, or what follows a deletion."""
        if replacement.new:
            return replacement.new[0]
        position = self._last + 1 + len(replacement.old)
        return self._document[position] if position < len(self._document) else None

    def _remember(self, old: list[int], new: list[int]) -> None:
        while old and new and old[-1] == new[-1]:  # copied already before it was sure
            old.pop()
            new.pop()
        if not 0 < len(old) <= _MOST_OLD or len(new) > _MOST_NEW:
            return
        key = tuple(old)
        known = self._known.get(key)
        if known is not None and known.new == tuple(new):
            return
        self._known[key] = replacement = Replacement(key, tuple(new))
        self._place(replacement)

    def _place(self, replacement: Replacement) -> None:
        old = replacement.old
        places = self._places[old[0]]
        if len(places) > _MOST_PLACES:
            return
        standing = [place for place in places if tuple(self._document[place : place + len(old)]) == old]
        replacement.places = len(standing)
        for position in standing:
            before = self._at.get(position)
            if before is None:
                insort(self._positions, position)
            if before is None or len(before.old) <= len(old):
                self._at[position] = replacement
