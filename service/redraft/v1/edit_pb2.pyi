from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class OffsetEncoding(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OFFSET_ENCODING_UNSPECIFIED: _ClassVar[OffsetEncoding]
    OFFSET_ENCODING_UTF8: _ClassVar[OffsetEncoding]
    OFFSET_ENCODING_UTF16: _ClassVar[OffsetEncoding]
    OFFSET_ENCODING_CODE_POINTS: _ClassVar[OffsetEncoding]

class DraftMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DRAFT_MODE_UNSPECIFIED: _ClassVar[DraftMode]
    DRAFT_MODE_AUTO: _ClassVar[DraftMode]
    DRAFT_MODE_DOCUMENT: _ClassVar[DraftMode]
    DRAFT_MODE_OFF: _ClassVar[DraftMode]

class Acceptance(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACCEPTANCE_UNSPECIFIED: _ClassVar[Acceptance]
    ACCEPTANCE_COUPLED: _ClassVar[Acceptance]
    ACCEPTANCE_REJECTION: _ClassVar[Acceptance]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_DOCUMENT: _ClassVar[Source]
    SOURCE_REFERENCE: _ClassVar[Source]
    SOURCE_SELF_COPY: _ClassVar[Source]
    SOURCE_DRAFT_MODEL: _ClassVar[Source]
    SOURCE_TARGET: _ClassVar[Source]

class FinishReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FINISH_REASON_UNSPECIFIED: _ClassVar[FinishReason]
    FINISH_REASON_END: _ClassVar[FinishReason]
    FINISH_REASON_STOP: _ClassVar[FinishReason]
    FINISH_REASON_LENGTH: _ClassVar[FinishReason]
    FINISH_REASON_CANCELLED: _ClassVar[FinishReason]
    FINISH_REASON_DEADLINE: _ClassVar[FinishReason]
OFFSET_ENCODING_UNSPECIFIED: OffsetEncoding
OFFSET_ENCODING_UTF8: OffsetEncoding
OFFSET_ENCODING_UTF16: OffsetEncoding
OFFSET_ENCODING_CODE_POINTS: OffsetEncoding
DRAFT_MODE_UNSPECIFIED: DraftMode
DRAFT_MODE_AUTO: DraftMode
DRAFT_MODE_DOCUMENT: DraftMode
DRAFT_MODE_OFF: DraftMode
ACCEPTANCE_UNSPECIFIED: Acceptance
ACCEPTANCE_COUPLED: Acceptance
ACCEPTANCE_REJECTION: Acceptance
SOURCE_UNSPECIFIED: Source
SOURCE_DOCUMENT: Source
SOURCE_REFERENCE: Source
SOURCE_SELF_COPY: Source
SOURCE_DRAFT_MODEL: Source
SOURCE_TARGET: Source
FINISH_REASON_UNSPECIFIED: FinishReason
FINISH_REASON_END: FinishReason
FINISH_REASON_STOP: FinishReason
FINISH_REASON_LENGTH: FinishReason
FINISH_REASON_CANCELLED: FinishReason
FINISH_REASON_DEADLINE: FinishReason

class Range(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("output", "document", "source", "moved")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    output: Range
    document: Range
    source: Source
    moved: bool
    def __init__(self, output: _Optional[_Union[Range, _Mapping]] = ..., document: _Optional[_Union[Range, _Mapping]] = ..., source: _Optional[_Union[Source, str]] = ..., moved: _Optional[bool] = ...) -> None: ...

class TextEdit(_message.Message):
    __slots__ = ("range", "text")
    RANGE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    range: Range
    text: str
    def __init__(self, range: _Optional[_Union[Range, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class Turn(_message.Message):
    __slots__ = ("document", "instruction", "output")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    document: str
    instruction: str
    output: str
    def __init__(self, document: _Optional[str] = ..., instruction: _Optional[str] = ..., output: _Optional[str] = ...) -> None: ...

class Sampling(_message.Message):
    __slots__ = ("temperature", "top_p", "top_k", "seed", "repetition_penalty", "presence_penalty", "frequency_penalty", "stop", "max_output_tokens")
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    REPETITION_PENALTY_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_PENALTY_FIELD_NUMBER: _ClassVar[int]
    FREQUENCY_PENALTY_FIELD_NUMBER: _ClassVar[int]
    STOP_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    temperature: float
    top_p: float
    top_k: int
    seed: int
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    stop: _containers.RepeatedScalarFieldContainer[str]
    max_output_tokens: int
    def __init__(self, temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., seed: _Optional[int] = ..., repetition_penalty: _Optional[float] = ..., presence_penalty: _Optional[float] = ..., frequency_penalty: _Optional[float] = ..., stop: _Optional[_Iterable[str]] = ..., max_output_tokens: _Optional[int] = ...) -> None: ...

class Drafting(_message.Message):
    __slots__ = ("mode", "limit", "acceptance")
    MODE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    ACCEPTANCE_FIELD_NUMBER: _ClassVar[int]
    mode: DraftMode
    limit: int
    acceptance: Acceptance
    def __init__(self, mode: _Optional[_Union[DraftMode, str]] = ..., limit: _Optional[int] = ..., acceptance: _Optional[_Union[Acceptance, str]] = ...) -> None: ...

class AcceptedTokens(_message.Message):
    __slots__ = ("source", "tokens")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    source: Source
    tokens: int
    def __init__(self, source: _Optional[_Union[Source, str]] = ..., tokens: _Optional[int] = ...) -> None: ...

class Stats(_message.Message):
    __slots__ = ("prompt_tokens", "cached_tokens", "output_tokens", "passes", "prefill_passes", "drafted_tokens", "accepted", "rejected_tokens", "kept_tokens", "coverage", "oracle_coverage", "near_ties", "queue_seconds", "time_to_first_token_seconds", "decode_seconds", "total_seconds", "tokens_per_second", "draft_seconds", "estimated_seconds_without_drafts", "estimated_speedup", "draft_model_seconds")
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    PASSES_FIELD_NUMBER: _ClassVar[int]
    PREFILL_PASSES_FIELD_NUMBER: _ClassVar[int]
    DRAFTED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    KEPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COVERAGE_FIELD_NUMBER: _ClassVar[int]
    ORACLE_COVERAGE_FIELD_NUMBER: _ClassVar[int]
    NEAR_TIES_FIELD_NUMBER: _ClassVar[int]
    QUEUE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TIME_TO_FIRST_TOKEN_SECONDS_FIELD_NUMBER: _ClassVar[int]
    DECODE_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    DRAFT_SECONDS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_SECONDS_WITHOUT_DRAFTS_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_SPEEDUP_FIELD_NUMBER: _ClassVar[int]
    DRAFT_MODEL_SECONDS_FIELD_NUMBER: _ClassVar[int]
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    passes: int
    prefill_passes: int
    drafted_tokens: int
    accepted: _containers.RepeatedCompositeFieldContainer[AcceptedTokens]
    rejected_tokens: int
    kept_tokens: int
    coverage: float
    oracle_coverage: float
    near_ties: int
    queue_seconds: float
    time_to_first_token_seconds: float
    decode_seconds: float
    total_seconds: float
    tokens_per_second: float
    draft_seconds: float
    estimated_seconds_without_drafts: float
    estimated_speedup: float
    draft_model_seconds: float
    def __init__(self, prompt_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., passes: _Optional[int] = ..., prefill_passes: _Optional[int] = ..., drafted_tokens: _Optional[int] = ..., accepted: _Optional[_Iterable[_Union[AcceptedTokens, _Mapping]]] = ..., rejected_tokens: _Optional[int] = ..., kept_tokens: _Optional[int] = ..., coverage: _Optional[float] = ..., oracle_coverage: _Optional[float] = ..., near_ties: _Optional[int] = ..., queue_seconds: _Optional[float] = ..., time_to_first_token_seconds: _Optional[float] = ..., decode_seconds: _Optional[float] = ..., total_seconds: _Optional[float] = ..., tokens_per_second: _Optional[float] = ..., draft_seconds: _Optional[float] = ..., estimated_seconds_without_drafts: _Optional[float] = ..., estimated_speedup: _Optional[float] = ..., draft_model_seconds: _Optional[float] = ...) -> None: ...

class Shaping(_message.Message):
    __slots__ = ("removed_prefix", "removed_suffix", "leading", "trailing", "line_endings")
    REMOVED_PREFIX_FIELD_NUMBER: _ClassVar[int]
    REMOVED_SUFFIX_FIELD_NUMBER: _ClassVar[int]
    LEADING_FIELD_NUMBER: _ClassVar[int]
    TRAILING_FIELD_NUMBER: _ClassVar[int]
    LINE_ENDINGS_FIELD_NUMBER: _ClassVar[int]
    removed_prefix: str
    removed_suffix: str
    leading: str
    trailing: str
    line_endings: str
    def __init__(self, removed_prefix: _Optional[str] = ..., removed_suffix: _Optional[str] = ..., leading: _Optional[str] = ..., trailing: _Optional[str] = ..., line_endings: _Optional[str] = ...) -> None: ...

class Started(_message.Message):
    __slots__ = ("request_id", "client_request_id", "document_version", "model", "scripted", "prompt_tokens", "cached_tokens", "context_tokens", "max_output_tokens", "max_output_clamped", "seed", "temperature", "top_p", "top_k", "repetition_penalty", "defaults_from_model", "context_trimmed", "draft_ignored", "offset_encoding")
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SCRIPTED_FIELD_NUMBER: _ClassVar[int]
    PROMPT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_CLAMPED_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    TOP_P_FIELD_NUMBER: _ClassVar[int]
    TOP_K_FIELD_NUMBER: _ClassVar[int]
    REPETITION_PENALTY_FIELD_NUMBER: _ClassVar[int]
    DEFAULTS_FROM_MODEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TRIMMED_FIELD_NUMBER: _ClassVar[int]
    DRAFT_IGNORED_FIELD_NUMBER: _ClassVar[int]
    OFFSET_ENCODING_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    client_request_id: str
    document_version: str
    model: str
    scripted: bool
    prompt_tokens: int
    cached_tokens: int
    context_tokens: int
    max_output_tokens: int
    max_output_clamped: bool
    seed: int
    temperature: float
    top_p: float
    top_k: int
    repetition_penalty: float
    defaults_from_model: _containers.RepeatedScalarFieldContainer[str]
    context_trimmed: Range
    draft_ignored: str
    offset_encoding: OffsetEncoding
    def __init__(self, request_id: _Optional[str] = ..., client_request_id: _Optional[str] = ..., document_version: _Optional[str] = ..., model: _Optional[str] = ..., scripted: _Optional[bool] = ..., prompt_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., context_tokens: _Optional[int] = ..., max_output_tokens: _Optional[int] = ..., max_output_clamped: _Optional[bool] = ..., seed: _Optional[int] = ..., temperature: _Optional[float] = ..., top_p: _Optional[float] = ..., top_k: _Optional[int] = ..., repetition_penalty: _Optional[float] = ..., defaults_from_model: _Optional[_Iterable[str]] = ..., context_trimmed: _Optional[_Union[Range, _Mapping]] = ..., draft_ignored: _Optional[str] = ..., offset_encoding: _Optional[_Union[OffsetEncoding, str]] = ...) -> None: ...

class Delta(_message.Message):
    __slots__ = ("text", "spans", "drafted_tokens", "accepted_tokens")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    DRAFTED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    text: str
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    drafted_tokens: int
    accepted_tokens: int
    def __init__(self, text: _Optional[str] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ..., drafted_tokens: _Optional[int] = ..., accepted_tokens: _Optional[int] = ...) -> None: ...

class Finished(_message.Message):
    __slots__ = ("reason", "complete", "edits", "spans", "shaping", "stats", "stop_string")
    REASON_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    EDITS_FIELD_NUMBER: _ClassVar[int]
    SPANS_FIELD_NUMBER: _ClassVar[int]
    SHAPING_FIELD_NUMBER: _ClassVar[int]
    STATS_FIELD_NUMBER: _ClassVar[int]
    STOP_STRING_FIELD_NUMBER: _ClassVar[int]
    reason: FinishReason
    complete: bool
    edits: _containers.RepeatedCompositeFieldContainer[TextEdit]
    spans: _containers.RepeatedCompositeFieldContainer[Span]
    shaping: Shaping
    stats: Stats
    stop_string: str
    def __init__(self, reason: _Optional[_Union[FinishReason, str]] = ..., complete: _Optional[bool] = ..., edits: _Optional[_Iterable[_Union[TextEdit, _Mapping]]] = ..., spans: _Optional[_Iterable[_Union[Span, _Mapping]]] = ..., shaping: _Optional[_Union[Shaping, _Mapping]] = ..., stats: _Optional[_Union[Stats, _Mapping]] = ..., stop_string: _Optional[str] = ...) -> None: ...

class Model(_message.Message):
    __slots__ = ("name", "context_tokens", "max_output_tokens", "max_draft_tokens", "max_concurrent_edits", "device", "dtype", "parameters", "demo", "scripted", "adapter", "draft_model", "draft_model_bytes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_DRAFT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENT_EDITS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    PARAMETERS_FIELD_NUMBER: _ClassVar[int]
    DEMO_FIELD_NUMBER: _ClassVar[int]
    SCRIPTED_FIELD_NUMBER: _ClassVar[int]
    ADAPTER_FIELD_NUMBER: _ClassVar[int]
    DRAFT_MODEL_FIELD_NUMBER: _ClassVar[int]
    DRAFT_MODEL_BYTES_FIELD_NUMBER: _ClassVar[int]
    name: str
    context_tokens: int
    max_output_tokens: int
    max_draft_tokens: int
    max_concurrent_edits: int
    device: str
    dtype: str
    parameters: int
    demo: bool
    scripted: bool
    adapter: str
    draft_model: str
    draft_model_bytes: int
    def __init__(self, name: _Optional[str] = ..., context_tokens: _Optional[int] = ..., max_output_tokens: _Optional[int] = ..., max_draft_tokens: _Optional[int] = ..., max_concurrent_edits: _Optional[int] = ..., device: _Optional[str] = ..., dtype: _Optional[str] = ..., parameters: _Optional[int] = ..., demo: _Optional[bool] = ..., scripted: _Optional[bool] = ..., adapter: _Optional[str] = ..., draft_model: _Optional[str] = ..., draft_model_bytes: _Optional[int] = ...) -> None: ...
