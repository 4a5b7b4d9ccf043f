"""How far does a draft of this kind survive? Learned by kind, from whole candidate chains in hindsight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from redraft.drafting.base import MAX_DRAFT, Floats
from redraft.prefix import common_prefix

_DEPTHS = np.array([0, 1, 2, 4, 8, 16, 32, 64, 128])
"""Lower borders of the depth buckets: hazards are taken as constant within one."""

_BUCKET = np.searchsorted(_DEPTHS, np.arange(MAX_DRAFT + 1), side="right") - 1
_WEIGHT = 24.0  # trials that the prior of a kind counts for
_REFRESH = 1.05  # a kind's survival is worked out again when its trials have grown by this factor


@dataclass(slots=True)
class Hazards:
    """Trials and failures of one kind of draft, by depth bucket: float64[buckets]."""

    trials: Floats = field(default_factory=lambda: np.zeros(len(_DEPTHS)))
    failures: Floats = field(default_factory=lambda: np.zeros(len(_DEPTHS)))

    def add(self, agreed: int, failed: bool) -> None:
        """A chain agreed for `agreed` tokens; failed: it then differed (else it ended, or the edit did)."""
        self.trials += np.bincount(_BUCKET[:agreed], minlength=len(_DEPTHS))
        if failed and agreed <= MAX_DRAFT:
            self.trials[_BUCKET[agreed]] += 1
            self.failures[_BUCKET[agreed]] += 1


class SurvivalTable:
    """Survival by kind. A kind is a short string; an unknown one is taken for its family (up to the first "/")."""

    def __init__(self, prior: Mapping[str, Hazards] | None = None) -> None:
        self._prior = dict(prior or {})
        self._learned: dict[str, Hazards] = {}
        self._cache: dict[str, tuple[float, Floats]] = {}

    def survival(self, kind: str) -> Floats:
        """float64[MAX_DRAFT + 2]: P(the first k tokens are all accepted), k = 0, 1, …"""
        learned = self._learned.get(kind)
        seen = float(learned.trials[0]) if learned else 0.0
        known = self._cache.get(kind)
        if known is None or seen > known[0] * _REFRESH + 4:
            known = (seen, self._work_out(kind, learned or Hazards()))
            self._cache[kind] = known
        return known[1]

    def learn(self, kind: str, agreed: int, failed: bool) -> None:
        """Take in the outcome of a whole candidate chain."""
        self._learned.setdefault(kind, Hazards()).add(agreed, failed)

    def counts(self) -> Iterator[tuple[str, Hazards]]:
        """What was learned beyond the prior."""
        yield from self._learned.items()

    def to_json(self) -> dict[str, list[list[float]]]:
        """Learned counts, for the server to save."""
        return _hazards_to_json(self._learned)

    def prior_to_json(self) -> dict[str, list[list[float]]]:
        """The prior's counts, to be shipped."""
        return _hazards_to_json(self._prior)

    def restore(self, saved: Mapping[str, list[list[float]]]) -> None:
        """Take back what `to_json` gave. Raises ValueError if it is of another shape."""
        self._learned = hazards_from_json(saved)
        self._cache.clear()

    def _work_out(self, kind: str, learned: Hazards) -> Floats:
        prior = self._prior.get(kind) or self._prior.get(kind.partition("/")[0])
        # Without any prior: half of the first tokens fail, one in twenty later ones.
        expected = np.where(_DEPTHS == 0, 0.5, 0.05)
        if prior is not None:
            expected = (prior.failures + expected) / (prior.trials + 1.0)
        hazard = (learned.failures + _WEIGHT * expected) / (learned.trials + _WEIGHT)
        return np.concatenate([[1.0], np.cumprod(1.0 - hazard[_BUCKET])])


def _hazards_to_json(hazards: Mapping[str, Hazards]) -> dict[str, list[list[float]]]:
    return {kind: [h.trials.tolist(), h.failures.tolist()] for kind, h in sorted(hazards.items())}


def hazards_from_json(saved: Mapping[str, list[list[float]]]) -> dict[str, Hazards]:
    """Counts by kind from JSON. Raises ValueError if they are of another shape."""
    result = {}
    for kind, rows in saved.items():
        trials, failures = (np.array(row, dtype=np.float64) for row in rows)
        if trials.shape != _DEPTHS.shape or failures.shape != _DEPTHS.shape:
            raise ValueError(f"survival counts of {kind!r} have {trials.shape}, not {_DEPTHS.shape}")
        result[kind] = Hazards(trials, failures)
    return result


@dataclass(slots=True)
class _Open:
    kind: str
    chain: tuple[int, ...]
    agreed: int = 0


class Hindsight:
    """Scores every candidate chain of one edit against what was emitted later, drafted or not.

    The output does not depend on drafts, so a chain's outcome is known even for tokens that were never proposed.
    """

    def __init__(self, table: SurvivalTable) -> None:
        self._table = table
        self._open: list[_Open] = []

    def candidate(self, kind: str, chain: tuple[int, ...]) -> None:
        """A chain for the tokens that come next."""
        if chain:
            self._open.append(_Open(kind, chain))

    def observe(self, emitted: tuple[int, ...]) -> None:
        """Compare with what was emitted; chains whose outcome is known are learned."""
        self._open = [entry for entry in self._open if self._goes_on(entry, emitted)]

    def _goes_on(self, entry: _Open, emitted: tuple[int, ...]) -> bool:
        expected = entry.chain[entry.agreed : entry.agreed + len(emitted)]
        same = common_prefix(expected, emitted)
        entry.agreed += same
        if same < len(expected):
            self._table.learn(entry.kind, entry.agreed, failed=True)
            return False
        if entry.agreed == len(entry.chain):
            self._table.learn(entry.kind, entry.agreed, failed=False)
            return False
        return True
