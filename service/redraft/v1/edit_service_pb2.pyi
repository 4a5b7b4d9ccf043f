from redraft.v1 import edit_pb2 as _edit_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EditRequest(_message.Message):
    __slots__ = ("document", "instruction", "selection", "document_version", "references", "prediction", "turns", "sampling", "drafting", "unwrap", "preserve_frame", "model", "offset_encoding", "client_request_id")
    DOCUMENT_FIELD_NUMBER: _ClassVar[int]
    INSTRUCTION_FIELD_NUMBER: _ClassVar[int]
    SELECTION_FIELD_NUMBER: _ClassVar[int]
    DOCUMENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    REFERENCES_FIELD_NUMBER: _ClassVar[int]
    PREDICTION_FIELD_NUMBER: _ClassVar[int]
    TURNS_FIELD_NUMBER: _ClassVar[int]
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    DRAFTING_FIELD_NUMBER: _ClassVar[int]
    UNWRAP_FIELD_NUMBER: _ClassVar[int]
    PRESERVE_FRAME_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    OFFSET_ENCODING_FIELD_NUMBER: _ClassVar[int]
    CLIENT_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    document: str
    instruction: str
    selection: _edit_pb2.Range
    document_version: str
    references: _containers.RepeatedScalarFieldContainer[str]
    prediction: str
    turns: _containers.RepeatedCompositeFieldContainer[_edit_pb2.Turn]
    sampling: _edit_pb2.Sampling
    drafting: _edit_pb2.Drafting
    unwrap: bool
    preserve_frame: bool
    model: str
    offset_encoding: _edit_pb2.OffsetEncoding
    client_request_id: str
    def __init__(self, document: _Optional[str] = ..., instruction: _Optional[str] = ..., selection: _Optional[_Union[_edit_pb2.Range, _Mapping]] = ..., document_version: _Optional[str] = ..., references: _Optional[_Iterable[str]] = ..., prediction: _Optional[str] = ..., turns: _Optional[_Iterable[_Union[_edit_pb2.Turn, _Mapping]]] = ..., sampling: _Optional[_Union[_edit_pb2.Sampling, _Mapping]] = ..., drafting: _Optional[_Union[_edit_pb2.Drafting, _Mapping]] = ..., unwrap: _Optional[bool] = ..., preserve_frame: _Optional[bool] = ..., model: _Optional[str] = ..., offset_encoding: _Optional[_Union[_edit_pb2.OffsetEncoding, str]] = ..., client_request_id: _Optional[str] = ...) -> None: ...

class EditResponse(_message.Message):
    __slots__ = ("started", "delta", "finished")
    STARTED_FIELD_NUMBER: _ClassVar[int]
    DELTA_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    started: _edit_pb2.Started
    delta: _edit_pb2.Delta
    finished: _edit_pb2.Finished
    def __init__(self, started: _Optional[_Union[_edit_pb2.Started, _Mapping]] = ..., delta: _Optional[_Union[_edit_pb2.Delta, _Mapping]] = ..., finished: _Optional[_Union[_edit_pb2.Finished, _Mapping]] = ...) -> None: ...

class GetModelRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetModelResponse(_message.Message):
    __slots__ = ("models", "server_version", "max_message_bytes")
    MODELS_FIELD_NUMBER: _ClassVar[int]
    SERVER_VERSION_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    models: _containers.RepeatedCompositeFieldContainer[_edit_pb2.Model]
    server_version: str
    max_message_bytes: int
    def __init__(self, models: _Optional[_Iterable[_Union[_edit_pb2.Model, _Mapping]]] = ..., server_version: _Optional[str] = ..., max_message_bytes: _Optional[int] = ...) -> None: ...
