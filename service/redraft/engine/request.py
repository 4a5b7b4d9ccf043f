"""What a caller asks for. Plain frozen values: offsets are code points, defaults are None."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class OffsetEncoding(Enum):
    """The unit in which a caller counts offsets; the domain itself always counts code points."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    CODE_POINTS = "code-points"


class DraftMode(Enum):
    """Which sources may draft: all that help, the document only, or none."""

    AUTO = "auto"
    DOCUMENT = "document"
    OFF = "off"


class Acceptance(Enum):
    """How a draft token is accepted: by equality with the target's choice, or by the classic rejection rule."""

    COUPLED = "coupled"
    REJECTION = "rejection"


@dataclass(frozen=True, slots=True)
class Range:
    """Half-open interval [start, end) of code points."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier turn of the same conversation, oldest first in `EditRequest.turns`."""

    document: str
    instruction: str
    output: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling options; None means: the model's own generation config, else the neutral value."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    stop: tuple[str, ...] = ()
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Drafting:
    """Drafting options; `limit` caps the draft tokens of one pass (1..256)."""

    mode: DraftMode = DraftMode.AUTO
    limit: int | None = None
    acceptance: Acceptance = Acceptance.COUPLED

    def rejects(self, temperature: float) -> bool:
        """Whether a draft model's tokens are accepted by the rejection rule; greedily that is the usual one."""
        return self.acceptance is Acceptance.REJECTION and temperature > 0


@dataclass(frozen=True, slots=True)
class EditRequest:
    """One edit: rewrite `document` (or only `selection` of it) as `instruction` says."""

    document: str
    instruction: str
    selection: Range | None = None
    document_version: str = ""
    references: tuple[str, ...] = ()
    prediction: str | None = None
    turns: tuple[Turn, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    drafting: Drafting = field(default_factory=Drafting)
    unwrap: bool = False
    preserve_frame: bool = False
    model: str = ""
    offset_encoding: OffsetEncoding = OffsetEncoding.UTF8
    client_request_id: str = ""
    principal: str = ""

    @property
    def target_text(self) -> str:
        """The text to rewrite: the selection, else the whole document."""
        if self.selection is None:
            return self.document
        return self.document[self.selection.start : self.selection.end]
