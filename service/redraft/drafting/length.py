"""Cost curve x survival -> how many tokens to propose."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from redraft.drafting.base import MAX_DRAFT, Draft, Floats

# Draft lengths that later passes of a run may choose from; the present pass may choose any.
_LENGTHS = np.array([0, 1, 2, 3, 4, 6, 8, 11, 14, 18, 23, 30, 38, 48, 60, 76, 96, 120, 150, 190, 225, 256])


@dataclass(slots=True)
class CostCurve:
    """Cost of a pass by its query tokens, in units of a one-token pass; linear between points and beyond the last."""

    points: tuple[tuple[int, float], ...]
    _known: dict[tuple[int, int], Floats] = field(default_factory=dict, repr=False)
    _shared: dict[tuple[int, int], Floats] = field(default_factory=dict, repr=False)

    def scaled(self, factor: float) -> CostCurve:
        """The same with every cost times a factor."""
        return CostCurve(tuple((queries, factor * cost) for queries, cost in self.points))

    def shared_costs(self, rows: int, most: int) -> Floats:
        """float64[most + 1]: cost a row of passes in which each of `rows` rows has 1, 2, … 1 + most tokens."""
        if (rows, most) not in self._shared:
            self._shared[rows, most] = self.costs(rows, rows * most)[::rows] / rows
        return self._shared[rows, most]

    def costs(self, base: int, most: int) -> Floats:
        """float64[most + 1]: the cost of passes of base, base + 1, … base + most tokens."""
        known = self._known.get((base, most))
        if known is None:
            known = self._known[base, most] = self._work_out(base, most)
            if len(self._known) > 4096:
                self._known.pop(next(iter(self._known)))
        return known

    def _work_out(self, base: int, most: int) -> Floats:
        queries, values = (np.array(column, dtype=np.float64) for column in zip(*self.points, strict=True))
        wanted = np.arange(base, base + most + 1, dtype=np.float64)
        slope = (values[-1] - values[-2]) / (queries[-1] - queries[-2]) if len(queries) > 1 else 0.0
        beyond = np.maximum(0.0, wanted - queries[-1])
        return np.asarray(np.interp(wanted, queries, values) + beyond * slope)


def cost_to_break(survival: Floats, costs: Floats) -> Floats:
    """Least expected cost of emitting the rest of a copied run, by how deep in it we are.

    survival: float64[MAX_DRAFT + 2], P(the run goes on for at least k tokens), k = 0, 1, …
    costs: float64[MAX_DRAFT + 1], cost of a pass with n draft tokens.
    Returns float64[MAX_DRAFT + 2]: W[k], given that k tokens of the run have been emitted.

    A pass with n drafts emits n + 1 tokens of the run or meets its end, so
        W[k] = min over n of  costs[n] + survival[k + n + 1] / survival[k] * W[k + n + 1].
    The output does not depend on drafts: the tokens to emit are given, and the least cost of getting through them is
    the whole objective. Solved backwards on a grid of depths; beyond it the last hazard goes on (a stationary run).
    """
    last = len(survival) - 1
    stay = survival[last] / survival[last - 1] if survival[last - 1] > 0 else 0.0
    passes = costs[_LENGTHS]
    tail = float(np.min(passes / np.maximum(1.0 - stay ** (_LENGTHS + 1.0), 1e-9)))
    grid = np.append(_LENGTHS, last)
    values = np.full(len(grid), tail)
    for index in range(len(grid) - 2, -1, -1):
        depth = grid[index]
        reached = depth + _LENGTHS + 1
        ahead = np.interp(reached, grid[index + 1 :], values[index + 1 :])
        inside = np.minimum(reached, last)
        goes_on = survival[inside] * stay ** (reached - inside) / max(survival[depth], 1e-12)
        values[index] = float(np.min(passes + goes_on * ahead))
    return np.asarray(np.interp(np.arange(last + 1), grid, values))


def remaining_cost(survival: Floats, to_break: Floats, costs: Floats, length: int, ends: bool) -> Floats:
    """float64[length + 1]: expected cost that is left of this run after a pass with n drafts, n = 0 … length.

    ends: the chain's last token ends the output, so that little is left near it.
    """
    left = survival[1 : length + 2] * to_break[1 : length + 2]
    if ends:
        rest = np.arange(length - 1, -2, -1)  # tokens after n drafts and the bonus
        finish = np.where(rest > 0, costs[np.clip(rest - 1, 0, MAX_DRAFT)], 0.0)
        left = np.minimum(left, survival[1 : length + 2] * finish)
    return np.asarray(left)


def allocate(drafts: Sequence[Draft], base: int, curve: CostCurve) -> list[int]:
    """How many tokens of each candidate to propose in one shared pass of `base` tokens without drafts.

    Maximises the sum of survival * value over the proposed tokens, less what they add to the pass's cost. With one
    edit every length is tried; with several, tokens compete along each edit's concave hull of gains.
    """
    if any(draft.fixed for draft in drafts):
        return [draft.length for draft in drafts]
    proposing = [index for index, draft in enumerate(drafts) if draft.length]
    lengths = [0] * len(drafts)
    if len(proposing) == 1:
        draft = drafts[proposing[0]]
        costs = curve.costs(base, draft.length)
        lengths[proposing[0]] = int(np.argmax(_gains(draft) - costs))
    elif proposing:
        _share([drafts[index] for index in proposing], proposing, lengths, base, curve)
    return lengths


def _gains(draft: Draft) -> Floats:
    """float64[length + 1]: what proposing n tokens saves."""
    each = draft.survival[: draft.length] * draft.value[: draft.length]
    return np.concatenate([[0.0], np.cumsum(each)])


def _share(drafts: list[Draft], owners: list[int], lengths: list[int], base: int, curve: CostCurve) -> None:
    """Take hull segments by falling gain per token; stop at the best total."""
    segments = [
        (gain / count, owner, count, gain)
        for draft, owner in zip(drafts, owners, strict=True)
        for count, gain in _hull(_gains(draft))
    ]
    segments.sort(key=lambda segment: -segment[0])
    counts = np.cumsum([0, *(segment[2] for segment in segments)])
    gains = np.cumsum([0.0, *(segment[3] for segment in segments)])
    costs = curve.costs(base, int(counts[-1]))
    for _, owner, count, _ in segments[: int(np.argmax(gains - costs[counts]))]:
        lengths[owner] += count


def _hull(gains: Floats) -> list[tuple[int, float]]:
    """Segments (tokens, gain) of the upper concave hull from 0, of falling slope."""
    points = [(0, 0.0)]
    for count in range(1, len(gains)):
        gain = float(gains[count])
        while len(points) > 1 and _below(points[-2], points[-1], (count, gain)):
            points.pop()
        points.append((count, gain))
    pairs = itertools.pairwise(points)
    return [(b[0] - a[0], b[1] - a[1]) for a, b in pairs if b[1] > a[1]]


def _below(a: tuple[int, float], b: tuple[int, float], c: tuple[int, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
