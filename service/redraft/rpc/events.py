"""An edit's events: domain -> messages on the server, messages -> domain in the client, with offsets re-counted."""

from __future__ import annotations

from redraft.engine.offsets import OffsetCounter, OffsetMap, OffsetWindow
from redraft.engine.request import EditRequest, OffsetEncoding, Range
from redraft.engine.results import Delta, Finished, Span, Started, TextEdit
from redraft.rpc.convert import range_from_wire, range_to_wire
from redraft.rpc.enums import FINISH_REASON, OFFSET_ENCODING, SOURCE
from redraft.rpc.statistics import shaping_from_wire, shaping_to_wire, stats_from_wire, stats_to_wire
from redraft.v1 import edit_pb2 as pb
from redraft.v1 import edit_service_pb2 as service_pb

StreamEvent = Started | Delta | Finished
"""What a stream carries; a failure ends it as a status instead."""


class _Output:
    """The output so far; a delta's spans lie in its newest piece, the final ones anywhere."""

    def __init__(self, encoding: OffsetEncoding) -> None:
        self._encoding = encoding
        self._pieces: list[str] = []
        self._counter = OffsetCounter(encoding)

    def append(self, text: str) -> OffsetWindow:
        self._pieces.append(text)
        return self._counter.append(text)

    def offsets(self) -> OffsetMap:
        return OffsetMap("".join(self._pieces), self._encoding)


class EventWriter:
    """Turns one edit's events into messages, in order."""

    def __init__(self, request: EditRequest) -> None:
        self._document = OffsetMap(request.document, request.offset_encoding)
        self._output = _Output(request.offset_encoding)

    def response(self, event: StreamEvent) -> service_pb.EditResponse:
        """The message of the next event."""
        if isinstance(event, Started):
            return service_pb.EditResponse(started=self._started(event))
        if isinstance(event, Delta):
            return service_pb.EditResponse(delta=self._delta(event))
        return service_pb.EditResponse(finished=self._finished(event))

    def _started(self, event: Started) -> pb.Started:
        trimmed = event.context_trimmed
        return pb.Started(
            request_id=event.request_id,
            client_request_id=event.client_request_id,
            document_version=event.document_version,
            model=event.model,
            scripted=event.scripted,
            prompt_tokens=event.prompt_tokens,
            cached_tokens=event.cached_tokens,
            context_tokens=event.context_length,
            max_output_tokens=event.max_output_tokens,
            max_output_clamped=event.max_output_clamped,
            seed=event.seed,
            temperature=event.temperature,
            top_p=event.top_p,
            top_k=event.top_k,
            repetition_penalty=event.repetition_penalty,
            defaults_from_model=event.defaults_from_model,
            context_trimmed=None if trimmed is None else range_to_wire(self._document, trimmed),
            draft_ignored=event.draft_ignored,
            offset_encoding=OFFSET_ENCODING.to_wire(event.offset_encoding),
        )

    def _delta(self, event: Delta) -> pb.Delta:
        piece = self._output.append(event.text)
        return pb.Delta(
            text=event.text,
            spans=[self._span(span, range_to_wire(piece, span.output)) for span in event.spans],
            drafted_tokens=event.drafted,
            accepted_tokens=event.accepted,
        )

    def _finished(self, event: Finished) -> pb.Finished:
        output = self._output.offsets()
        return pb.Finished(
            reason=FINISH_REASON.to_wire(event.reason),
            complete=event.complete,
            edits=[pb.TextEdit(range=range_to_wire(self._document, e.range), text=e.text) for e in event.edits],
            spans=[self._span(span, range_to_wire(output, span.output)) for span in event.spans],
            shaping=shaping_to_wire(event.shaping),
            stats=stats_to_wire(event.stats),
            stop_string=event.stop_string,
        )

    def _span(self, span: Span, output: pb.Range) -> pb.Span:
        document = None if span.document is None else range_to_wire(self._document, span.document)
        return pb.Span(output=output, document=document, source=SOURCE.to_wire(span.source), moved=span.moved)


class EventReader:
    """Turns one edit's messages back into events, in order.

    Raises ValueError (UnknownValue among them) for a message that this version does not understand, InvalidRange for
    offsets that do not fit the texts.
    """

    def __init__(self, request: EditRequest) -> None:
        self._document = OffsetMap(request.document, request.offset_encoding)
        self._output = _Output(request.offset_encoding)

    def event(self, message: service_pb.EditResponse) -> StreamEvent:
        """The event of the next message."""
        kind = message.WhichOneof("event")
        if kind == "started":
            return self._started(message.started)
        if kind == "delta":
            return self._delta(message.delta)
        if kind == "finished":
            return self._finished(message.finished)
        raise ValueError("a response without any event that this version knows")

    def _started(self, message: pb.Started) -> Started:
        trimmed = message.HasField("context_trimmed")
        return Started(
            request_id=message.request_id,
            client_request_id=message.client_request_id,
            document_version=message.document_version,
            model=message.model,
            scripted=message.scripted,
            prompt_tokens=message.prompt_tokens,
            cached_tokens=message.cached_tokens,
            context_length=message.context_tokens,
            max_output_tokens=message.max_output_tokens,
            max_output_clamped=message.max_output_clamped,
            seed=message.seed,
            temperature=message.temperature,
            top_p=message.top_p,
            top_k=message.top_k,
            repetition_penalty=message.repetition_penalty,
            defaults_from_model=tuple(message.defaults_from_model),
            context_trimmed=range_from_wire(self._document, message.context_trimmed) if trimmed else None,
            draft_ignored=message.draft_ignored,
            offset_encoding=OFFSET_ENCODING.from_wire(message.offset_encoding),
        )

    def _delta(self, message: pb.Delta) -> Delta:
        piece = self._output.append(message.text)
        return Delta(
            text=message.text,
            spans=tuple(self._span(span, range_from_wire(piece, span.output)) for span in message.spans),
            drafted=message.drafted_tokens,
            accepted=message.accepted_tokens,
        )

    def _finished(self, message: pb.Finished) -> Finished:
        output = self._output.offsets()
        return Finished(
            reason=FINISH_REASON.from_wire(message.reason),
            complete=message.complete,
            edits=tuple(TextEdit(range_from_wire(self._document, edit.range), edit.text) for edit in message.edits),
            spans=tuple(self._span(span, range_from_wire(output, span.output)) for span in message.spans),
            shaping=shaping_from_wire(message.shaping),
            stats=stats_from_wire(message.stats),
            stop_string=message.stop_string,
        )

    def _span(self, message: pb.Span, output: Range) -> Span:
        kept = message.HasField("document")
        document = range_from_wire(self._document, message.document) if kept else None
        return Span(output, document, SOURCE.from_wire(message.source), message.moved)
