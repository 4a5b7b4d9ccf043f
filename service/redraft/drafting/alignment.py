"""Where in the document does the output continue? A probability for each place, in two modes."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TypeVar

from redraft.drafting.soft import Change, Seam, SoftText, Spelling, Spot, token_at
from redraft.prefix import common_prefix

# copying at c: the last copy ended before c, so the next token should be document[c]
# gap since c:  the output says something of its own since document[:c] was reached
#
#   document  … the  cat  sat  on  the  mat …
#                         ^ copying at c          output so far: … the cat
#                         ^ gap since c           output so far: … the cat QUICKLY
_STAY, _SKIP, _ENTER = 0.95, 0.02, 0.03  # from copying: on to the next token, over a deletion, into a gap
_REMAIN, _LEAVE = 0.75, 0.25  # from a gap
_SOFT = 0.3  # from copying: on to the next token in another case, or behind other white space
_WORTH = 0.02  # a hypothesis as probable is followed softly
_JUMP = 0.02  # share of a resume or skip that may land anywhere: moved blocks
_NEAR = 8  # occurrences looked at ahead of a hypothesis
_RARE = 48  # tokens that occur more often than this start no jump
_MOST = 32  # hypotheses kept
_SMALL = 1e-4  # hypotheses below this share of the best are dropped


@dataclass(frozen=True, slots=True)
class Place:
    """A hypothesis: the next token should be document[position], or the `lead` and then document[position]."""

    position: int
    probability: float
    copying: bool
    skipped: int = 0  # in a gap: document tokens left out since it began
    lead: tuple[int, ...] = ()  # the document's text before `position`, spelt anew


class Alignment:
    """A sparse hidden-Markov filter over document positions (forward algorithm, Rabiner 1989)."""

    def __init__(self, document: Sequence[int], at_start: bool = True, spelling: Spelling | None = None) -> None:
        """document: token ids; at_start: the output is assumed to begin with its first, else anywhere;
        spelling: to follow a copy that changes white space and case; None: only equal tokens are a copy."""
        self._document = tuple(document)
        self.occurrences: dict[int, list[int]] = {}
        for position, token in enumerate(self._document):
            self.occurrences.setdefault(token, []).append(position)
        self._seen = Counter(self._document)
        self._total = len(self._document)
        self.soft = SoftText(document, spelling) if spelling is not None else None
        self._copying: dict[Spot, float] = {0: 1.0} if at_start else {}
        self._gaps: dict[int, float] = {} if at_start else {0: 1.0}
        self.matched = 0  # tokens since the last re-sync
        self.skipped = 0  # document tokens left out at the last re-sync; negative: it jumped back
        self._last = -1  # document position of the token copied last
        self.change: Change | None = None  # the line break that the token copied last put in or left out
        self.is_same = True  # whether the token copied last is the document's, but for white space
        self.breaks = 0
        self.changes = 0  # tokens that were copied softly: sync was kept, but a draft of the document ended there
        self.emitted = 0

    def fork(self) -> Alignment:
        """A copy that goes its own way, to see where tokens would lead that are not emitted yet."""
        other = copy(self)
        other._copying, other._gaps, other._seen = dict(self._copying), dict(self._gaps), Counter(self._seen)
        return other

    def advance(self, tokens: tuple[int, ...]) -> int:
        """Take in as many emitted tokens as go on in an unambiguous copy, in one slice comparison; returns how many."""
        if len(self._copying) != 1 or self._gaps or not self.matched:
            return 0
        (place,) = self._copying
        if not isinstance(place, int):
            return 0
        count = common_prefix(self._document[place : place + len(tokens)], tokens)
        if count:
            self._copying = {place + count: 1.0}
            self._seen.update(tokens[:count])
            self._total += count
            self.emitted += count
            self.matched += count
            self._last = place + count - 1
            self.is_same = True
        return count

    def observe(self, token: int) -> int | None:
        """Take in one emitted token; returns the document position it was copied from, or None."""
        if self.advance((token,)):
            return self._last
        self.change = None
        before = self._continuing()
        expected = self._next(before[0], token) if before[1] >= 0.5 else None
        arrivals = self._arrivals(token)
        background = (self._seen[token] + 0.5) / (self._total + 1000.0)
        gaps: dict[int, float] = defaultdict(float)
        for spot, probability in self._copying.items():
            gaps[token_at(spot)] += background * _ENTER * probability
        for place, probability in self._gaps.items():
            gaps[place] += background * _REMAIN * probability
        self._keep(arrivals, gaps)
        self._seen[token] += 1
        self._total += 1
        self.emitted += 1
        return self._origin(before[0], expected, token)

    @property
    def place(self) -> int:
        """The likeliest position to copy the next token from."""
        return token_at(self._continuing()[0])

    @property
    def is_sure(self) -> bool:
        """Whether there is hardly a doubt about where the output is being copied from."""
        return self._continuing()[1] > 0.95

    def places(self, gap: int) -> list[Place]:
        """The likeliest places for the next token, best first: one to copy from, or some to resume at.

        gap: tokens emitted since the last copied one; as many as that are often what a substitution leaves out.
        """
        continuing = self._continuing()
        found = [_place(*continuing)] if continuing[1] > 0.05 else []
        if 0.05 < continuing[1] < 0.9 and len(self._copying) > 1:
            second = sorted(self._copying.items(), key=lambda item: -item[1])[1]
            if second[1] > 0.05:
                found.append(_place(*second))
        if continuing[1] < 0.8 and self._gaps:
            began, probability = max(self._gaps.items(), key=lambda item: item[1])
            found += [
                Place(began + skipped, probability, False, skipped)
                for skipped in sorted({0, 1, 2, gap})
                if began + skipped < len(self._document)
            ]
        return found

    def _continuing(self) -> tuple[Spot, float]:
        return max(self._copying.items(), key=lambda item: item[1], default=(0, 0.0))

    def _origin(self, before: Spot, expected: Spot | None, token: int) -> int | None:
        """before: where the likeliest copy was; expected: where the likeliest copy gets to by this token."""
        now, probability = self._continuing()
        if probability < 0.5:
            self.breaks += self.matched > 0
            self.matched = 0
            return None
        follows = expected == now
        self.breaks += self.matched > 0 and not follows
        changed = follows and not self._is_own(before, token)
        self.changes += changed
        if changed and self.soft is not None:
            self.change = self.soft.gap_changed(before, now, token)
        self.matched = self.matched + 1 if follows and not changed else 1
        last = now - 1 if isinstance(now, int) else now.begins
        if not follows:
            self.skipped = last - (self._last + 1)
        self._last = last
        self.is_same = self.soft is None or self.soft.is_same_word(token, now)
        return self._last

    def _next(self, spot: Spot, token: int) -> Spot | None:
        """Where a copy gets to by this token; None: it is not the document's."""
        if isinstance(spot, int) and spot < len(self._document) and self._document[spot] == token:
            return spot + 1
        return self.soft.follow(spot, token) if self.soft is not None else None

    def _is_own(self, spot: Spot, token: int) -> bool:
        if isinstance(spot, Seam):
            return spot.ahead[:1] == (token,)
        return spot < len(self._document) and self._document[spot] == token

    def _arrivals(self, token: int) -> dict[Spot, float]:
        """Weight of having just copied the token, keyed by what is to be copied next."""
        arrivals: dict[Spot, float] = defaultdict(float)
        places = self.occurrences.get(token, [])
        for spot, probability in self._copying.items():
            own = self._is_own(spot, token)
            behind = self._next(spot, token) if own or probability > _WORTH else None
            if behind is not None:
                arrivals[behind] += (_STAY if own else _SOFT) * probability
            self._spread(arrivals, places, token_at(spot) + 1, _SKIP * probability)
        for place, probability in self._gaps.items():
            self._spread(arrivals, places, place, _LEAVE * probability)
        return arrivals

    def _spread(self, arrivals: dict[Spot, float], places: list[int], start: int, weight: float) -> None:
        """Land on the nearest occurrences ahead, few skipped tokens before many, and a little anywhere."""
        first = bisect_left(places, start)
        for position in places[first : first + _NEAR]:
            arrivals[position + 1] += weight * (1 - _JUMP) / (position - start + 2) ** 1.5
        if len(places) <= _RARE:
            for position in places:
                arrivals[position + 1] += weight * _JUMP / len(self._document)

    def _keep(self, copying: dict[Spot, float], gaps: dict[int, float]) -> None:
        """Normalise and drop what cannot matter any more."""
        total = sum(copying.values()) + sum(gaps.values())
        floor = _SMALL * max([*copying.values(), *gaps.values()], default=0.0)
        self._copying = _strongest(copying, floor, total)
        self._gaps = _strongest(gaps, floor, total)


def _place(spot: Spot, probability: float) -> Place:
    if isinstance(spot, int):
        return Place(spot, probability, True)
    return Place(spot.position, probability, True, lead=spot.ahead)


_Key = TypeVar("_Key", int, Spot)


def _strongest(weights: dict[_Key, float], floor: float, total: float) -> dict[_Key, float]:
    kept = [(place, weight / total) for place, weight in weights.items() if weight > floor]
    if len(kept) > _MOST:
        kept = sorted(kept, key=lambda item: item[1], reverse=True)[:_MOST]
    return dict(kept)
