"""Carries one edit's events from the engine's thread into the event loop, and a vanished caller back as a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from redraft.engine.request import EditRequest
from redraft.engine.results import EditEvent, Failed, Finished
from redraft.rpc.backend import Backend, EditHandle
from redraft.rpc.events import StreamEvent


class EventQueue:
    """Events of one edit; `put` is called on the engine's thread, the iterator runs in the loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[EditEvent] = asyncio.Queue()
        self._closed = False

    def put(self, event: EditEvent) -> None:
        """Hand an event over; dropped once nobody reads any more."""
        if self._closed:
            return
        try:
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
        except RuntimeError:  # the loop is closed: the server is gone, and so is the reader
            self._closed = True

    def close(self) -> None:
        """Drop what comes from now on."""
        self._closed = True

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        """Events up to and with Finished; raises what a Failed carries."""
        while True:
            event = await self._events.get()
            if isinstance(event, Failed):
                raise event.error
            yield event
            if isinstance(event, Finished):
                return


@asynccontextmanager
async def running_edit(backend: Backend, request: EditRequest, deadline: float | None) -> AsyncIterator[EventQueue]:
    """Submit an edit and give its events; leaving the block, for whatever reason, cancels what is left of it."""
    events = EventQueue()
    try:
        handle = await _submit(backend, request, events, deadline)
        structlog.contextvars.bind_contextvars(request_id=handle.request_id)
        try:
            yield events
        finally:
            handle.cancel()
    finally:
        events.close()


async def _submit(backend: Backend, request: EditRequest, events: EventQueue, deadline: float | None) -> EditHandle:
    submission = asyncio.create_task(asyncio.to_thread(backend.submit, request, events.put, deadline))
    try:
        return await asyncio.shield(submission)
    except asyncio.CancelledError:
        # The thread cannot be stopped: whatever it still admits has to be cancelled when it is through.
        submission.add_done_callback(_cancel_late)
        raise


def _cancel_late(submission: asyncio.Task[EditHandle]) -> None:
    if not submission.cancelled() and submission.exception() is None:
        submission.result().cancel()
