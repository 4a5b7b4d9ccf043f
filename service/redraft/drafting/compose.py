"""One draft an edit and pass, out of the document and the output itself: the candidate that saves most."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from redraft.drafting.alignment import Alignment, Place
from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft, DraftView, Floats, Verdict
from redraft.drafting.guard import Guard
from redraft.drafting.length import CostCurve, cost_to_break, remaining_cost
from redraft.drafting.lookup import Lookup
from redraft.drafting.survival import Hindsight, SurvivalTable
from redraft.engine.results import Source

_RUNS = (1, 2, 3, 5, 9, 17, 33, 80)
_GAPS = (2, 3, 4, 7)
_MATCHES = (3, 4, 6, 9, 16)
_CONFIDENCE = (0.5, 0.8, 0.95)
_RATES = (0.004, 0.01, 0.025, 0.06)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chain that could be proposed, and its kind for the survival table."""

    kind: str
    chain: tuple[int, ...]
    source: Source
    origin: int | None
    ends: bool  # its last token ends the output


class Planner:
    """What a draft of each kind is worth on this device and at this load; shared by all edits."""

    def __init__(self, table: SurvivalTable, curve: CostCurve) -> None:
        self.table = table
        self._curve = curve
        self._rows = 1
        self._to_break: dict[tuple[str, int], tuple[Floats, Floats]] = {}

    @property
    def curve(self) -> CostCurve:
        """Cost of a whole pass by its tokens."""
        return self._curve

    @curve.setter
    def curve(self, curve: CostCurve) -> None:
        self._curve = curve
        self._to_break.clear()

    def share_among(self, edits: int) -> None:
        """Plan for passes that so many edits share: the more they are, the less a token costs that is not drafted."""
        self._rows = max(1, edits)

    @property
    def costs(self) -> Floats:
        """float64[MAX_DRAFT + 1]: one edit's share of a pass, by its draft tokens, if the others draft as many."""
        return self._curve.shared_costs(self._rows, MAX_DRAFT)

    def draft(self, candidate: Candidate, limit: int) -> Draft:
        """The candidate with survival and value of every token, in units of a one-token pass."""
        survival, to_break = self._known(candidate.kind)
        length = len(candidate.chain)
        left = remaining_cost(survival, to_break, self.costs, length, candidate.ends)
        alive = survival[1 : length + 1]
        value = (left[:-1] - left[1:]) / np.maximum(alive, 1e-12)
        return Draft(candidate.chain, min(limit, length), candidate.source, candidate.origin, alive, value)

    def best_length(self, draft: Draft) -> tuple[int, float]:
        """The length at which the draft saves most in a pass of its own, and what it then saves net."""
        gains = np.cumsum(draft.survival * draft.value) - (self.costs[1 : len(draft.candidate) + 1] - self.costs[0])
        best = int(np.argmax(gains)) if len(gains) else 0
        return (best + 1, float(gains[best])) if len(gains) and gains[best] > 0 else (0, 0.0)

    def _known(self, kind: str) -> tuple[Floats, Floats]:
        survival = self.table.survival(kind)
        known = self._to_break.get((kind, self._rows))
        if known is None or known[0] is not survival:
            known = self._to_break[kind, self._rows] = (survival, cost_to_break(survival, self.costs))
        return known


class ComposedDrafter:
    """Implements `Drafter`: alignment and lookup propose, survival and cost decide."""

    def __init__(
        self,
        document: list[int],
        end_token: int,
        planner: Planner,
        references: Sequence[list[int]] = (),
        own_text: bool = True,
    ) -> None:
        """references: further texts to draft from; own_text: whether the output's own n-grams may draft, too."""
        self._chain = (*document, end_token)
        self._alignment = Alignment(document)
        self._lookup = Lookup()
        self._references = [(text, Alignment(text, at_start=False)) for text in references]
        self._hindsight = Hindsight(planner.table)
        self._planner = planner
        self._own_text = own_text
        self._guard = Guard()
        self._gap = 0  # tokens since the last one that was copied
        self.origins: Sequence[int | None] = ()

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`; what was emitted came through `observe`."""
        best, length, most = EMPTY, 0, 0.0
        for candidate in self._candidates():
            self._hindsight.candidate(candidate.kind, candidate.chain)
            draft = self._planner.draft(candidate, limit)
            best_length, gain = self._planner.best_length(draft)
            if gain > most:
                best, length, most = draft, best_length, gain
        return self._within_guard(best, min(length, limit))

    def _within_guard(self, draft: Draft, length: int) -> Draft:
        """As much of the draft as the edit can afford to see rejected; what was too much is looked back at later."""
        if not length:
            return EMPTY
        allowed = self._guard.allowed(self._planner.costs)
        if length > allowed:
            self._guard.withheld(draft.candidate[:length], self._planner.costs)
        return draft.cut(min(draft.length, allowed))

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        self._guard.settle(verdict.emitted, verdict.drafted, self._planner.costs)
        self._hindsight.observe(verdict.emitted)
        self._lookup.observe(verdict.emitted)
        origins: list[int | None] = []
        for token in verdict.emitted:
            origin = self._alignment.observe(token)
            self._gap = 0 if origin is not None else self._gap + 1
            origins.append(origin)
        self.origins = origins
        for _, alignment in self._references:
            for token in verdict.emitted:
                alignment.observe(token)

    def _candidates(self) -> Iterator[Candidate]:
        rate = self._rate()
        sure = False
        for place in self._alignment.places():
            sure = sure or (place.copying and place.probability > 0.95)
            yield self._from_document(place, rate)
        if not sure:
            yield from self._from_references()
        if not self._own_text or (sure and self._alignment.matched > _RUNS[3]):
            return
        length, start = self._lookup.best()
        if length:
            kind = f"self/{bisect_right(_MATCHES, length)}/{int(sure)}"
            yield Candidate(kind, self._lookup.continuation(start, MAX_DRAFT), Source.SELF_COPY, None, False)

    def _from_references(self) -> Iterator[Candidate]:
        for text, alignment in self._references:
            for place in alignment.places():
                if place.copying and alignment.matched:
                    run = bisect_right(_RUNS, alignment.matched)
                    kind = f"ref/{run}/{bisect_right(_CONFIDENCE, place.probability)}"
                    chain = tuple(text[place.position : place.position + MAX_DRAFT])
                    yield Candidate(kind, chain, Source.REFERENCE, None, False)

    def _from_document(self, place: Place, rate: str) -> Candidate:
        chain = self._chain[place.position : place.position + MAX_DRAFT]
        if place.copying:
            run = bisect_right(_RUNS, self._alignment.matched)
            kind = f"copy/{run}/{bisect_right(_CONFIDENCE, place.probability)}/{rate}"
        else:
            kind = f"gap/{bisect_right(_GAPS, self._gap)}/{place.skipped}/{rate}"
        ends = place.position + len(chain) == len(self._chain)
        return Candidate(kind, chain, Source.DOCUMENT, place.position, ends)

    def _rate(self) -> str:
        """How broken this document has been so far."""
        emitted, breaks = self._alignment.emitted, self._alignment.breaks
        if not breaks and emitted < 48:
            return "new"
        return str(bisect_right(_RATES, (breaks + 0.3) / (emitted + 30)))
