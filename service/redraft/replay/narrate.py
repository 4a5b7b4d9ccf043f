"""What happened in a pass, in words and tokens; the terminal and the page only dress them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from redraft.engine.results import Source
from redraft.replay.reading import Reading
from redraft.replay.trace import Break, Considered, Hypothesis, Pass, Trace

NAMES = {
    Source.DOCUMENT: "document",
    Source.SELF_COPY: "own text",
    Source.REFERENCE: "reference",
    Source.DRAFT_MODEL: "draft model",
    Source.TARGET: "target",
}
_SURE = 0.995  # a single hypothesis above this is not worth a word
_SHOWN = 3  # tokens of a context


class Role(Enum):
    """What a part of a note is."""

    WORDS = "words"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    OWN = "own"  # the target's own token
    CONTEXT = "context"  # tokens of the document that are only quoted


@dataclass(frozen=True, slots=True)
class Part:
    """Words, or one token that must not be broken."""

    text: str
    role: Role = Role.WORDS
    source: Source = Source.TARGET


@dataclass(frozen=True, slots=True)
class Note:
    """One statement about a pass."""

    label: str
    parts: tuple[Part, ...]


class Narrator:
    """Says what happened in each pass of one trace."""

    def __init__(self, trace: Trace, reading: Reading) -> None:
        self._trace = trace
        self._reading = reading

    def proposed(self, step: Pass) -> str:
        """From where the draft of a pass came."""
        if not step.drafted:
            return "nothing"
        name, origin = NAMES[step.source], step.origin
        if origin is None:
            return name
        place = self._reading.place(origin.position, origin.text, origin.reference)
        number = (
            f" {origin.reference + 1}" if origin.text is Source.REFERENCE and len(self._reading.references) > 1 else ""
        )
        where = name if origin.text is step.source else f"{name}, from {NAMES[origin.text]}"
        rest = "" if origin.copied == len(step.drafted) else f", {origin.copied} of it in a row"
        return f"{where}{number} {place}{rest}"

    def kind(self, step: Pass) -> str:
        """Kind of the chosen candidate and what was thought of it; empty if that is not known."""
        return _kind(step.chosen) if step.chosen is not None else ""

    def notes(self, step: Pass, most: int) -> Iterator[Note]:
        """All that is worth saying, with at most `most` tokens of a draft."""
        own = [] if step.own is None else [self._token(step.own, Role.OWN)]
        accepted = [self._token(token, Role.ACCEPTED, step.source) for token in step.drafted[: step.accepted]]
        if accepted:
            yield Note("accepted", tuple(_middle_out(accepted, most)))
        if step.rejected:
            rejected = [self._token(token, Role.REJECTED, step.source) for token in step.rejected]
            yield Note("rejected", tuple(_cut(rejected, most)))
        if step.other:
            beside = [self._token(token, Role.REJECTED, step.source) for token in step.other]
            yield Note("beside", tuple(_cut(beside, most)))
        if own:
            yield Note("target", tuple(own))
        if len(step.hypotheses) > 1 or any(hypothesis.probability < _SURE for hypothesis in step.hypotheses):
            yield Note("thought", (Part(self.thought(step)),))
        yield from self._sync(step)
        if step.missed is not None:
            yield Note("better", (Part(f"{_kind(step.missed)}: {_count(step.missed.agreed, 'token')} right"),))
        if step.unused > 0:
            yield Note("too short", (Part(f"{_count(step.unused, 'more token')} of the chain would have been right"),))
        if not step.drafted and step.considered:
            yield Note("nothing", (Part(_why_nothing(step)),))

    def thought(self, step: Pass) -> str:
        """What the alignment held possible before the pass."""
        return "; ".join(map(self._hypothesis, step.hypotheses)) or "no place"

    def _hypothesis(self, held: Hypothesis) -> str:
        place = self._reading.place(held.position)
        if held.copying:
            return f"copying {place} p={held.probability:.2f}"
        return f"gap since {place} p={held.probability:.2f}, resumes +{', +'.join(map(str, held.resumes))}"

    def _sync(self, step: Pass) -> Iterator[Note]:
        """Where sync was lost and found again, in the order in which it happened."""
        lost = [(found.at, Note("lost", tuple(self._lost(found)))) for found in self._trace.lost_in(step)]
        back = [
            (found.back or 0, Note("found", tuple(self._found(found, step)))) for found in self._trace.found_in(step)
        ]
        yield from (note for _, note in sorted([*lost, *back], key=lambda event: event[0]))

    def _lost(self, lost: Break) -> Iterator[Part]:
        reading = self._reading
        yield Part(f"at {reading.place(lost.left)}: the document goes on")
        expected = reading.document.ids[lost.left : lost.left + _SHOWN]
        yield from (self._token(token, Role.CONTEXT) for token in expected or self._trace.output[-1:])
        yield Part("and the output")
        came = self._trace.output[lost.at : lost.at + _SHOWN]
        yield from (self._token(token, Role.OWN, self._trace.sources[lost.at]) for token in came)
        if lost.back is None:
            yield Part("(not found again)")

    def _found(self, found: Break, step: Pass) -> Iterator[Part]:
        if found.back is None or found.resumed is None:
            return
        skipped = found.skipped or 0
        yield Part(f"at {self._reading.place(found.resumed)} after {_count(found.own or 0, 'own token')},")
        yield Part(f"{_count(skipped, 'token')} left out," if skipped >= 0 else f"{-skipped} back,")
        if found.by is Source.TARGET:
            yield Part("by the target's own")
            yield self._token(self._trace.output[found.back], Role.OWN)
        else:
            kind = f" of kind {_kind(step.chosen)}" if step.chosen is not None else ""
            yield Part(f"by the {NAMES[found.by]} draft{kind}")
        if found.late:
            yield Part(f"({_count(found.late, 'token')} late)")

    def _token(self, token: int, role: Role, source: Source = Source.TARGET) -> Part:
        return Part(self._reading.token(token), role, source)


def summary(trace: Trace) -> str:
    """The whole play in a line."""
    played = trace.play
    drafted, accepted = sum(played.drafted), sum(played.accepted)
    return (
        f"{_count(played.output_tokens, 'token')} in {_count(len(trace.passes), 'pass', 'passes')}, "
        f"{accepted} of {drafted} drafted tokens accepted, waste {played.waste:.2f}, "
        f"sync lost {_count(len(trace.breaks), 'time')}, {played.missed / max(1, played.runs):.2f} missed per run, "
        f"cost {played.cost:.1f}, modelled speed-up {played.speedup:.2f}x"
    )


def _why_nothing(step: Pass) -> str:
    best = max(step.considered, key=lambda candidate: candidate.gain)
    if best.gain > 0:
        return f"the guard held back {_kind(best)}, {_count(best.wanted, 'token')}"
    return f"no candidate was worth its cost; likeliest {_kind(max(step.considered, key=lambda one: one.first))}"


def _kind(candidate: Considered) -> str:
    swaps = f", swaps={candidate.swaps}" if candidate.swaps else ""
    return f"{candidate.kind} (P={candidate.first:.2f}{swaps})"


def _cut(parts: Sequence[Part], most: int) -> list[Part]:
    left = len(parts) - most
    return list(parts) if left <= 1 else [*parts[:most], Part(f"… {left} more")]


def _middle_out(parts: Sequence[Part], most: int) -> list[Part]:
    """The beginning and the end, with the latter half as long."""
    left, tail = len(parts) - most, most // 3
    return (
        list(parts) if left <= 1 else [*parts[: most - tail], Part(f"… {left} tokens …"), *parts[len(parts) - tail :]]
    )


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
