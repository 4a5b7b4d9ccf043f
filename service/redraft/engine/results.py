"""What an edit reports, as named frozen messages: started, deltas, finished. Offsets are code points."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from redraft.engine.request import OffsetEncoding, Range


class Source(Enum):
    """Who proposed an emitted token."""

    DOCUMENT = "document"
    REFERENCE = "reference"
    SELF_COPY = "self_copy"
    DRAFT_MODEL = "draft_model"
    TARGET = "target"


class FinishReason(Enum):
    """Why an edit ended. Only END and STOP are complete rewrites."""

    END = "end"
    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    DEADLINE = "deadline"


@dataclass(frozen=True, slots=True)
class Span:
    """A run of output: where it lies, who proposed it, and the equal document text if it was kept.

    `output` counts code points of the emitted output; `document` counts code points of the whole document.
    Kept spans (`document` is not None) have equal text on both sides; `moved` marks a kept span out of order.
    """

    output: Range
    document: Range | None
    source: Source
    moved: bool = False


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replace `range` of the original document with `text`."""

    range: Range
    text: str


@dataclass(frozen=True, slots=True)
class Started:
    """First message of an edit: what was understood, and under which limits it runs."""

    request_id: str
    client_request_id: str
    document_version: str
    model: str
    scripted: bool
    prompt_tokens: int
    cached_tokens: int
    context_length: int
    max_output_tokens: int
    max_output_clamped: bool
    seed: int
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    defaults_from_model: tuple[str, ...]  # options whose value came from the model's generation config
    context_trimmed: Range | None  # with a selection: the part of the document that the prompt shows, if not all
    draft_ignored: str  # empty, or why the document will not be drafted from
    offset_encoding: OffsetEncoding


@dataclass(frozen=True, slots=True)
class Delta:
    """One step's text with its provisional spans; `drafted` and `accepted` describe the pass behind it."""

    text: str
    spans: tuple[Span, ...]
    drafted: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Stats:
    """Statistics of one edit; times in seconds."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    passes: int = 0  # forward passes that emitted tokens
    prefill_passes: int = 0  # forward passes that only read the prompt
    drafted: int = 0
    accepted: dict[Source, int] = field(default_factory=dict)
    rejected: int = 0
    kept_tokens: int = 0
    coverage: float = 0.0
    oracle_coverage: float = 0.0
    near_ties: int = 0
    queue_time: float = 0.0
    time_to_first_token: float = 0.0
    decode_time: float = 0.0  # first token to the end
    total_time: float = 0.0
    tokens_per_second: float = 0.0
    draft_time: float = 0.0  # time spent deciding what to propose
    draft_model_time: float = 0.0  # of that, in the draft model
    estimated_time_without_drafts: float = 0.0
    estimated_speedup: float = 1.0


@dataclass(frozen=True, slots=True)
class Shaping:
    """What `unwrap` and `preserve_frame` did to the model's text; empty strings: nothing."""

    removed_prefix: str = ""
    removed_suffix: str = ""
    leading: str = ""  # leading white space restored from the document
    trailing: str = ""  # trailing white space restored from the document
    line_endings: str = ""  # "", "\n" or "\r\n": the style that was imposed


@dataclass(frozen=True, slots=True)
class Finished:
    """Last message of an edit that ran to an end of any kind."""

    reason: FinishReason
    complete: bool
    edits: tuple[TextEdit, ...]
    spans: tuple[Span, ...]
    shaping: Shaping
    stats: Stats
    stop_string: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The edit ended with an error instead of a `Finished`."""

    error: Exception


EditEvent = Started | Delta | Finished | Failed


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a server says of the model it serves; limits in tokens, code points and bytes as named."""

    name: str
    version: str  # redraft's own version
    context_length: int
    max_output_tokens: int
    max_draft_tokens: int
    max_concurrent_edits: int
    device: str
    dtype: str
    parameters: int
    demo: bool
    scripted: bool
    adapter: str = ""  # name of the LoRA that the model was loaded with
    draft_model: str = ""  # what fills gaps; empty: nothing
    draft_model_bytes: int = 0  # memory that it takes
