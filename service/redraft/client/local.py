"""The sync client's interface on an engine in the same process."""

from __future__ import annotations

import queue
import time
from collections.abc import Generator

from redraft.client.errors import DeadlineExceeded
from redraft.engine.request import EditRequest
from redraft.engine.results import EditEvent, Failed, Finished, ModelInfo
from redraft.rpc.backend import Backend
from redraft.rpc.events import StreamEvent

_LATENESS = 5.0  # seconds that an engine may be late in ending an edit at its deadline


class LocalClient:
    """Runs edits on a backend in this process, which stays its creator's to stop."""

    def __init__(self, service: Backend) -> None:
        self._service = service

    def edit(self, request: EditRequest, timeout: float | None = None) -> Generator[StreamEvent, None, None]:
        """Stream one edit, as `Client.edit` does; at the timeout it ends with FinishReason.DEADLINE."""
        events: queue.SimpleQueue[EditEvent] = queue.SimpleQueue()
        deadline = None if timeout is None else time.monotonic() + timeout
        handle = self._service.submit(request, events.put, deadline)
        try:
            while True:
                event = _next(events, deadline)
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            handle.cancel()

    def get_model(self) -> ModelInfo:
        """Facts about the model."""
        return self._service.info()

    def wait_ready(self, timeout: float) -> None:
        """Nothing to wait for: a service in the process is ready when it exists."""

    def close(self) -> None:
        """Nothing to let go of."""


def _next(events: queue.SimpleQueue[EditEvent], deadline: float | None) -> StreamEvent:
    timeout = None if deadline is None else max(0.0, deadline - time.monotonic()) + _LATENESS
    try:
        event = events.get(timeout=timeout)
    except queue.Empty:
        raise DeadlineExceeded("the timeout passed and the engine did not end the edit") from None
    if isinstance(event, Failed):
        raise event.error
    return event
