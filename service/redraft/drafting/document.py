"""Drafts the document's tail from where the alignment believes the output continues."""

from __future__ import annotations

import numpy as np

from redraft.drafting.alignment import Alignment
from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft, DraftView, Verdict
from redraft.engine.results import Source


class DocumentDrafter:
    """Proposes document[c:] and the end token behind it; learns how far such drafts survive in this edit."""

    def __init__(self, document: list[int], end_token: int) -> None:
        self._chain = (*document, end_token)
        self._alignment = Alignment(document)
        self._drafted_first = self._kept_first = 0  # first tokens of drafts proposed in a gap, and accepted ones
        self._in_gap = False
        self.origins: tuple[int | None, ...] = ()  # of the tokens emitted last: their document positions

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`; `view` is not needed: everything emitted came through `observe`."""
        best = self._alignment.best
        if best is None or limit < 1:
            return EMPTY
        self._in_gap = not best.copying
        candidate = self._chain[best.position : best.position + MAX_DRAFT]
        survival = self._first(best.probability) * self._hazard() ** np.arange(len(candidate), dtype=np.float64)
        length = min(limit, len(candidate))
        return Draft(candidate, length, Source.DOCUMENT, best.position, survival, np.ones(len(candidate)))

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        if self._in_gap:
            self._drafted_first += 1
            self._kept_first += verdict.accepted > 0
        self.origins = tuple(self._alignment.observe(token) for token in verdict.emitted)

    def _first(self, probability: float) -> float:
        """P(the first token is accepted)."""
        if self._in_gap:
            return (self._kept_first + 0.5) / (self._drafted_first + 2.0)
        return min(0.99, probability) * (1.0 - 0.4 / (1.0 + self._alignment.matched))

    def _hazard(self) -> float:
        """P(one more token survives), from how broken this document has been so far."""
        emitted = self._alignment.breaks + 0.5
        return 1.0 - min(0.3, emitted / (self._alignment.emitted + 40.0))
