"""Gaps filled by a draft model: its tokens, then the document where they lead back into it (bridging)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from redraft.drafting.agreement import Agreement
from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft
from redraft.drafting.planner import Planner
from redraft.engine.results import Source

_PRICELESS = 1e6  # value of a token that must be proposed
_WITHIN = 0.97  # probability of the further tokens that one step of a draft model proposes at once


@dataclass(frozen=True, slots=True)
class Expected:
    """What the document would put next, as a draft, and P(its first token is right)."""

    draft: Draft = EMPTY
    first: float = 0.0

    @property
    def token(self) -> int | None:
        return self.draft.candidate[0] if self.draft.candidate else None


@dataclass(frozen=True, slots=True)
class Proposed:
    """A token of the draft model, and what the document would have put in its place."""

    token: int
    probability: float
    document: int | None
    document_probability: float

    @property
    def same(self) -> bool:
        return self.token == self.document


Look = Callable[[int], Expected]
"""Follow a proposed token with the alignment; what the document would put behind it."""

Branch = Callable[[Draft, int, Sequence[Draft]], Draft]
"""branch(draft, length, drafts): the draft with a branch out of the others, if that pays beside `length` tokens."""

Finish = Callable[[Draft, int, float], Draft]
"""finish(draft, length, spent): as much of the draft as the edit can afford, after the model has cost `spent`."""


@dataclass(slots=True)
class Gap:
    """Implements `GapFill`. One question decides at every token: is the model likely enough to be right where the
    document is wrong? If so it is asked, else the document goes on. So a model bridges gaps, and is left alone in
    copies and where it does not help."""

    planner: Planner
    fallback: Draft  # what is proposed without the model
    expected: Expected
    look: Look
    branch: Branch
    finish: Finish
    budget: float  # what model and pass may cost together, in units of a one-token pass
    limit: int
    end_token: int
    drawn: bool = False  # tokens are tested by rejection: all of them must be proposed, whatever they are
    proposed: list[Proposed] = field(default_factory=list)
    spent: float = 0.0
    _alive: list[float] = field(default_factory=list)  # P(the first 1, 2, … proposed tokens are all right)

    @property
    def tokens(self) -> Sequence[int]:
        return [one.token for one in self.proposed]

    @property
    def _agreement(self) -> Agreement:
        return self.planner.learned.agreement

    def wants_more(self, cost: float, share: float) -> bool:
        """See `GapFill.wants_more`."""
        length = len(self.proposed)
        if length >= min(self.limit, MAX_DRAFT - 1) or self._ended:
            return False
        costs = self.planner.costs
        if costs[length + 1] + self.spent + cost > self.budget:
            return False
        alive = self._alive[-1] if self._alive else 1.0
        won = alive * self._agreement.helps(self.expected.first) * costs[0]
        return bool(won > share + costs[length + 1] - costs[length])

    def take(self, tokens: Sequence[int], probability: float, cost: float) -> None:
        """See `GapFill.take`."""
        self.spent += cost
        for index, token in enumerate(tokens):
            if len(self.proposed) < self.limit and not self._ended:
                self._add(token, probability if index == 0 else _WITHIN)

    def close(self) -> Draft:
        """See `GapFill.close`."""
        choices = [self._doubted(self.fallback)] if self.proposed and not self.drawn else []
        choices += [self._joined() if self.proposed else self.fallback]
        judged = [(draft, *self.planner.best_length(draft)) for draft in choices]
        best, length, _ = max(judged, key=lambda one: one[2])
        length = min(length, self.limit)
        if self.proposed and length and not self.drawn:
            best = self.branch(replace(best, branch=None), length, choices)
        return replace(self.finish(best, length, self.spent), cost=self.spent)

    def learn(self, emitted: Sequence[int]) -> None:
        """Compare what was proposed with what the target chose, as far as it is known."""
        for one, token in zip(self.proposed, emitted, strict=False):
            right, document_right = one.token == token, one.document == token
            self._agreement.learn(one.document_probability, one.probability, one.same, right, document_right)
            if not right:
                break

    @property
    def _ended(self) -> bool:
        return bool(self.proposed) and self.proposed[-1].token == self.end_token

    def _add(self, token: int, probability: float) -> None:
        one = Proposed(token, probability, self.expected.token, self.expected.first)
        right = self._agreement.right(one.document_probability, probability, one.same)
        self.proposed.append(one)
        self._alive.append(right * (self._alive[-1] if self._alive else 1.0))
        self.expected = self.look(token) if token != self.end_token else Expected()

    def _joined(self) -> Draft:
        """The model's tokens and the document behind them."""
        tail, alive, count = self.expected.draft, np.array(self._alive), len(self.proposed)
        from_document = all(one.same for one in self.proposed) and not self.drawn
        # Of drawn tokens none may be dropped for what it is: that would change the distribution.
        value = _PRICELESS / alive[-1] if self.drawn else self.planner.costs[0]
        return Draft(
            candidate=(*self.tokens, *tail.candidate)[:MAX_DRAFT],
            length=min(count + tail.length, self.limit, MAX_DRAFT),
            source=Source.DOCUMENT if from_document else Source.DRAFT_MODEL,
            origin=self.fallback.origin if from_document else None,
            survival=np.concatenate([alive, alive[-1] * tail.survival])[:MAX_DRAFT],
            value=np.concatenate([np.full(count, value), tail.value])[:MAX_DRAFT],
            bridge=count if tail.candidate and not from_document else None,
        )

    def _doubted(self, draft: Draft) -> Draft:
        """What is left of the draft without the model where the model holds another first token for probable."""
        first = self.proposed[0]
        if not draft.candidate or draft.candidate[0] == first.token:
            return draft
        was = float(draft.survival[0])
        now = self._agreement.document_right(was, first.probability)
        return replace(draft, survival=draft.survival * min(1.0, now / max(was, 1e-9)))
