"""How likely is a candidate's first token to be right? The survival of its kind, corrected by what is seen here."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from redraft.drafting.classes import COUNT as CLASSES

FAMILIES = ("copy", "gap", "self", "ref", "swapping")

# Borders of the buckets of what is seen.
_PROBABILITY = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 0.995)
_MATCH = (2, 3, 5)
_AGREEMENT = (0.5, 0.99)
_OFTEN = (1, 2, 3, 5, 9, 17, 65)
_GAP = (1, 2, 3, 4, 6, 10, 20)
_SKIP = (0, 1, 2, 3, 6, 20, 100)
_RUN = (1, 2, 3, 4, 8)

# One group of features a question, each candidate has one feature of every group.
_GROUPS = (
    len(_PROBABILITY) + 1,
    1 + 2 * (len(_MATCH) + 1) * (len(_AGREEMENT) + 1),
    3,
    len(_OFTEN) + 1,
    CLASSES * CLASSES,
    2 * (len(_GAP) + 1),
    2 * (len(_SKIP) + 1),
    len(_RUN) + 1,
)
_OFFSETS = [sum(_GROUPS[:index]) for index in range(len(_GROUPS))]
_PER_FAMILY = sum(_GROUPS)
SIZE = _PER_FAMILY * len(FAMILIES)

_RATE = 0.08
_CAUTION = 4.0  # squared gradients that a weight starts with: how slowly it leaves the prior
_EXTREME = 8.0  # log-odds


@dataclass(frozen=True, slots=True)
class Seen:
    """What speaks for and against a candidate.

    probability: of its place in the alignment; looked_up: whether the lookup's continuation begins with the same token
    (None: there is none), after how long a match, with which agreement; seconded: other candidates that begin so, too;
    often: occurrences of the first token in the document; pair: classes of the last token and of the first one;
    gap, skipped: emitted tokens and left-out document tokens of the last gap; run: tokens copied since.
    """

    family: str
    probability: float
    looked_up: bool | None
    match: int
    agreement: float
    seconded: int
    often: int
    pair: int
    gap: int
    skipped: int
    run: int

    def features(self) -> list[int]:
        """One index below SIZE of every group."""
        looked_up = 0
        if self.looked_up is not None:
            looked_up = bisect_right(_MATCH, self.match) * (len(_AGREEMENT) + 1)
            looked_up = 1 + 2 * (looked_up + bisect_right(_AGREEMENT, self.agreement)) + self.looked_up
        fresh = self.run <= 1
        buckets = (
            bisect_right(_PROBABILITY, self.probability),
            looked_up,
            min(2, self.seconded),
            bisect_right(_OFTEN, self.often),
            self.pair,
            2 * bisect_right(_GAP, self.gap) + fresh,
            2 * bisect_right(_SKIP, self.skipped) + (self.skipped == self.gap),
            bisect_right(_RUN, self.run),
        )
        start = FAMILIES.index(self.family) * _PER_FAMILY
        return [start + offset + bucket for offset, bucket in zip(_OFFSETS, buckets, strict=True)]


class Confidence:
    """Logistic regression over what is seen, on top of the kind's own estimate; learned online by AdaGrad (Duchi et al.
    2011). The output doesn't depend on drafts, so that every candidate teaches, proposed or not."""

    def __init__(self, prior: Sequence[float] | None = None) -> None:
        """prior: a weight for every feature. Raises ValueError if they are of another number."""
        if prior is not None and len(prior) != SIZE:
            raise ValueError(f"{len(prior)} weights of confidence, not {SIZE}")
        self.weights = list(prior) if prior is not None else [0.0] * SIZE
        self._squares = [_CAUTION] * SIZE

    def probability(self, estimate: float, features: Sequence[int]) -> float:
        """P(the first token is right); estimate: what is known of the candidate's kind."""
        estimate = min(0.999, max(0.001, estimate))
        odds = math.log(estimate / (1.0 - estimate)) + sum(self.weights[feature] for feature in features)
        return 1.0 / (1.0 + math.exp(-min(_EXTREME, max(-_EXTREME, odds))))

    def learn(self, probability: float, features: Sequence[int], right: bool) -> None:
        """Take in what came of a candidate that was given this probability."""
        gradient = probability - right
        square = gradient * gradient
        for feature in features:
            self._squares[feature] += square
            self.weights[feature] -= _RATE * gradient / math.sqrt(self._squares[feature])
