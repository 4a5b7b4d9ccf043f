"""Other systems' drafting rules as drafters, for comparison under the same conditions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np

from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft, DraftView, NoDraft, Verdict
from redraft.engine.results import Source


def certain(tokens: Sequence[int]) -> Draft:
    """A draft whose length is settled by its own rule: every token is taken for sure."""
    ones = np.ones(len(tokens))
    return Draft(tuple(tokens), len(tokens), Source.DOCUMENT, None, ones, ones, fixed=True) if len(tokens) else EMPTY


class FirstMatch(NoDraft):
    """What followed the leftmost earlier occurrence of the text's last n tokens, for the first n that has one.

    The text is document and output, one after the other. An index by n-gram grows with it: a draft is one look-up an n.
    """

    def __init__(self, sizes: Sequence[int], length: int) -> None:
        """sizes: n in the order in which they are tried; length: tokens of every draft."""
        self._sizes = tuple(sizes)
        self._length = length
        self._text: list[int] = []
        self._after: dict[tuple[int, ...], int] = {}  # n-gram -> place behind its first occurrence
        self._document: int | None = None

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`."""
        if self._document is None:
            self._document = len(view.document)
            self._extend(view.document)
        self._extend(view.output[len(self._text) - self._document :])
        end = len(self._text)
        for size in self._sizes:
            place = self._after.get(tuple(self._text[-size:]), end)
            if place < end:  # else the n-gram at the end is its own first occurrence
                return certain(self._text[place : place + min(self._length, limit)])
        return EMPTY

    def _extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._text.append(token)
            end = len(self._text)
            for size in self._sizes:
                if size <= end:
                    self._after.setdefault(tuple(self._text[end - size :]), end)


class PromptLookup(FirstMatch):
    """Transformers' prompt lookup: 2-gram then 1-gram of document and output, leftmost match, 10 tokens."""

    def __init__(self, length: int = 10) -> None:
        super().__init__((2, 1), length)


class NGram(FirstMatch):
    """vLLM's n-gram speculation: the longest match of 5 to 1 tokens, its earliest occurrence, always k tokens."""

    def __init__(self, length: int = 32, longest: int = 5) -> None:
        super().__init__(range(longest, 0, -1), length)


class SuffixDecoding(NoDraft):
    """Longest suffix of the output that occurs in document and output; drafts `factor` times its length.

    The rule of SuffixDecoding (Oliaro et al. 2024) with its most recent occurrence in place of a frequency tree.
    """

    def __init__(self, document: Sequence[int], factor: int = 4, longest: int = 24, length: int = 64) -> None:
        """longest: tokens of a suffix that are compared (24: as deep as vLLM's trees); length: a draft's at most."""
        self._factor = factor
        self._longest = longest
        self._length = length
        self._text = list(document)
        self._ends: dict[int, list[int]] = defaultdict(list)
        for position, token in enumerate(document):
            self._ends[token].append(position)
        self._start = len(document)

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`; before the first token there is no suffix, so nothing is drafted."""
        if len(self._text) == self._start:
            return EMPTY
        best, place = 0, -1
        for end in reversed(self._ends[self._text[-1]][:-1]):
            length = self._match(end)
            if length > best:
                best, place = length, end
            if best == self._longest:
                break
        return certain(self._text[place + 1 : place + 1 + min(limit, self._factor * best, self._length)])

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        for token in verdict.emitted:
            self._ends[token].append(len(self._text))
            self._text.append(token)

    def _match(self, end: int) -> int:
        length, most = 0, min(self._longest, end + 1, len(self._text) - self._start)
        while length < most and self._text[end - length] == self._text[len(self._text) - 1 - length]:
            length += 1
        return length


class Resync(NoDraft):
    """Copies the document until the output differs; then waits until a rule finds the output further on in it.

    The rule of a subclass: what the output's end must equal. Of several places the first that is not behind us counts.
    """

    def __init__(self, document: Sequence[int], end_token: int, length: int) -> None:
        """length: tokens of every draft; the end token may be drafted behind the document's last one."""
        self._chain = (*document, end_token)
        self._length = length
        self._output: list[int] = []
        self._ends: dict[tuple[int, ...], list[int]] = defaultdict(list)  # tokens -> places behind them, in order
        self._place: int | None = 0  # of the next token, None: not in sync
        self._reached = 0  # the last place that was in sync

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`."""
        if self._place is None:
            return EMPTY
        return certain(self._chain[self._place : self._place + min(self._length, limit)])

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        for token in verdict.emitted:
            self._output.append(token)
            found = self._find(self._telling())
            goes_on = self._place is not None and self._chain[self._place : self._place + 1] == (token,)
            self._place = self._reached + 1 if goes_on else found
            self._reached = self._reached if self._place is None else self._place

    def _find(self, tokens: tuple[int, ...]) -> int | None:
        return next((place for place in self._ends.get(tokens, ()) if place >= self._reached), None)

    def _telling(self) -> tuple[int, ...]:
        """What of the output's end is looked for in the document; asked once after every token."""
        raise NotImplementedError


class LineResync(Resync):
    """Re-syncs when a whole line of the output equals one of the document, and goes on behind that."""

    def __init__(self, document: Sequence[int], end_token: int, breaks: Collection[int], length: int = 64) -> None:
        """breaks: the tokens with a line break in their text; a line ends with such a token."""
        super().__init__(document, end_token, length)
        self._breaks = breaks
        self._line = 0  # where the output's last line begins
        start = 0
        for end, token in enumerate(document, start=1):
            if token in breaks:
                self._ends[tuple(document[start:end])].append(end)
                start = end

    def _telling(self) -> tuple[int, ...]:
        if self._output[-1] not in self._breaks:
            return ()
        line = tuple(self._output[self._line :])
        self._line = len(self._output)
        return line


class TokenResync(Resync):
    """Re-syncs when the last 7 tokens occur in the document; drafts all the rest of it."""

    def __init__(self, document: Sequence[int], end_token: int, length: int = MAX_DRAFT, needed: int = 7) -> None:
        super().__init__(document, end_token, length)
        self._needed = needed
        for end in range(needed, len(document) + 1):
            self._ends[tuple(document[end - needed : end])].append(end)

    def _telling(self) -> tuple[int, ...]:
        return tuple(self._output[-self._needed :])
