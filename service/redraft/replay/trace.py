"""What each pass of a played pair was about, as `recorder.trace` writes it down."""

from __future__ import annotations

from dataclasses import dataclass

from redraft.engine.results import Source
from redraft.replay.simulate import Play

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a proposal stands: from token `position` of a text on, its first `copied` tokens in a row.

    text: DOCUMENT, REFERENCE (the one numbered `reference`) or SELF_COPY for the output's own text.
    """

    text: Source
    position: int
    copied: int
    reference: int = 0


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What the alignment held possible: the next token is document[position], or a gap that began there ends.

    resumes: for a gap, how many document tokens further on it may resume.
    """

    position: int
    probability: float
    copying: bool
    resumes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate of one pass. agreed: how many of its `length` tokens the target went on to choose.

    first: P(its first token is right) as estimated; wanted: the length it would have had; gain: what that length was
    expected to save, in one-token passes; swaps: remembered replacements in it.
    """

    kind: str
    source: Source
    position: int | None
    length: int
    first: float
    wanted: int
    gain: float
    swaps: int
    agreed: int


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass. `start`: output tokens before it; `own`: the target's own token after the accepted ones, if any.

    expected: accepted tokens that the drafter counted on; cost in one-token passes, draft model included; speedup:
    modelled, from the start up to and with this pass; chosen: None also where the drafter was not watched.
    """

    number: int
    start: int
    source: Source
    origin: Origin | None
    drafted: tuple[int, ...]
    other: tuple[int, ...]  # a second chain that was verified, too
    accepted: int
    sources: tuple[Source, ...]  # of the accepted tokens
    own: int | None
    expected: float
    cost: float
    speedup: float
    hypotheses: tuple[Hypothesis, ...]
    considered: tuple[Considered, ...]
    chosen: Considered | None

    @property
    def rejected(self) -> tuple[int, ...]:
        return self.drafted[self.accepted :]

    @property
    def end(self) -> int:
        """Output tokens after it."""
        return self.start + self.accepted + (self.own is not None)

    @property
    def missed(self) -> Considered | None:
        """The candidate that would have gone on longest, if longer than the chosen one."""
        best = max(self.considered, key=lambda candidate: candidate.agreed, default=None)
        most = max(self.accepted, self.chosen.agreed if self.chosen is not None else 0)
        return best if best is not None and best.agreed > most else None

    @property
    def unused(self) -> int:
        """Further tokens of the chosen chain that were right and not proposed."""
        return self.chosen.agreed - len(self.drafted) if self.chosen is not None and not self.rejected else 0


@dataclass(frozen=True, slots=True)
class Break:
    """Output that left the document and came back, as the alignment saw it while playing.

        document  … a b|c d e f          left = position of c, resumed = position of e
        output    … a b|X Y|e f          at = index of X, back = index of e (None: never)

    late: tokens before `back` that were the document's already and not recognised; by: who proposed output[back].
    """

    at: int
    left: int
    back: int | None
    resumed: int | None
    late: int
    by: Source

    @property
    def own(self) -> int | None:
        """Tokens of the output's own between leaving and coming back."""
        return None if self.back is None else self.back - self.at - self.late

    @property
    def skipped(self) -> int | None:
        """Document tokens left out; negative: it jumped back."""
        return None if self.resumed is None else self.resumed - self.late - self.left


@dataclass(frozen=True, slots=True)
class Trace:
    """One pair played through. `output` ends with the end token; sources and origins have an entry a token of it."""

    play: Play
    output: tuple[int, ...]
    sources: tuple[Source, ...]
    origins: tuple[int | None, ...]
    passes: tuple[Pass, ...]
    breaks: tuple[Break, ...]

    def lost_in(self, step: Pass) -> list[Break]:
        """Where sync was lost in this pass."""
        return [found for found in self.breaks if step.start <= found.at < step.end]

    def found_in(self, step: Pass) -> list[Break]:
        """Breaks that ended in this pass."""
        return [found for found in self.breaks if found.back is not None and step.start <= found.back < step.end]
