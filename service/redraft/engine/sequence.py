"""All state of one edit, from admission to its last message."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from redraft.drafting.base import Drafter
from redraft.drafting.model import Reader
from redraft.engine.prompt import Prompt
from redraft.engine.request import EditRequest, Range
from redraft.engine.results import EditEvent, Source
from redraft.engine.sampling import History, SamplingParameters
from redraft.engine.shaping import OutputShaper
from redraft.engine.vocabulary import IncrementalDecoder
from redraft.model.kv import Slot


class Interrupt(Enum):
    """Why an edit must end before its output does."""

    CANCEL = auto()
    DEADLINE = auto()


@dataclass(frozen=True, slots=True)
class Limits:
    """How far an edit may go, settled before it is admitted."""

    max_output_tokens: int
    clamped: bool
    draft_limit: int  # draft tokens a pass; 0: drafting is off


@dataclass(slots=True)
class Timeline:
    """When what happened, in seconds of time.perf_counter(); 0: not yet."""

    submitted: float = field(default_factory=time.perf_counter)
    admitted: float = 0.0
    first_token: float = 0.0
    drafting: float = 0.0  # total spent deciding what to propose
    draft_model: float = 0.0  # of that, in the draft model


@dataclass(slots=True)
class Tally:
    """What is counted while the edit runs."""

    passes: int = 0
    prefill_passes: int = 0
    drafted: int = 0
    accepted: dict[Source, int] = field(default_factory=dict)
    near_ties: int = 0
    cached_tokens: int = 0

    @property
    def accepted_total(self) -> int:
        return sum(self.accepted.values())


@dataclass(slots=True, eq=False)
class Sequence:
    """One edit. `tokens` is the prompt followed by everything emitted; the slot holds a prefix of it."""

    request_id: str
    request: EditRequest
    prompt: Prompt
    parameters: SamplingParameters
    defaults_from_model: tuple[str, ...]
    limits: Limits
    drafter: Drafter
    shaper: OutputShaper
    decoder: IncrementalDecoder
    emit: Callable[[EditEvent], None]
    draft_document: list[int]  # ids that are drafted from: the document's, or the prediction's
    references: list[list[int]]
    end_token: int
    script: tuple[int, ...] | None = None  # a forced output, end token included
    deadline: float | None = None  # time.monotonic()
    slot: Slot | None = None
    shadow: Slot | None = None  # where branches are verified: it holds what the slot holds, or a part of that
    reader: Reader | None = None  # of the draft model, if there is one
    tokens: list[int] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    text: list[str] = field(default_factory=list)  # released pieces
    text_length: int = 0
    history: History = field(init=False)
    cancelled: bool = False  # set by another thread, read once a step
    timeline: Timeline = field(default_factory=Timeline)
    tally: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        self.tokens = list(self.prompt.ids)
        self.history = History(self.prompt.ids if self.parameters.penalises else ())

    @property
    def capacity(self) -> int:
        """Positions the edit may need: drafts never reach past the last token that may be emitted."""
        return len(self.prompt.ids) + self.limits.max_output_tokens

    @property
    def output(self) -> list[int]:
        """Ids emitted so far."""
        return self.tokens[len(self.prompt.ids) :]

    @property
    def output_length(self) -> int:
        return len(self.tokens) - len(self.prompt.ids)

    @property
    def remaining(self) -> int:
        """How many more tokens may be emitted."""
        return self.limits.max_output_tokens - self.output_length

    @property
    def pending(self) -> int:
        """Tokens whose keys and values are not in the slot yet; at least one while the edit runs."""
        return len(self.tokens) - self.held_slot.length

    @property
    def held_slot(self) -> Slot:
        if self.slot is None:
            raise RuntimeError("the edit has not been admitted")
        return self.slot

    @property
    def rejects(self) -> bool:
        """See `Drafting.rejects`."""
        return self.request.drafting.rejects(self.parameters.temperature)

    @property
    def draft_room(self) -> int:
        """Most draft tokens that the next pass may carry: the bonus has its place, too."""
        return min(self.limits.draft_limit, self.remaining - 1)

    def interrupted(self) -> Interrupt | None:
        """Whether the edit must end now."""
        if self.cancelled:
            return Interrupt.CANCEL
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return Interrupt.DEADLINE
        return None

    @property
    def document(self) -> list[int]:
        return self.draft_document

    def place_of(self, index: int) -> Range | None:
        """Where in the rewritten text the `index`-th token of the last pass was copied from."""
        origins = self.drafter.origins
        return self._document_place(origins[index]) if 0 <= index < len(origins) else None

    def source_of(self, token: int) -> Source:
        return self.sources[token] if token < len(self.sources) else Source.TARGET

    def release(self, text: str) -> None:
        """Count text as sent."""
        self.text.append(text)
        self.text_length += len(text)

    def forget_after(self, count: int) -> None:
        """Drop emitted tokens behind a stop string; the slot keeps only what stays."""
        del self.tokens[len(self.prompt.ids) + count :]
        del self.sources[count:]
        self.held_slot.crop(len(self.tokens))

    def _document_place(self, index: int | None) -> Range | None:
        """Code points of the rewritten text that its token `index` covers."""
        ends = self.prompt.document.ends
        if index is None or index >= len(ends) or self.request.prediction is not None:
            return None
        return Range(ends[index - 1] if index else 0, ends[index])
