"""Cost curve x survival -> how many tokens to propose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from redraft.drafting.base import Draft


@dataclass(frozen=True, slots=True)
class CostCurve:
    """Cost of a pass by its query tokens, in units of a one-token pass; linear between points and beyond the last."""

    points: tuple[tuple[int, float], ...]

    def costs(self, base: int, most: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """float64[most + 1]: the cost of passes of base, base + 1, … base + most tokens."""
        queries, values = (np.array(column, dtype=np.float64) for column in zip(*self.points, strict=True))
        wanted = np.arange(base, base + most + 1, dtype=np.float64)
        slope = (values[-1] - values[-2]) / (queries[-1] - queries[-2]) if len(queries) > 1 else 0.0
        beyond = np.maximum(0.0, wanted - queries[-1])
        return np.asarray(np.interp(wanted, queries, values) + beyond * slope)


def allocate(drafts: Sequence[Draft], base: int, curve: CostCurve) -> list[int]:
    """How many tokens of each candidate to propose in one shared pass of `base` tokens without drafts.

    Tokens of all edits compete by survival; of all totals that one is taken with the most expected tokens per cost.
    Survival never increases along a chain, so the best `n` tokens are always prefixes.
    """
    gains = np.concatenate([draft.survival[: draft.length] for draft in drafts]) if drafts else np.zeros(0)
    owners = np.repeat(np.arange(len(drafts)), [draft.length for draft in drafts])
    order = np.argsort(-gains, kind="stable")
    expected = len(drafts) + np.concatenate([[0.0], np.cumsum(gains[order])])
    best = int(np.argmax(expected / curve.costs(base, len(order))))
    return np.bincount(owners[order[:best]], minlength=len(drafts)).tolist() if drafts else []
