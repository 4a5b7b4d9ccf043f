"""EditService: translates calls into the engine's terms and its events back. Nothing else happens here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from redraft.engine.results import Failed
from redraft.errors import Draining, ModelLoading
from redraft.rpc.backend import Backend
from redraft.rpc.bridge import EventQueue, running_edit
from redraft.rpc.convert import models_to_wire, parse, request_from_wire
from redraft.rpc.events import EventWriter
from redraft.rpc.status import translate_errors
from redraft.v1 import edit_service_pb2 as pb

SERVICE = pb.DESCRIPTOR.services_by_name["EditService"]

Context = grpc.aio.ServicerContext[bytes, Any]


class EditServicer:
    """Serves calls once it has a backend. Requests arrive as bytes, so that broken ones get the contract's status."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._backend: Backend | None = None
        self._draining = False
        self._running = 0
        self._open: set[EventQueue] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def set_backend(self, backend: Backend) -> None:
        """Begin to take edits."""
        self._backend = backend

    async def drain(self, grace: float) -> None:
        """Take no new edit, let the running ones finish for at most `grace` seconds, and end the rest with DRAINING."""
        self._draining = True
        try:
            await asyncio.wait_for(self._idle.wait(), grace)
        except TimeoutError:
            for events in self._open:
                events.put(Failed(Draining("the server shut down before the edit was through")))

    def handler(self) -> grpc.GenericRpcHandler[bytes, Any]:
        """The service's methods for a server, with requests left as bytes."""
        methods = {
            "Edit": grpc.unary_stream_rpc_method_handler(
                self.edit, response_serializer=pb.EditResponse.SerializeToString
            ),
            "GetModel": grpc.unary_unary_rpc_method_handler(
                self.get_model, response_serializer=pb.GetModelResponse.SerializeToString
            ),
        }
        return grpc.method_handlers_generic_handler(SERVICE.full_name, methods)

    async def edit(self, data: bytes, context: Context) -> None:
        """Stream one edit."""
        async with translate_errors(context):
            request = request_from_wire(parse(pb.EditRequest, data))
            with self._counted():
                writer = EventWriter(request)
                async with running_edit(self._ready(), request, _deadline(context)) as events:
                    self._open.add(events)
                    try:
                        async for event in events:
                            await context.write(writer.response(event))
                    finally:
                        self._open.discard(events)

    async def get_model(self, data: bytes, context: Context) -> pb.GetModelResponse:
        """Say what is served."""
        async with translate_errors(context):
            parse(pb.GetModelRequest, data)
            response = models_to_wire(self._ready().info(), self._max_message_bytes)
        return response

    def _ready(self) -> Backend:
        if self._backend is None:
            raise ModelLoading("the model is loading")
        return self._backend

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Refuse while draining; else count as running."""
        if self._draining:
            raise Draining("the server is shutting down")
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()


def _deadline(context: Context) -> float | None:
    """The call's deadline in seconds of time.monotonic()."""
    remaining: float | None = context.time_remaining()
    return None if remaining is None else time.monotonic() + remaining
