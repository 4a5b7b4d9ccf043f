"""Plays a pair like `simulate.play` and writes down what each pass was about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from redraft.drafting.alignment import Alignment, Place
from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft, Drafter, DraftView, Verdict
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Candidate, Planner
from redraft.drafting.soft import Spelling
from redraft.engine.results import Source
from redraft.prefix import common_prefix
from redraft.replay.simulate import play
from redraft.replay.trace import Break, Considered, Hypothesis, Ids, Origin, Pass, Trace


@dataclass(slots=True)
class _Weighed:
    candidate: Candidate
    draft: Draft
    first: float
    wanted: int = 0
    gain: float = 0.0


class WatchedPlanner(Planner):
    """A planner that remembers the candidates it was asked about since the last `clear`."""

    weighed: tuple[_Weighed, ...] = ()

    def clear(self) -> None:
        """Forget the candidates of the last pass."""
        self.weighed = ()

    def draft(self, candidate: Candidate, first: float, limit: int) -> Draft:
        draft = super().draft(candidate, first, limit)
        self.weighed += (_Weighed(candidate, draft, first),)
        return draft

    def best_length(self, draft: Draft) -> tuple[int, float]:
        length, gain = super().best_length(draft)
        for weighed in self.weighed:
            if weighed.draft is draft:
                weighed.wanted, weighed.gain = length, gain
        return length, gain


@dataclass(frozen=True, slots=True)
class _Record:
    draft: Draft  # as proposed
    verdict: Verdict
    hypotheses: tuple[Hypothesis, ...]
    weighed: tuple[_Weighed, ...]
    origins: tuple[int | None, ...]


class Recorder:
    """Implements `Drafter`: hands everything to another one and writes it down. No draft model is asked.

    What the alignment holds possible is asked of a filter of the recorder's own over the same tokens, so that a peer
    without one can be explained, too.
    """

    def __init__(
        self,
        drafter: Drafter,
        document: Sequence[int],
        planner: WatchedPlanner | None = None,
        spelling: Spelling | None = None,
    ) -> None:
        self.records: list[_Record] = []
        self.kept: list[bool] = []  # for each token, whether the copy went on by it, in other white space or case too
        self.gap = None
        self._drafter = drafter
        self._planner = planner
        self._alignment = Alignment(document, spelling=spelling)
        self._gap = 0
        self._draft = EMPTY
        self._hypotheses: tuple[Hypothesis, ...] = ()

    @property
    def origins(self) -> Sequence[int | None]:
        """See `Drafter.origins`."""
        return self._drafter.origins

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`."""
        self._hypotheses = tuple(_hypotheses(self._alignment.places(self._gap)))
        if self._planner is not None:
            self._planner.clear()
        self._draft = self._drafter.propose(view, limit)
        return self._draft

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        self._drafter.observe(verdict)
        seen = tuple(self._follow(token) for token in verdict.emitted)
        weighed = self._planner.weighed if self._planner is not None else ()
        origins = tuple(self._drafter.origins) or seen
        self.records.append(_Record(self._draft, verdict, self._hypotheses, weighed, origins))

    def _follow(self, token: int) -> int | None:
        breaks, in_copy = self._alignment.breaks, self._alignment.matched > 0
        origin = self._alignment.observe(token)
        self.kept.append(in_copy and origin is not None and self._alignment.breaks == breaks)
        self._gap = self._gap + 1 if origin is None else 0
        return origin


def trace(
    drafter: Drafter,
    document: list[int],
    output: Sequence[int],
    end_token: int,
    curve: CostCurve,
    references: Sequence[Sequence[int]] = (),
    planner: WatchedPlanner | None = None,
    spelling: Spelling | None = None,
) -> Trace:
    """Play `output` (without its end token) as the target's choices, by `simulate.play`'s rules.

    references: what the drafter was given to draft from besides; planner: the one that the drafter asks, if it does;
    spelling: the vocabulary's, if the drafter follows soft copies.
    """
    recorder = Recorder(drafter, document, planner, spelling)
    played = play(recorder, document, output, end_token, curve)
    truth = (*output, end_token)
    passes = tuple(
        _passes(recorder.records, truth, curve, Texts(tuple(document), truth, tuple(map(tuple, references))))
    )
    sources = [Source.TARGET] * len(truth)
    for step in passes:
        sources[step.start : step.start + step.accepted] = step.sources
    origins = tuple(origin for record in recorder.records for origin in record.origins)
    breaks = tuple(_breaks(document, truth, origins, sources, recorder.kept))
    return Trace(played, truth, tuple(sources), origins, passes, breaks)


class Texts:
    """All that a proposal can have been copied from."""

    def __init__(self, document: Ids, output: Ids, references: Sequence[Ids]) -> None:
        self._document = document
        self._output = output
        self._references = references

    def find(self, draft: Draft, start: int) -> Origin | None:
        """Where a proposal made after `start` output tokens was copied from.

        A drafter that does not say so is taken to have copied from where most of the proposal stands, and of several
        such places from the one that most of the output's end stands before, the later one of two as good.
        """
        if not draft.length:
            return None
        if draft.origin is not None:
            copied = _agreement(draft.tokens, self._document, draft.origin)
            return Origin(Source.DOCUMENT, draft.origin, copied)
        found = [self._best(text, draft, start) for text in self._named(start)]
        origins = [origin for origin in found if origin is not None]
        return max(origins, key=lambda origin: (origin.text is draft.source, origin.copied), default=None)

    def _named(self, start: int) -> Iterator[tuple[Source, int, Ids]]:
        yield Source.DOCUMENT, 0, self._document
        yield Source.SELF_COPY, 0, self._output[:start]
        for number, reference in enumerate(self._references):
            yield Source.REFERENCE, number, reference

    def _best(self, named: tuple[Source, int, Ids], draft: Draft, start: int) -> Origin | None:
        source, number, text = named
        places = [
            (_agreement(draft.tokens, text, place), self._behind(text, place, start), place)
            for place, token in enumerate(text)
            if token == draft.tokens[0]
        ]
        if not places:
            return None
        copied, _, place = max(places)
        return Origin(source, place, copied, number)

    def _behind(self, text: Ids, place: int, start: int) -> int:
        """How many tokens before `place` are those at the output's end."""
        most, length = min(place, start, MAX_DRAFT), 0
        while length < most and text[place - 1 - length] == self._output[start - 1 - length]:
            length += 1
        return length


def _passes(records: Sequence[_Record], truth: Ids, curve: CostCurve, texts: Texts) -> Iterator[Pass]:
    costs = curve.costs(1, MAX_DRAFT)
    start, spent = 0, 0.0
    for number, record in enumerate(records, start=1):
        verdict = record.verdict
        draft, other = _chains(record.draft, verdict)
        cost = float(costs[verdict.drafted]) + record.draft.cost
        spent += cost
        end = start + len(verdict.emitted)
        considered = [_considered(weighed, truth, start) for weighed in record.weighed]
        chosen = [draft.length > 0 and weighed.draft.survival is draft.survival for weighed in record.weighed]
        yield Pass(
            number=number,
            start=start,
            source=draft.source if draft.length else Source.TARGET,
            origin=texts.find(draft, start),
            drafted=draft.tokens,
            other=other,
            accepted=verdict.accepted,
            sources=tuple(draft.sources(verdict.accepted)),
            own=verdict.emitted[-1] if len(verdict.emitted) > verdict.accepted else None,
            expected=float(draft.survival[: draft.length].sum()),
            cost=cost,
            speedup=end * float(costs[0]) / spent,
            hypotheses=record.hypotheses,
            considered=tuple(considered),
            chosen=considered[chosen.index(True)] if any(chosen) else None,
        )
        start = end


def _chains(draft: Draft, verdict: Verdict) -> tuple[Draft, Ids]:
    """The chain of a pass that counted, and the tokens of the other one."""
    if not verdict.drafted or draft.branch is None:
        return draft.cut(verdict.drafted), ()
    main = draft.cut(verdict.drafted - draft.extra)
    if verdict.accepted and main.candidate[0] != verdict.emitted[0]:
        return draft.branch, main.tokens
    return main, draft.branch.tokens


def _considered(weighed: _Weighed, truth: Ids, start: int) -> Considered:
    candidate = weighed.candidate
    return Considered(
        candidate.kind,
        candidate.source,
        candidate.origin,
        len(candidate.chain),
        weighed.first,
        weighed.wanted,
        weighed.gain,
        len(candidate.chances),
        _agreement(candidate.chain, truth, start),
    )


def _hypotheses(places: Sequence[Place]) -> Iterator[Hypothesis]:
    """Copies one by one; places to resume at that belong to one gap together."""
    for copying, group in groupby(places, key=lambda place: place.copying):
        if copying:
            yield from (Hypothesis(place.position, place.probability, True) for place in group)
            continue
        for (began, probability), gap in groupby(
            group, key=lambda place: (place.position - place.skipped, place.probability)
        ):
            yield Hypothesis(began, probability, False, tuple(place.skipped for place in gap))


def _breaks(
    document: Sequence[int],
    truth: Ids,
    origins: Sequence[int | None],
    sources: Sequence[Source],
    kept: Sequence[bool],
) -> Iterator[Break]:
    """Where the origins of two tokens that follow each other do not; the end token belongs to no text.

    kept: see `Recorder.kept`; a copy that goes on softly may cover a document token with two, or two with one.
    """
    copied = [(index, origin) for index, origin in enumerate(origins[:-1]) if origin is not None]
    for (before, left), (back, resumed) in pairwise([(-1, -1), *copied]):
        if (back, resumed) != (before + 1, left + 1) and not (back == before + 1 and kept[back]):
            late = _late(document, truth, (before + 1, left + 1), (back, resumed))
            yield Break(before + 1, left + 1, back, resumed, late, sources[back])
    last, left = copied[-1] if copied else (-1, -1)
    if last + 1 < len(truth) - 1:
        yield Break(last + 1, left + 1, None, None, 0, Source.TARGET)


def _late(document: Sequence[int], truth: Ids, lost: tuple[int, int], found: tuple[int, int]) -> int:
    """Tokens before the place where sync was found that were the document's already."""
    (at, left), (back, resumed) = lost, found
    lowest = left if resumed >= left else 0
    most, count = min(back - at, resumed - lowest), 0
    while count < most and truth[back - 1 - count] == document[resumed - 1 - count]:
        count += 1
    return count


def _agreement(tokens: Ids, text: Ids, start: int) -> int:
    """How many of the tokens stand in the text from `start` on."""
    return common_prefix(tokens, text[start : start + len(tokens)])
