"""What the edge needs from the engine, as narrow types; `engine/service.py` is the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from redraft.engine.request import EditRequest
from redraft.engine.results import EditEvent, ModelInfo


class EditHandle(Protocol):
    """A submitted edit."""

    @property
    def request_id(self) -> str:
        """The id that `Started` and the log carry."""

    def cancel(self) -> None:
        """End the edit within one step; thread-safe, may be called more than once and after the end."""


class Backend(Protocol):
    """Runs edits on a thread of its own."""

    def submit(
        self, request: EditRequest, emit: Callable[[EditEvent], None], deadline: float | None = None
    ) -> EditHandle:
        """Validate and admit an edit; may take some milliseconds.

        `emit` is called on the engine's thread: one Started, any number of Delta, then one Finished or Failed; after a
        cancel perhaps nothing more. `deadline` is in seconds of time.monotonic(). Raises RedraftError.
        """

    def info(self) -> ModelInfo:
        """Facts about the model that is served."""
