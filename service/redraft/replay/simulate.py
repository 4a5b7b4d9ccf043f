"""Plays a known output as if the target had chosen it: what a drafter would have saved, without weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rapidfuzz.distance import LCSseq

from redraft.drafting.base import MAX_DRAFT, Draft, Drafter, Verdict
from redraft.drafting.length import CostCurve, allocate
from redraft.prefix import common_prefix


@dataclass(slots=True)
class View:
    """What the drafter may see: tokens that earlier passes emitted."""

    document: list[int]
    end_token: int
    output: list[int] = field(default_factory=list)
    references: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Play:
    """One pair played through. `drafted` and `accepted` are per pass; costs in units of a one-token pass."""

    output_tokens: int
    drafted: tuple[int, ...]
    accepted: tuple[int, ...]
    cost: float
    plain_cost: float
    lcs: int
    missed: int  # tokens of the LCS that were not accepted drafts
    runs: int  # contiguous runs of the LCS

    @property
    def speedup(self) -> float:
        return self.plain_cost / self.cost

    @property
    def waste(self) -> float:
        """Rejected tokens per output token."""
        return (sum(self.drafted) - sum(self.accepted)) / self.output_tokens


def play(drafter: Drafter, document: list[int], output: Sequence[int], end_token: int, curve: CostCurve) -> Play:
    """Play `output` (without its end token) as the target's choices.

    Every pass is one token and a draft; it emits the accepted prefix and the target's own next token. A fully
    accepted draft that ends the output has no bonus. Of a draft and its branch the longer accepted one counts.
    """
    truth = (*output, end_token)
    view = View(document, end_token)
    drafted: list[int] = []
    accepted: list[int] = []
    by_draft = [False] * len(truth)
    cost = 0.0
    costs = curve.costs(1, MAX_DRAFT)
    while len(view.output) < len(truth):
        start = len(view.output)
        draft = drafter.propose(view, MAX_DRAFT)
        draft = draft.cut(allocate([draft], 1 + draft.extra, curve)[0])
        right = max(common_prefix(chain, truth[start : start + len(chain)]) for chain in _chains(draft))
        emitted = truth[start : start + right + 1]
        by_draft[start : start + right] = [True] * right
        cost += float(costs[draft.nodes]) + draft.cost
        drafted.append(draft.nodes)
        accepted.append(right)
        view.output.extend(emitted)
        drafter.observe(Verdict(emitted, right, drafted=draft.nodes))
    common, missed, runs = _missed(document, truth, by_draft)
    return Play(len(truth), tuple(drafted), tuple(accepted), cost, len(truth) * float(costs[0]), common, missed, runs)


def _chains(draft: Draft) -> list[tuple[int, ...]]:
    return [draft.tokens, draft.branch.tokens] if draft.extra and draft.branch is not None else [draft.tokens]


def _missed(document: list[int], truth: Sequence[int], by_draft: list[bool]) -> tuple[int, int, int]:
    """(LCS tokens, those of them that no draft gave, contiguous runs of the LCS)."""
    common = missed = runs = 0
    for block in LCSseq.opcodes(document, truth):
        if block.tag == "equal":
            common += block.dest_end - block.dest_start
            missed += by_draft[block.dest_start : block.dest_end].count(False)
            runs += 1
    return common, missed, runs
