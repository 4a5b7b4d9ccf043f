"""What a draft of each kind is worth on this device and at this load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redraft.drafting.base import MAX_DRAFT, Draft, Floats
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve, cost_to_break, remaining_cost
from redraft.engine.results import Source


@dataclass(frozen=True, slots=True)
class Chance:
    """A place in a chain where a remembered replacement may happen again; taken: whether the chain has it so."""

    index: int
    kind: str
    taken: bool


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chain that could be proposed, and its kind for the survival table."""

    kind: str
    chain: tuple[int, ...]
    source: Source
    origin: int | None
    ends: bool  # its last token ends the output
    chances: tuple[Chance, ...] = ()
    bridge: int | None = None  # see `Draft.bridge`

    @property
    def plain(self) -> tuple[int, ...]:
        """The chain up to where a replacement may happen: what the kind itself is learned from."""
        return self.chain[: self.chances[0].index] if self.chances else self.chain


class Planner:
    """Knows survival and cost; shared by all edits."""

    def __init__(self, learned: Learned, curve: CostCurve, classes: Sequence[int] | None = None) -> None:
        """classes: the class of every token of the vocabulary (see `classes.py`); None: they are not told apart."""
        self.learned = learned
        self._curve = curve
        self._classes = classes
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

    def class_of(self, token: int) -> int:
        """The class of a token."""
        return self._classes[token] if self._classes is not None and token < len(self._classes) else 0

    def first_survives(self, kind: str) -> float:
        """P(the first token is right) for a kind."""
        return float(self.learned.survival.survival(kind)[1])

    def draft(self, candidate: Candidate, first: float, limit: int) -> Draft:
        """The candidate with survival and value of every token, in units of a one-token pass.

        first: P(its first token is right); what comes behind it survives as with others of its kind.
        """
        survival, to_break = self._known(candidate.kind)
        survival = self._with_chances(survival, candidate.chances)
        length = len(candidate.chain)
        left = remaining_cost(survival, to_break, self.costs, length, candidate.ends)
        alive = survival[1 : length + 1]
        value = (left[:-1] - left[1:]) / np.maximum(alive, 1e-12)
        alive = alive * (first / max(float(survival[1]), 1e-9))
        return Draft(
            candidate.chain, min(limit, length), candidate.source, candidate.origin, np.minimum(alive, 1.0), value,
            bridge=candidate.bridge,
        )  # fmt: skip

    def best_length(self, draft: Draft) -> tuple[int, float]:
        """The length at which the draft saves most in a pass of its own, and what it then saves net."""
        gains = np.cumsum(draft.survival * draft.value) - (self.costs[1 : len(draft.candidate) + 1] - self.costs[0])
        best = int(np.argmax(gains)) if len(gains) else 0
        return (best + 1, float(gains[best])) if len(gains) and gains[best] > 0 else (0, 0.0)

    def _with_chances(self, survival: Floats, chances: Sequence[Chance]) -> Floats:
        """Survival of a chain that passes places where a replacement may happen again."""
        if not chances:
            return survival
        survival = survival.copy()
        for chance in chances:
            again = self.first_survives(chance.kind)
            survival[chance.index + 1 :] *= again if chance.taken else 1.0 - again
        return survival

    def _known(self, kind: str) -> tuple[Floats, Floats]:
        survival = self.learned.survival.survival(kind)
        known = self._to_break.get((kind, self._rows))
        if known is None or known[0] is not survival:
            known = self._to_break[kind, self._rows] = (survival, cost_to_break(survival, self.costs))
        return known
