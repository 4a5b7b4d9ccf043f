"""Gathers an edit's events into one result, a partial one where the stream breaks or is cut."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass

from redraft.engine.request import Range
from redraft.engine.results import Delta, Finished, FinishReason, Span, Started, TextEdit
from redraft.engine.spans import apply_edits, text_edits
from redraft.errors import RedraftError
from redraft.rpc.events import StreamEvent


@dataclass(frozen=True, slots=True)
class EditResult:
    """An edit's outcome.

    text:     the output so far; all of it if `complete`.
    document: the document with `edits` applied; after a cut its tail is the original's.
    spans:    the final spans, or the provisional ones if the edit did not finish.
    reason:   why it ended; None if the stream ended with `error`.
    """

    text: str
    document: str
    edits: tuple[TextEdit, ...]
    spans: tuple[Span, ...]
    complete: bool
    reason: FinishReason | None
    started: Started | None
    finished: Finished | None
    error: RedraftError | None = None


class Collector:
    """Takes an edit's events one by one; `result` may be asked for at any time."""

    def __init__(self, document: str, selection: Range | None = None) -> None:
        self._document = document
        self._selection = selection
        self._texts: list[str] = []
        self._spans: list[Span] = []
        self._started: Started | None = None
        self._finished: Finished | None = None

    @property
    def has_started(self) -> bool:
        """Whether any event came."""
        return self._started is not None

    def add(self, event: StreamEvent) -> None:
        """Take in the next event."""
        if isinstance(event, Started):
            self._started = event
        elif isinstance(event, Delta):
            self._texts.append(event.text)
            self._spans.extend(event.spans)
        else:
            self._finished = event

    def result(self, error: RedraftError | None = None) -> EditResult:
        """What there is; without a Finished it is a cancelled edit, or with `error` a broken one."""
        done, text = self._finished, "".join(self._texts)
        edits = done.edits if done else text_edits(self._document, text, False, self._selection)
        return EditResult(
            text=text,
            document=apply_edits(self._document, edits),
            edits=edits,
            spans=done.spans if done else tuple(self._spans),
            complete=done is not None and done.complete,
            reason=done.reason if done else FinishReason.CANCELLED if error is None else None,
            started=self._started,
            finished=done,
            error=error,
        )


def collect(document: str, events: Iterable[StreamEvent], selection: Range | None = None) -> EditResult:
    """The result of a whole stream. A stream that breaks after its first event gives a partial result with `error`.

    Raises RedraftError where not even the first event came.
    """
    collector = Collector(document, selection)
    try:
        for event in events:
            collector.add(event)
    except RedraftError as error:
        if not collector.has_started:
            raise
        return collector.result(error)
    return collector.result()


async def collect_async(
    document: str, events: AsyncIterable[StreamEvent], selection: Range | None = None
) -> EditResult:
    """The async twin of `collect`."""
    collector = Collector(document, selection)
    try:
        async for event in events:
            collector.add(event)
    except RedraftError as error:
        if not collector.has_started:
            raise
        return collector.result(error)
    return collector.result()
