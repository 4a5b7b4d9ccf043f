"""What document, references and the output itself say of what comes next: follows the output, finds candidates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redraft.drafting.alignment import Alignment, Place
from redraft.drafting.base import MAX_DRAFT, MISLED, Draft, Verdict
from redraft.drafting.classes import COUNT as CLASSES
from redraft.drafting.confidence import Seen
from redraft.drafting.lookup import Continuation, Lookup
from redraft.drafting.planner import Candidate, Chance, Planner
from redraft.drafting.reflow import Reflow
from redraft.drafting.replacements import Replacements
from redraft.drafting.soft import Spelling
from redraft.engine.results import Source
from redraft.prefix import common_prefix

_RUNS = (1, 2, 3, 5, 9, 17, 33, 80)
_GAPS = (2, 3, 4, 7)
_MATCHES = (2, 3, 4, 6, 9, 16)
_AGREEMENT = (0.5, 0.99)
_CONFIDENCE = (0.5, 0.8, 0.95)
_RATES = (0.003, 0.006, 0.012, 0.02, 0.035, 0.06)
_FENCE = "```"  # around an output whose document had none
_SURE_RUN = 5  # tokens of a sure copy after which nothing else is looked for


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate with what is thought of its first token, and why."""

    candidate: Candidate
    probability: float  # that its first token is right
    features: list[int]

    @property
    def first(self) -> int:
        return self.candidate.chain[0]


class Evidence:
    """Of one edit. Alignment, replacements, re-wrapping and n-grams each know the output in their own way."""

    def __init__(
        self,
        document: Sequence[int],
        end_token: int,
        planner: Planner,
        references: Sequence[list[int]] = (),
        own_text: bool = True,
        spelling: Spelling | None = None,
    ) -> None:
        """See `ComposedDrafter`."""
        self._chain = (*document, end_token)
        self._length = len(document)
        self._alignment = Alignment(document, spelling=spelling)
        soft = self._alignment.soft
        self._reflow = Reflow(soft, spelling) if soft is not None and spelling is not None else None
        self._fence = spelling.ids(_FENCE) if spelling is not None and document else ()
        self._line_break = spelling.ids("\n") if spelling is not None else ()
        self._lookup = Lookup(document)
        self._replacements = Replacements(document, self._alignment.occurrences)
        self._references = [(text, Alignment(text, at_start=False)) for text in references]
        self._planner = planner
        self._own_text = own_text
        self._last = end_token  # emitted last; before the first it stands for the beginning
        self._gap = 0  # tokens since the last one that was copied
        self._last_gap = 0  # length of the last gap that ended

    def observe(self, emitted: tuple[int, ...]) -> list[int | None]:
        """Take in what a pass emitted; returns the document token that each was copied from."""
        if self._reflow is not None:
            self._reflow.judge(emitted)
        self._lookup.observe(emitted)
        for _, alignment in self._references:
            for token in emitted:
                alignment.observe(token)
        return self._follow_all(emitted)

    def fork(self) -> Fork:
        """A copy of the alignment that may be led on by tokens that are not emitted yet."""
        return Fork(self, self._alignment.fork(), self._gap)

    def foresee(self, draft: Draft, verdict: Verdict) -> None:
        """Where the target disagreed with a draft well behind its first wrong token, it will probably do so again."""
        if draft.origin is None:
            return
        for index, token in enumerate(verdict.preferred, start=verdict.accepted + MISLED):
            position = draft.origin + index
            known = position < self._length and draft.candidate[index] == self._chain[position]
            if known and token != self._chain[position]:
                self._replacements.foresee(position, token, index - verdict.accepted)

    def candidates(self) -> Iterator[Judged]:
        """What could be proposed, each with the probability that its first token is right."""
        found = self._lookup.best() if self._looks_further else None
        candidates = [(candidate, place) for candidate, place in self._candidates(found) if candidate.chain]
        firsts = [candidate.chain[0] for candidate, _ in candidates]
        looked_up = self._lookup.first(found) if found is not None else None
        for candidate, probability in candidates:
            first = candidate.chain[0]
            run = self._alignment.matched if not self._gap else 0
            seen = Seen(
                family=candidate.kind.partition("/")[0],
                probability=probability,
                looked_up=None if looked_up is None else looked_up == first,
                match=found.length if found is not None else 0,
                agreement=found.agreement if found is not None else 0.0,
                seconded=firsts.count(first) - 1,
                often=len(self._alignment.occurrences.get(first, ())),
                pair=self._planner.class_of(self._last) * CLASSES + self._planner.class_of(first),
                gap=self._gap or self._last_gap,
                skipped=self._alignment.skipped,
                run=run,
            )
            features = seen.features()
            estimate = self._planner.first_survives(candidate.kind)
            chance = self._planner.learned.confidence.probability(estimate, features)
            yield Judged(candidate, chance, features)

    def from_alignment(self, alignment: Alignment, gap: int) -> Iterator[Candidate]:
        """What the document would go on with where an alignment stands; gap: tokens since it was last in a copy."""
        rate = self._rate()
        for place in alignment.places(gap):
            yield self._from_document(place, rate, alignment, gap)

    def _follow_all(self, tokens: tuple[int, ...]) -> list[int | None]:
        """Take in what a pass emitted: mostly a copy that goes on, which costs a slice comparison."""
        if not self._alignment.emitted and self._fence and tokens[: len(self._fence)] == self._fence:
            self._close_fence()
        start = self._alignment.place
        count = self._alignment.advance(tokens)
        if self._reflow is not None:
            self._reflow.emit(tokens[:count])
        if not count or not self._replacements.advance(count):
            copied: list[int | None] = [self._met(token, start + index) for index, token in enumerate(tokens[:count])]
        else:
            copied = list(range(start, start + count))
        if count:
            self._last = tokens[count - 1]
            self._end_gap()
        return copied + [self._follow(token) for token in tokens[count:]]

    def _close_fence(self) -> None:
        """The output began with a fence: unless it is the document's own, one closes it before the end."""
        document, end = self._chain[:-1], self._chain[-1:]
        if document[: len(self._fence)] != self._fence:
            line_break = self._line_break if document[-1:] != self._line_break else ()
            self._chain = (*document, *line_break, *self._fence, *end)

    def _follow(self, token: int) -> int | None:
        """Take in one emitted token; returns the document token that it was copied from."""
        self._last = token
        origin = self._alignment.observe(token)
        if self._reflow is not None:
            self._reflow.emit((token,))
            if self._alignment.change is not None:
                self._reflow.changed(self._alignment.change)
        if origin is None:
            self._gap += 1
        else:
            self._end_gap()
        return self._met(token, origin if self._alignment.is_same else None)

    def _end_gap(self) -> None:
        if self._gap:
            self._last_gap, self._gap = self._gap, 0

    def _met(self, token: int, origin: int | None) -> int | None:
        """Tell the replacements of a token and of where it was copied from."""
        met = self._replacements.observe(token, origin)
        if met is not None:
            self._planner.learned.survival.learn(met.kind, int(met.repeated), failed=not met.repeated)
        return origin

    @property
    def _looks_further(self) -> bool:
        """Whether n-grams are worth a look: not inside a sure copy that has gone on for a while."""
        return self._own_text and not (self._alignment.is_sure and self._alignment.matched > _SURE_RUN)

    def _candidates(self, found: Continuation | None) -> Iterator[tuple[Candidate, float]]:
        """What could be proposed, and how probable the alignment holds its place (1 for the lookup's)."""
        rate = self._rate()
        for place in self._alignment.places(self._gap):
            plain = self._from_document(place, rate, self._alignment, self._gap)
            reflowed = self._reflowed(plain, place)
            yield reflowed or plain, place.probability
        yield from self._from_replacement()
        if not self._alignment.is_sure:
            yield from self._from_references()
        if found is not None:
            own = self._lookup.is_own(found)
            agreed = bisect_right(_AGREEMENT, found.agreement)
            kind = f"self/{int(own)}/{bisect_right(_MATCHES, found.length)}/{agreed}/{int(self._alignment.is_sure)}"
            source = Source.SELF_COPY if own else Source.DOCUMENT
            origin = None if own else found.place
            yield Candidate(kind, self._lookup.chain(found, MAX_DRAFT), source, origin, False), 1.0

    def _reflowed(self, plain: Candidate, place: Place) -> Candidate | None:
        """The same with lines as the output wraps them, if they are believed to break elsewhere."""
        reflow = self._reflow
        if reflow is None or not reflow.is_under_way or not place.copying or place.probability < 0.5:
            return None
        chain = reflow.chain(place.lead, place.position, self._chain)
        reflow.expect(chain, plain.chain)
        if not reflow.is_believed or common_prefix(chain, plain.chain) == min(len(chain), len(plain.chain)):
            return None
        kind = f"copy/{bisect_right(_RUNS, reflow.run)}/3/{self._rate(self._alignment.breaks)}"
        return Candidate(kind, chain, Source.DOCUMENT, None, chain[-1:] == self._chain[-1:])

    def _from_replacement(self) -> Iterator[tuple[Candidate, float]]:
        """The rest of a replacement that has begun, and the document behind what it replaces."""
        under_way = self._replacements.under_way()
        if under_way is None:
            return
        rest, goes_on, known = under_way
        kind = f"swapping/{min(3, len(known.new) - len(rest))}/{min(2, known.repeated)}/{min(2, known.kept)}"
        tail, chances = self._with_replacements(goes_on)
        behind = Candidate(kind, tail, Source.SELF_COPY, None, False, chances, bridge=len(rest))
        yield self._led(rest, behind), 1.0

    def _from_references(self) -> Iterator[tuple[Candidate, float]]:
        for text, alignment in self._references:
            for place in alignment.places(0):
                if place.copying and alignment.matched:
                    run = bisect_right(_RUNS, alignment.matched)
                    kind = f"ref/{run}/{bisect_right(_CONFIDENCE, place.probability)}"
                    chain = tuple(text[place.position : place.position + MAX_DRAFT])
                    yield Candidate(kind, chain, Source.REFERENCE, None, False), place.probability

    def _from_document(self, place: Place, rate: str, alignment: Alignment, gap: int) -> Candidate:
        if place.lead:
            kind = f"copy/soft/{bisect_right(_CONFIDENCE, place.probability)}/{rate}"
        elif place.copying:
            run = bisect_right(_RUNS, alignment.matched)
            kind = f"copy/{run}/{bisect_right(_CONFIDENCE, place.probability)}/{rate}"
        else:
            kind = f"gap/{bisect_right(_GAPS, gap)}/{min(place.skipped, 3)}/{rate}"
        chain, chances = self._with_replacements(place.position)
        if place.lead:
            return self._led(place.lead, Candidate(kind, chain, Source.DOCUMENT, None, False, chances))
        return Candidate(kind, chain, Source.DOCUMENT, place.position, chain[-1:] == self._chain[-1:], chances)

    def _led(self, lead: tuple[int, ...], candidate: Candidate) -> Candidate:
        """The candidate with other tokens before it."""
        chain = (*lead, *candidate.chain)[:MAX_DRAFT]
        shifted = [replace(chance, index=chance.index + len(lead)) for chance in candidate.chances]
        chances = tuple(chance for chance in shifted if chance.index < len(chain))
        return replace(candidate, chain=chain, chances=chances, ends=chain[-1:] == self._chain[-1:])

    def _with_replacements(self, start: int) -> tuple[tuple[int, ...], tuple[Chance, ...]]:
        """The document from `start` on, with the replacements that are likely to happen again."""
        end = min(len(self._chain) - 1, start + MAX_DRAFT)
        chain: list[int] = []
        chances: list[Chance] = []
        position = start
        for site, replacement in self._replacements.sites(start, end):
            kind = replacement.kind
            taken = self._planner.first_survives(kind) > 0.5
            if not taken and not replacement.foreseen:
                continue
            chain += self._chain[position:site]
            chances.append(Chance(len(chain), kind, taken))
            chain += replacement.new if taken else replacement.old
            position = site + len(replacement.old)
        if not chances:
            return self._chain[start : start + MAX_DRAFT], ()
        chain += self._chain[position : position + MAX_DRAFT]
        return tuple(chain[:MAX_DRAFT]), tuple(chance for chance in chances if chance.index < MAX_DRAFT)

    def _rate(self, breaks: int | None = None) -> str:
        """How broken this document has been so far; breaks: those that count, None: all, soft ones too."""
        emitted = self._alignment.emitted
        breaks = self._alignment.breaks + self._alignment.changes if breaks is None else breaks
        if not breaks and emitted < 48:
            return "new"
        return str(bisect_right(_RATES, (breaks + 0.3) / (emitted + 30)))


class Fork:
    """Where tokens would lead that are not emitted yet."""

    def __init__(self, evidence: Evidence, alignment: Alignment, gap: int) -> None:
        self._evidence = evidence
        self._alignment = alignment
        self._gap = gap

    def candidates(self, token: int) -> Iterator[Candidate]:
        """Follow a token; what the document would put behind it."""
        self._gap = self._gap + 1 if self._alignment.observe(token) is None else 0
        return self._evidence.from_alignment(self._alignment, self._gap)
