"""Requests and model facts: proto <-> domain. The wire's offsets are in the request's encoding, ours in code points."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from redraft.engine.offsets import OffsetMap, OffsetWindow
from redraft.engine.request import Drafting, EditRequest, Range, Sampling, Turn
from redraft.engine.results import ModelInfo
from redraft.errors import InvalidOption, MalformedRequest
from redraft.rpc.enums import ACCEPTANCE, DRAFT_MODE, OFFSET_ENCODING, UnknownValue
from redraft.v1 import edit_pb2 as pb
from redraft.v1 import edit_service_pb2 as service_pb

AnyMessage = TypeVar("AnyMessage", bound=Message)


def parse(message_type: type[AnyMessage], data: bytes) -> AnyMessage:
    """The message in `data`; raises MalformedRequest for broken bytes and invalid UTF-8."""
    try:
        return message_type.FromString(data)
    except DecodeError:
        name = message_type.DESCRIPTOR.full_name
        raise MalformedRequest(f"the bytes are not a valid {name}, or a text in it is not UTF-8") from None


def request_from_wire(message: service_pb.EditRequest, principal: str = "") -> EditRequest:
    """The domain's request.

    Raises InvalidOption for an unknown enum value, InvalidRange for an offset outside the text or inside a code point.
    """
    try:
        return _request_from_wire(message, principal)
    except UnknownValue as error:
        raise InvalidOption(error.name, f"unknown value {error.value}") from None


def _request_from_wire(message: service_pb.EditRequest, principal: str) -> EditRequest:
    return EditRequest(
        document=message.document,
        instruction=message.instruction,
        selection=_selection_from_wire(message),
        document_version=message.document_version,
        references=tuple(message.references),
        prediction=message.prediction if message.HasField("prediction") else None,
        turns=tuple(Turn(turn.document, turn.instruction, turn.output) for turn in message.turns),
        sampling=_sampling_from_wire(message.sampling),
        drafting=_drafting_from_wire(message.drafting),
        unwrap=message.unwrap,
        preserve_frame=message.preserve_frame,
        model=message.model,
        offset_encoding=OFFSET_ENCODING.from_wire(message.offset_encoding),
        client_request_id=message.client_request_id,
        principal=principal,
    )


def _selection_from_wire(message: service_pb.EditRequest) -> Range | None:
    if not message.HasField("selection"):
        return None
    offsets = OffsetMap(message.document, OFFSET_ENCODING.from_wire(message.offset_encoding))
    return range_from_wire(offsets, message.selection)


def _sampling_from_wire(message: pb.Sampling) -> Sampling:
    return Sampling(
        temperature=message.temperature if message.HasField("temperature") else None,
        top_p=message.top_p if message.HasField("top_p") else None,
        top_k=message.top_k if message.HasField("top_k") else None,
        seed=message.seed if message.HasField("seed") else None,
        repetition_penalty=message.repetition_penalty if message.HasField("repetition_penalty") else None,
        presence_penalty=message.presence_penalty if message.HasField("presence_penalty") else None,
        frequency_penalty=message.frequency_penalty if message.HasField("frequency_penalty") else None,
        stop=tuple(message.stop),
        max_output_tokens=message.max_output_tokens if message.HasField("max_output_tokens") else None,
    )


def _drafting_from_wire(message: pb.Drafting) -> Drafting:
    return Drafting(
        mode=DRAFT_MODE.from_wire(message.mode),
        limit=message.limit if message.HasField("limit") else None,
        acceptance=ACCEPTANCE.from_wire(message.acceptance),
    )


def request_to_wire(request: EditRequest) -> service_pb.EditRequest:
    """The message for a request that `validate` accepts. `principal` is the server's to know and is not sent."""
    return service_pb.EditRequest(
        document=request.document,
        instruction=request.instruction,
        selection=_selection_to_wire(request),
        document_version=request.document_version,
        references=request.references,
        prediction=request.prediction,
        turns=[
            pb.Turn(document=turn.document, instruction=turn.instruction, output=turn.output) for turn in request.turns
        ],
        sampling=_sampling_to_wire(request.sampling),
        drafting=_drafting_to_wire(request.drafting),
        unwrap=request.unwrap,
        preserve_frame=request.preserve_frame,
        model=request.model,
        offset_encoding=OFFSET_ENCODING.to_wire(request.offset_encoding),
        client_request_id=request.client_request_id,
    )


def _selection_to_wire(request: EditRequest) -> pb.Range | None:
    if request.selection is None:
        return None
    return range_to_wire(OffsetMap(request.document, request.offset_encoding), request.selection)


def _sampling_to_wire(sampling: Sampling) -> pb.Sampling:
    return pb.Sampling(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        seed=sampling.seed,
        repetition_penalty=sampling.repetition_penalty,
        presence_penalty=sampling.presence_penalty,
        frequency_penalty=sampling.frequency_penalty,
        stop=sampling.stop,
        max_output_tokens=sampling.max_output_tokens,
    )


def _drafting_to_wire(drafting: Drafting) -> pb.Drafting:
    return pb.Drafting(
        mode=DRAFT_MODE.to_wire(drafting.mode),
        limit=drafting.limit,
        acceptance=ACCEPTANCE.to_wire(drafting.acceptance),
    )


def range_from_wire(offsets: OffsetMap | OffsetWindow, message: pb.Range) -> Range:
    """A range in code points; raises InvalidRange for a boundary outside the text or inside a code point."""
    return Range(offsets.to_code_point(message.start), offsets.to_code_point(message.end))


def range_to_wire(offsets: OffsetMap | OffsetWindow, span: Range) -> pb.Range:
    """A range in the map's encoding."""
    return pb.Range(start=offsets.from_code_point(span.start), end=offsets.from_code_point(span.end))


def models_to_wire(info: ModelInfo, max_message_bytes: int) -> service_pb.GetModelResponse:
    """What GetModel answers."""
    model = pb.Model(
        name=info.name,
        context_tokens=info.context_length,
        max_output_tokens=info.max_output_tokens,
        max_draft_tokens=info.max_draft_tokens,
        max_concurrent_edits=info.max_concurrent_edits,
        device=info.device,
        dtype=info.dtype,
        parameters=info.parameters,
        demo=info.demo,
        scripted=info.scripted,
        adapter=info.adapter,
        draft_model=info.draft_model,
        draft_model_bytes=info.draft_model_bytes,
    )
    return service_pb.GetModelResponse(models=[model], server_version=info.version, max_message_bytes=max_message_bytes)


def model_from_wire(message: service_pb.GetModelResponse) -> ModelInfo:
    """The first of the served models; there is one, for now. Raises ValueError where there is none."""
    if not message.models:
        raise ValueError("the server lists no model")
    model = message.models[0]
    return ModelInfo(
        name=model.name,
        version=message.server_version,
        context_length=model.context_tokens,
        max_output_tokens=model.max_output_tokens,
        max_draft_tokens=model.max_draft_tokens,
        max_concurrent_edits=model.max_concurrent_edits,
        device=model.device,
        dtype=model.dtype,
        parameters=model.parameters,
        demo=model.demo,
        scripted=model.scripted,
        adapter=model.adapter,
        draft_model=model.draft_model,
        draft_model_bytes=model.draft_model_bytes,
    )
