"""Drafts from n-grams of the document and of the output itself: what followed the last tokens elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LONGEST = 16  # tokens of a match that are told apart
_TRIED = 12  # latest occurrences compared


@dataclass(frozen=True, slots=True)
class Continuation:
    """What followed an earlier occurrence of the output's end.

    place: where it begins in the index's text (document, then output); length: tokens that matched before it;
    agreement: share of the compared occurrences as long that went on with the same token.
    """

    place: int
    length: int
    agreement: float


class Lookup:
    """An incremental index of document and output by their last token and last two tokens."""

    def __init__(self, document: Sequence[int]) -> None:
        self._text: list[int] = []
        self._document = len(document)
        self._after: dict[int, list[int]] = defaultdict(list)
        self._after_pair: dict[tuple[int, int], list[int]] = defaultdict(list)
        self.observe(document)

    def observe(self, tokens: Sequence[int]) -> None:
        """Append tokens."""
        for token in tokens:
            self._text.append(token)
            place = len(self._text)
            self._after[token].append(place)
            if place >= 2:
                self._after_pair[self._text[-2], token].append(place)

    def best(self) -> Continuation | None:
        """The continuation after the longest match of the output's end, the latest of several; None: there is none."""
        found = list(self._matches())
        if not found:
            return None
        longest = max(length for length, _ in found)
        places = [place for length, place in found if length == longest]
        following = [self._text[place] for place in places]
        return Continuation(places[0], longest, following.count(following[0]) / len(following))

    def is_own(self, continuation: Continuation) -> bool:
        """Whether it stands in the output, not in the document."""
        return continuation.place >= self._document

    def first(self, continuation: Continuation) -> int:
        """The first token of the continuation."""
        return self._text[continuation.place]

    def chain(self, continuation: Continuation, limit: int) -> tuple[int, ...]:
        """What followed there, not beyond the document's end; a repetition goes on where it meets itself."""
        end = len(self._text) if self.is_own(continuation) else self._document
        chain = self._text[continuation.place : min(end, continuation.place + limit)]
        if self.is_own(continuation) and len(chain) < limit:  # as overlapping copies do (Ziv and Lempel 1977)
            chain = (chain * (limit // len(chain) + 1))[:limit]
        return tuple(chain)

    def _matches(self) -> Iterator[tuple[int, int]]:
        """(length, place) of earlier occurrences, the latest first; nothing that ends the document."""
        if len(self._text) == self._document:
            return
        pair = (
            self._after_pair.get((self._text[-2], self._text[-1]), []) if len(self._text) - self._document > 1 else []
        )
        places = pair[-_TRIED - 1 : -1] or self._after[self._text[-1]][-_TRIED - 1 : -1]
        for place in reversed(places):
            if place != self._document:
                yield self._match(place), place

    def _match(self, place: int) -> int:
        end = len(self._text)
        most = min(_LONGEST, place if place < self._document else place - self._document, end - self._document)
        length = 0
        while length < most and self._text[place - 1 - length] == self._text[end - 1 - length]:
            length += 1
        return length
