"""Other systems' drafting rules as drafters, for comparison under the same conditions."""

from __future__ import annotations

import numpy as np

from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft, DraftView, NoDraft, Verdict
from redraft.engine.results import Source


def certain(tokens: list[int]) -> Draft:
    """A draft whose length is settled by its own rule: every token is taken for sure."""
    ones = np.ones(len(tokens))
    return Draft(tuple(tokens), len(tokens), Source.DOCUMENT, None, ones, ones, fixed=True)


class PromptLookup(NoDraft):
    """Transformers' prompt lookup: 2-gram then 1-gram of document and output, leftmost match, 10 tokens."""

    def __init__(self, length: int = 10) -> None:
        self._length = length

    def propose(self, view: DraftView, limit: int) -> Draft:
        text = [*view.document, *view.output]
        for size in (2, 1):
            pattern = text[-size:]
            for start in range(len(text) - size):
                if text[start : start + size] == pattern:
                    return certain(text[start + size : start + size + min(self._length, limit)])
        return EMPTY


class SuffixDecoding(NoDraft):
    """Longest suffix of the output that occurs in document and output; drafts `factor` times its length.

    The rule of SuffixDecoding (Oliaro et al. 2024) with its most recent occurrence in place of a frequency tree.
    """

    def __init__(self, document: list[int], factor: int = 4) -> None:
        self._factor = factor
        self._text = list(document)
        self._ends: dict[int, list[int]] = {}
        for position, token in enumerate(document):
            self._ends.setdefault(token, []).append(position)
        self._start = len(document)

    def propose(self, view: DraftView, limit: int) -> Draft:
        if len(self._text) == self._start:
            return certain(self._text[: min(limit, 16)])
        best, place = 0, -1
        for end in self._ends.get(self._text[-1], [])[:-1]:
            length = self._match(end)
            if length >= best:
                best, place = length, end
        if not best:
            return EMPTY
        return certain(self._text[place + 1 : place + 1 + min(limit, self._factor * best, MAX_DRAFT)])

    def observe(self, verdict: Verdict) -> None:
        for token in verdict.emitted:
            self._ends.setdefault(token, []).append(len(self._text))
            self._text.append(token)

    def _match(self, end: int) -> int:
        length, most = 0, min(64, end + 1, len(self._text) - self._start)
        while length < most and self._text[end - length] == self._text[len(self._text) - 1 - length]:
            length += 1
        return length
