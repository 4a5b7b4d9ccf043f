"""The interface that every sync client has, remote or not."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from redraft.engine.request import EditRequest
from redraft.engine.results import ModelInfo
from redraft.rpc.events import StreamEvent


class EditClient(Protocol):
    """Runs edits somewhere."""

    def edit(self, request: EditRequest, timeout: float | None = None) -> Generator[StreamEvent, None, None]:
        """Stream one edit: Started, any number of Delta, Finished; offsets are code points.

        Closing the generator cancels the edit. `timeout` is in seconds. Raises RedraftError.
        """

    def get_model(self) -> ModelInfo:
        """Facts about the model. Raises RedraftError."""

    def wait_ready(self, timeout: float) -> None:
        """Return once edits are served. Raises ConnectionFailed or ModelLoading after `timeout` seconds."""

    def close(self) -> None:
        """Let go of the connection."""
