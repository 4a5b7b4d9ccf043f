"""An edit never loses more than a little to its drafts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from redraft.drafting.base import Floats

SHARE = 0.02
"""Net loss allowed, as a share of what the edit would have cost so far without drafts."""

SPARE = 2.0
"""Net loss allowed on top, in one-token passes."""


@dataclass(slots=True)
class _Shadow:
    """A draft that was not allowed: what it would have won is seen from what is emitted next."""

    chain: tuple[int, ...]
    extra: float
    agreed: int = 0


class Guard:
    """A ledger of one edit's plain and actual cost, in units of a one-token pass."""

    def __init__(self) -> None:
        self._plain = 0.0
        self._actual = 0.0
        self._credit = 0.0  # what drafts that were not allowed would have won
        self._shadow: _Shadow | None = None

    def allowed(self, costs: Floats, spent: float = 0.0) -> int:
        """Most draft tokens for the next pass if all may be rejected; costs[n]: a pass with n draft tokens.

        spent: what a draft model has cost for this pass already.
        """
        return max(0, int(np.searchsorted(costs, self.budget(costs) - spent, side="right")) - 1)

    def budget(self, costs: Floats) -> float:
        """The most that the next pass and what leads to it may cost."""
        plain = self._plain + float(costs[0])
        return plain * (1.0 + SHARE) + SPARE + self._credit - self._actual

    def settle(self, emitted: tuple[int, ...], drafted: int, costs: Floats, spent: float = 0.0) -> None:
        """A pass with `drafted` draft tokens emitted these tokens; a draft model cost `spent` before."""
        self._actual += float(costs[drafted]) + spent
        self._plain += float(costs[0]) * len(emitted)
        self._look_back(emitted)

    def withheld(self, chain: tuple[int, ...], costs: Floats) -> None:
        """A chain that would have been proposed and was not."""
        if self._shadow is None and chain:
            self._shadow = _Shadow(chain, float(costs[len(chain)] - costs[0]))

    def _look_back(self, emitted: tuple[int, ...]) -> None:
        shadow = self._shadow
        if shadow is None:
            return
        for token in emitted:
            if shadow.agreed == len(shadow.chain) or shadow.chain[shadow.agreed] != token:
                self._shadow = None
                break
            shadow.agreed += 1
        if shadow.agreed > shadow.extra:  # it had paid already: no need to wait for its end
            self._credit += shadow.agreed - shadow.extra
            self._shadow = None
