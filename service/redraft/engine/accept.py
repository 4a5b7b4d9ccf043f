"""Pure: draft x logits -> accepted tokens and bonus."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from redraft.engine.sampling import Choices

_FIRST_BLOCK = 16  # rows looked at before more are; doubled while everything is accepted


class Choose(Protocol):
    """The target's choices for rows of logits, row r after ahead[:offset + r]; may end with one that differs."""

    def __call__(self, logits: torch.Tensor, offset: int, ahead: Sequence[int]) -> Choices: ...


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What a pass emits: the accepted draft tokens, then the target's own next token (the bonus), if any."""

    emitted: tuple[int, ...]
    accepted: int
    margins: tuple[float, ...]  # of the emitted tokens
    runners_up: tuple[int, ...]
    ended: bool


def accept(draft: Sequence[int], logits: torch.Tensor, choose: Choose, end_tokens: Collection[int]) -> Acceptance:
    """Accept the longest prefix of the draft that the target chooses itself.

    logits: [len(draft) + 1, vocab]; row r follows draft[:r]. Greedy verification of Stern et al. 2018 with the
    choice as DESIGN defines it, so it holds for sampling too. After an accepted end token there is no bonus.
    """
    emitted: list[int] = []
    margins: list[float] = []
    runners_up: list[int] = []
    size = _FIRST_BLOCK
    while len(emitted) <= len(draft):
        start = len(emitted)
        choices = choose(logits[start : start + size], start, draft)
        for token, margin, second in zip(choices.tokens, choices.margins, choices.runners_up, strict=True):
            position = len(emitted)
            emitted.append(token)
            margins.append(margin)
            runners_up.append(second)
            matches = position < len(draft) and draft[position] == token
            if not matches or token in end_tokens:
                accepted = position + matches
                return Acceptance(tuple(emitted), accepted, tuple(margins), tuple(runners_up), token in end_tokens)
        size *= 2
    raise ValueError(f"{len(logits)} rows of logits for a draft of {len(draft)} tokens")
