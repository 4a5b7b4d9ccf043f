"""One draft an edit and pass, out of the document and the output itself: the candidate that saves most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft, DraftView, Verdict
from redraft.drafting.evidence import Evidence, Fork, Judged
from redraft.drafting.gap import Expected, Gap
from redraft.drafting.guard import Guard
from redraft.drafting.planner import Planner
from redraft.drafting.soft import Spelling
from redraft.drafting.survival import Hindsight


class ComposedDrafter:
    """Implements `Drafter`: alignment and lookup propose, survival and cost decide."""

    def __init__(
        self,
        document: list[int],
        end_token: int,
        planner: Planner,
        references: Sequence[list[int]] = (),
        own_text: bool = True,
        has_model: bool = False,
        drawn: bool = False,
        spelling: Spelling | None = None,
    ) -> None:
        """references: further texts to draft from; own_text: whether n-grams of output and document may draft, too;
        has_model: whether a draft model may be asked to fill gaps; drawn: and its tokens are tested by rejection;
        spelling: the vocabulary's, to go on behind changed white space and case; None: they end a copy."""
        self._evidence = Evidence(document, end_token, planner, references, own_text, spelling)
        self._end_token = end_token
        self._hindsight = Hindsight(planner.learned.survival)
        self._planner = planner
        self._guard = Guard()
        self._has_model = has_model
        self._drawn = drawn
        self.gap: Gap | None = None
        self._judged: list[Judged] = []
        self._proposed = EMPTY
        self.origins: Sequence[int | None] = ()

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`; what was emitted came through `observe`."""
        best, length, most = EMPTY, 0, 0.0
        likeliest, drafts = Expected(), list[Draft]()
        self._judged = list(self._evidence.candidates())
        for judged in self._judged:
            self._hindsight.candidate(judged.candidate.kind, judged.candidate.plain)
            draft = self._planner.draft(judged.candidate, judged.probability, limit)
            drafts.append(draft)
            if judged.probability > likeliest.first:
                likeliest = Expected(draft, judged.probability)
            best_length, gain = self._planner.best_length(draft)
            if gain > most:
                best, length, most = draft, best_length, gain
        length = min(length, limit)
        if length:
            best = self._with_branch(best, length, drafts)
        self.gap = self._open_gap(best, likeliest, limit) if self._has_model and limit else None
        return self._within_guard(best, length)

    def _with_branch(self, best: Draft, length: int, drafts: Sequence[Draft]) -> Draft:
        branch = self._branch(best.cut(length), drafts)
        if branch is None:
            return best
        return replace(best, length=min(best.length, MAX_DRAFT - branch.length - 1), branch=branch)

    def _branch(self, best: Draft, drafts: Sequence[Draft]) -> Draft | None:
        """The draft with another first token that saves most, if any is worth its nodes beside the best one.

        A second branch was tried: on a cost curve where one saves 3%, two save less.
        """
        found, most, costs = None, 0.0, self._planner.costs
        for draft in drafts:
            room = min(draft.length, MAX_DRAFT - best.length - 1)
            if room <= 0 or draft.candidate[0] == best.candidate[0]:
                continue
            extra = costs[best.length + 2 : best.length + 2 + room] - costs[best.length]
            gains = np.cumsum(draft.survival[:room] * draft.value[:room]) - extra
            length = int(np.argmax(gains)) + 1
            if gains[length - 1] > most:
                found, most = draft.cut(length), float(gains[length - 1])
        return found

    def _open_gap(self, best: Draft, likeliest: Expected, limit: int) -> Gap:
        planner = self._planner
        fork: Fork | None = None  # most gaps are left without a question

        def look(token: int) -> Expected:
            nonlocal fork
            fork = fork or self._evidence.fork()
            best = Expected()
            for candidate in fork.candidates(token):
                first = planner.first_survives(candidate.kind) if candidate.chain else 0.0
                if first > best.first:
                    best = Expected(planner.draft(candidate, first, limit), first)
            return best

        budget = self._guard.budget(planner.costs)
        return Gap(
            planner, best, likeliest, look, self._with_branch, self._within_guard, budget, limit, self._end_token,
            self._drawn,
        )  # fmt: skip

    def _within_guard(self, draft: Draft, length: int, spent: float = 0.0) -> Draft:
        """As much of the draft as the edit can afford to see rejected; what was too much is looked back at later.

        spent: what a draft model has cost for it already.
        """
        self._proposed = draft if length else EMPTY
        if not length:
            return EMPTY
        allowed = self._guard.allowed(self._planner.costs, spent)
        if draft.cut(length).nodes > allowed:
            draft = replace(draft, branch=None)
        if length > allowed:
            self._guard.withheld(draft.candidate[:length], self._planner.costs)
        return draft.cut(min(draft.length, allowed))

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        self._evidence.foresee(self._proposed, verdict)
        spent = self.gap.spent if self.gap is not None else 0.0
        self._guard.settle(verdict.emitted, verdict.drafted, self._planner.costs, spent)
        if self.gap is not None:
            self.gap.learn(verdict.emitted)
        self._hindsight.observe(verdict.emitted)
        for judged in self._judged:
            right = judged.first == verdict.emitted[0]
            self._planner.learned.confidence.learn(judged.probability, judged.features, right)
        self.origins = self._evidence.observe(verdict.emitted)
        # The next pass may be without a proposal: nothing of this one is to be learned again.
        self.gap, self._judged, self._proposed = None, [], EMPTY
