"""Stand-ins that play a script: a backend that emits given events from a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from redraft.engine.request import EditRequest, Range
from redraft.engine.results import (
    Delta,
    EditEvent,
    Finished,
    FinishReason,
    ModelInfo,
    Shaping,
    Source,
    Span,
    Started,
    Stats,
)
from redraft.engine.spans import align, final_spans, text_edits
from redraft.engine.validation import validate

MODEL = ModelInfo(
    name="fake",
    version="0.0.0",
    context_length=4096,
    max_output_tokens=2048,
    max_draft_tokens=256,
    max_concurrent_edits=8,
    device="cpu",
    dtype="float32",
    parameters=1234,
    demo=False,
    scripted=True,
)


def started(request: EditRequest) -> Started:
    """A Started for a request, with values that differ from field to field."""
    return Started(
        request_id="fake-1",
        client_request_id=request.client_request_id,
        document_version=request.document_version,
        model=MODEL.name,
        scripted=True,
        prompt_tokens=40,
        cached_tokens=7,
        context_length=MODEL.context_length,
        max_output_tokens=512,
        max_output_clamped=False,
        seed=11,
        temperature=0.0,
        top_p=1.0,
        top_k=0,
        repetition_penalty=1.0,
        defaults_from_model=(),
        context_trimmed=None,
        draft_ignored="",
        offset_encoding=request.offset_encoding,
    )


def rewrite(request: EditRequest, pieces: Sequence[str], reason: FinishReason = FinishReason.END) -> list[EditEvent]:
    """The events of an edit whose output comes in these pieces, with spans and edits as an engine reports them."""
    output = "".join(pieces)
    ends = list(accumulate(map(len, pieces)))
    complete = reason in (FinishReason.END, FinishReason.STOP)
    shift = request.selection.start if request.selection else 0
    matches = align(request.target_text, output)
    finished = Finished(
        reason=reason,
        complete=complete,
        edits=text_edits(request.document, output, complete, request.selection),
        spans=final_spans(matches, len(output), ends, [Source.DOCUMENT] * len(ends), shift),
        shaping=Shaping(),
        stats=Stats(output_tokens=len(pieces), accepted={Source.DOCUMENT: 2, Source.TARGET: 1}),
    )
    deltas = [
        Delta(piece, (Span(Range(end - len(piece), end), None, Source.TARGET),), 3, 2)
        for piece, end in zip(pieces, ends, strict=True)
    ]
    return [started(request), *deltas, finished]


@dataclass
class FakeHandle:
    """One submitted edit."""

    request_id: str
    deadline: float | None
    stopped: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    cancels: int = 0

    def cancel(self) -> None:
        self.cancels += 1
        self.stopped.set()


@dataclass
class FakeBackend:
    """Emits what `script` gives for a request; `error` refuses it; with `hold_after` it stops there until released."""

    script: Callable[[EditRequest], Iterable[EditEvent]] = field(
        default=lambda request: rewrite(request, [request.target_text])
    )
    error: Exception | None = None
    hold_after: int | None = None
    submit_gate: threading.Event | None = None
    requests: list[EditRequest] = field(default_factory=list)
    handles: list[FakeHandle] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)

    def submit(
        self, request: EditRequest, emit: Callable[[EditEvent], None], deadline: float | None = None
    ) -> FakeHandle:
        validate(request)
        self.requests.append(request)
        if self.submit_gate is not None:
            self.submit_gate.wait(10)
        if self.error is not None:
            raise self.error
        handle = FakeHandle(f"fake-{len(self.requests)}", deadline)
        self.handles.append(handle)
        threading.Thread(target=self._play, args=(request, emit, handle), daemon=True).start()
        return handle

    def _play(self, request: EditRequest, emit: Callable[[EditEvent], None], handle: FakeHandle) -> None:
        for index, event in enumerate(self.script(request)):
            while index == self.hold_after and not self.release.wait(0.005):
                if handle.stopped.is_set():
                    break
            if handle.stopped.is_set():
                break
            emit(event)
        handle.done.set()

    def info(self) -> ModelInfo:
        return MODEL
