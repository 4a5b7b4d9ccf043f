"""Draft, Drafter and Verdict: the narrow interface between drafting and the engine. No tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from redraft.engine.results import Source

MAX_DRAFT = 256
"""Longest candidate chain, in tokens."""

MISLED = 8
"""Tokens behind a draft's first wrong one after which the target's preferences are taken for its own."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Draft:
    """A chain proposed for verification.

    candidate: the whole chain that could be proposed, at most MAX_DRAFT ids.
    length:    how many of them are proposed; `tokens` is that prefix. Zero is a length.
    source:    who proposes it.
    origin:    index of candidate[0] in the document's tokens, or None if it is not copied from the document.
    survival:  float64[len(candidate)], P(candidate[0..j] are all accepted), non-increasing.
    value:     float64[len(candidate)], what emitting token j saves, in units of a one-token pass.
    cost:      the drafter's own model cost, in units of a one-token pass of the target.
    bridge:    index from which on the document goes on behind what `source` proposes; None: it does not.
    branch:    another chain for the same place with another first token, verified in the same pass.
    """

    candidate: tuple[int, ...]
    length: int
    source: Source
    origin: int | None
    survival: Floats
    value: Floats
    cost: float = 0.0
    fixed: bool = False  # the length is the drafter's own rule and not to be settled by cost
    bridge: int | None = None
    branch: Draft | None = None

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.candidate[: self.length]

    @property
    def lead(self) -> int:
        """How many of the proposed tokens are from `source`, before the document goes on."""
        return self.length if self.bridge is None else min(self.bridge, self.length)

    def sources(self, count: int) -> list[Source]:
        """Who proposed each of the first `count` tokens."""
        lead = min(count, self.lead)
        return [self.source] * lead + [Source.DOCUMENT] * (count - lead)

    @property
    def nodes(self) -> int:
        """What it adds to a pass: its tokens, and the branch's with the token before them, which is run once more."""
        return self.length + self.extra

    @property
    def extra(self) -> int:
        """The branch's share of the nodes."""
        return self.branch.length + 1 if self.branch is not None and self.length else 0

    def cut(self, length: int) -> Draft:
        """The same candidate with another proposed length."""
        return Draft(
            self.candidate, length, self.source, self.origin, self.survival, self.value, self.cost, self.fixed,
            self.bridge, self.branch,
        )  # fmt: skip


EMPTY = Draft((), 0, Source.TARGET, None, np.zeros(0), np.zeros(0))
"""The draft that proposes nothing."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one pass said about a draft.

    emitted:    the ids emitted by this pass: accepted draft tokens, then the bonus (no bonus after an accepted end).
    accepted:   how many of the draft's tokens, or of its branch's, were accepted; drafted: its nodes.
    preferred:  what the target likes best in place of the draft's tokens from MISLED behind the first wrong one on,
                after the draft's own words; as far as evaluated, may be empty.
    """

    emitted: tuple[int, ...]
    accepted: int
    preferred: tuple[int, ...] = ()
    drafted: int = 0


class DraftView(Protocol):
    """What a drafter may see of an edit. Only tokens that earlier passes emitted are in `output`."""

    @property
    def document(self) -> Sequence[int]:
        """Ids of the text to rewrite, as the output would spell them (after the assistant header)."""

    @property
    def references(self) -> Sequence[Sequence[int]]:
        """Ids of further texts that may be drafted from."""

    @property
    def output(self) -> Sequence[int]:
        """Ids emitted so far."""

    @property
    def end_token(self) -> int:
        """The id that ends an output; drafters may propose it after the document's last token."""


class GapFill(Protocol):
    """A draft that a draft model goes on with, a few tokens at a time, for as long as that pays."""

    @property
    def tokens(self) -> Sequence[int]:
        """What the draft model has proposed so far."""

    def wants_more(self, cost: float, share: float) -> bool:
        """Whether another step of the draft model is worth `share`, and `cost` can be afforded; in one-token passes."""

    def take(self, tokens: Sequence[int], probability: float, cost: float) -> None:
        """What a step proposed, how probable the draft model held it, and what the step cost."""

    def close(self) -> Draft:
        """The draft with what was proposed, the document appended where it is met again."""


class Drafter(Protocol):
    """Proposes a chain before each pass and learns from each pass's verdict. One instance an edit."""

    @property
    def origins(self) -> Sequence[int | None]:
        """For each token emitted last, the document token it was copied from; may be empty."""

    @property
    def gap(self) -> GapFill | None:
        """What a draft model might add to the draft proposed last; None: it is not to be asked."""

    def propose(self, view: DraftView, limit: int) -> Draft:
        """The chain to verify next, at most `limit` tokens. Must not depend on anything but emitted tokens."""

    def observe(self, verdict: Verdict) -> None:
        """Take in what the last pass emitted; called after every emitting pass, drafted or not."""


class NoDraft:
    """The trivial drafter: proposes nothing."""

    origins: Sequence[int | None] = ()
    gap: GapFill | None = None

    def propose(self, view: DraftView, limit: int) -> Draft:
        return EMPTY

    def observe(self, verdict: Verdict) -> None:
        return None
