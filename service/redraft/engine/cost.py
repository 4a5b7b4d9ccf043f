"""The cost curve while serving: measured at warm-up, corrected by the passes that are really run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from redraft.drafting.length import CostCurve
from redraft.model.cost import MeasuredCost

_RATE = 0.05  # weight of one pass against what was seen before
_PACE_RATE = 0.2  # the machine's pace of the moment is followed faster
_MOST = math.log(3.0)  # one pass moves nothing by more than this: it may have been interrupted
_EVERY = 64  # passes between two corrections of the curve
_WORTH = 0.05  # relative change of a cost below which the curve stays


class LiveCost:
    """What passes cost here, as drafts are weighed on it and as statistics estimate with it.

    A pass that took longer than expected says that the machine is slow just now, or that passes of its size cost more
    than was measured. The first is common to all sizes and followed as the pace; what is left of the surprise belongs
    to the size. Only passes of a single edit are looked at: the curve is theirs.
    """

    def __init__(self, measured: MeasuredCost) -> None:
        self._measured = measured
        self._queries = np.array([queries for queries, _ in measured.points], dtype=np.float64)
        self._surprise = np.zeros(len(self._queries))  # log of actual / expected by size, the pace taken out
        self._pace = 0.0  # log of actual / expected of late
        self._passes = 0
        self.curve = CostCurve(measured.points)

    @property
    def measured(self) -> MeasuredCost:
        """The costs as corrected so far."""
        return replace(
            self._measured,
            points=self.curve.points,
            one_token_seconds=self._measured.one_token_seconds * math.exp(self._pace + self._surprise[0]),
        )

    def observe(self, queries: int, context: int, seconds: float) -> bool:
        """Take in a pass of one edit: `queries` tokens behind `context` ones. Says whether the curve has changed."""
        if queries > self._queries[-1] or seconds <= 0:
            return False
        expected = self._measured.seconds(queries, context) * math.exp(self._expected_surprise(queries))
        surprise = float(np.clip(math.log(seconds / expected), -_MOST, _MOST))
        self._pace += _PACE_RATE * (surprise - self._pace)
        self._learn(queries, surprise - self._pace)
        self._passes += 1
        return self._passes % _EVERY == 0 and self._correct()

    def _expected_surprise(self, queries: int) -> float:
        return float(np.interp(queries, self._queries, self._surprise))

    def _learn(self, queries: int, surprise: float) -> None:
        """Move the two sizes that the pass lies between, the nearer one more."""
        upper = int(np.searchsorted(self._queries, queries))
        lower = max(0, upper - 1)
        span = self._queries[upper] - self._queries[lower]
        share = (queries - self._queries[lower]) / span if span else 1.0
        self._surprise[lower] += _RATE * (1.0 - share) * surprise
        self._surprise[upper] += _RATE * share * surprise

    def _correct(self) -> bool:
        """Work the surprises into the curve, if they would change it: relative to a one-token pass, never falling."""
        factors = np.exp(self._surprise - self._surprise[0])
        costs = np.maximum.accumulate(factors * [cost for _, cost in self._measured.points])
        now = np.array([cost for _, cost in self.curve.points])
        if np.all(np.abs(costs / now - 1.0) < _WORTH):
            return False
        self.curve = CostCurve(tuple(zip((int(q) for q in self._queries), costs.tolist(), strict=True)))
        return True
