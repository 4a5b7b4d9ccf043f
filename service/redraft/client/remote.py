"""Clients over gRPC: `AsyncClient` and its sync twin `Client`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from redraft.client.channel import channel_options
from redraft.client.errors import ConnectionFailed
from redraft.client.retry import RetryBudget
from redraft.client.translate import translated
from redraft.engine.request import EditRequest
from redraft.engine.results import ModelInfo
from redraft.engine.validation import validate
from redraft.errors import ModelLoading, Overloaded
from redraft.rpc import DEFAULT_MAX_MESSAGE_BYTES
from redraft.rpc.convert import model_from_wire, request_to_wire
from redraft.rpc.events import EventReader, StreamEvent
from redraft.v1 import edit_service_pb2 as pb

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["EditService"].full_name

DEFAULT_RETRIES = 3
"""How often an edit is tried again when the server is overloaded and says when to come back."""

_POLL_SECONDS = 0.1


class AsyncClient:
    """Edits over gRPC for asyncio; an async context manager. `timeout` is in seconds and the default of every call."""

    def __init__(
        self,
        address: str,
        *,
        timeout: float | None = None,
        retries: int = DEFAULT_RETRIES,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
    ) -> None:
        self._timeout = timeout
        self._retries = retries
        self._channel = grpc.aio.insecure_channel(address, options=channel_options(max_message_bytes))
        self._edit: Any = self._channel.unary_stream(*_edit_method())
        self._get_model: Any = self._channel.unary_unary(*_get_model_method())
        self._health: Any = health_pb2_grpc.HealthStub(self._channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; running edits are cancelled."""
        await self._channel.close(None)

    async def edit(self, request: EditRequest, timeout: float | None = None) -> AsyncGenerator[StreamEvent, None]:
        """Stream one edit: Started, any number of Delta, Finished; offsets are code points.

        Closing the generator cancels the call. Raises RedraftError.
        """
        validate(request)
        budget = RetryBudget.start(self._retries, self._timeout if timeout is None else timeout)
        while True:
            try:
                async with aclosing(self._attempt(request, budget.remaining())) as events:
                    async for event in events:
                        yield event
                return
            except Overloaded as error:  # comes instead of the first event, never after it
                await asyncio.sleep(budget.pause(error))

    async def _attempt(self, request: EditRequest, timeout: float | None) -> AsyncGenerator[StreamEvent, None]:
        reader = EventReader(request)
        call = self._edit(request_to_wire(request), timeout=timeout)
        try:
            with translated():
                async for message in call:
                    yield reader.event(message)
        finally:
            call.cancel()

    async def get_model(self) -> ModelInfo:
        """Facts about the model that is served. Raises RedraftError."""
        with translated():
            return model_from_wire(await self._get_model(pb.GetModelRequest(), timeout=self._timeout))

    async def wait_ready(self, timeout: float) -> None:
        """Return once edits are served. Raises ConnectionFailed or ModelLoading after `timeout` seconds."""
        wait = _ReadyWait(timeout)
        while not wait.is_over():
            try:
                answer = await self._health.Check(wait.question(), timeout=wait.remaining(), wait_for_ready=True)
                wait.answered(answer)
            except grpc.RpcError as error:
                wait.failed(error)
            if wait.ready:
                return
            await asyncio.sleep(_POLL_SECONDS)
        wait.give_up()


class Client:
    """Edits over gRPC, blocking; a context manager. `timeout` is in seconds and the default of every call."""

    def __init__(
        self,
        address: str,
        *,
        timeout: float | None = None,
        retries: int = DEFAULT_RETRIES,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
    ) -> None:
        self._timeout = timeout
        self._retries = retries
        self._channel = grpc.insecure_channel(address, options=channel_options(max_message_bytes))
        self._edit: Any = self._channel.unary_stream(*_edit_method())
        self._get_model: Any = self._channel.unary_unary(*_get_model_method())
        self._health: Any = health_pb2_grpc.HealthStub(self._channel)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; running edits are cancelled."""
        self._channel.close()

    def edit(self, request: EditRequest, timeout: float | None = None) -> Generator[StreamEvent, None, None]:
        """Stream one edit: Started, any number of Delta, Finished; offsets are code points.

        Closing the generator cancels the call. Raises RedraftError.
        """
        validate(request)
        budget = RetryBudget.start(self._retries, self._timeout if timeout is None else timeout)
        while True:
            try:
                yield from self._attempt(request, budget.remaining())
                return
            except Overloaded as error:  # comes instead of the first event, never after it
                time.sleep(budget.pause(error))

    def _attempt(self, request: EditRequest, timeout: float | None) -> Generator[StreamEvent, None, None]:
        reader = EventReader(request)
        call = self._edit(request_to_wire(request), timeout=timeout)
        try:
            with translated():
                for message in call:
                    yield reader.event(message)
        finally:
            call.cancel()

    def get_model(self) -> ModelInfo:
        """Facts about the model that is served. Raises RedraftError."""
        with translated():
            return model_from_wire(self._get_model(pb.GetModelRequest(), timeout=self._timeout))

    def wait_ready(self, timeout: float) -> None:
        """Return once edits are served. Raises ConnectionFailed or ModelLoading after `timeout` seconds."""
        wait = _ReadyWait(timeout)
        while not wait.is_over():
            try:
                answer = self._health.Check(wait.question(), timeout=wait.remaining(), wait_for_ready=True)
                wait.answered(answer)
            except grpc.RpcError as error:
                wait.failed(error)
            if wait.ready:
                return
            time.sleep(_POLL_SECONDS)
        wait.give_up()


class _ReadyWait:
    """What is known while waiting for a server to serve; the two clients differ only in how they wait."""

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout
        self._reached = False
        self._last = "no answer"
        self.ready = False

    def question(self) -> health_pb2.HealthCheckRequest:
        return health_pb2.HealthCheckRequest(service=SERVICE_NAME)

    def remaining(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def is_over(self) -> bool:
        return time.monotonic() >= self._end

    def answered(self, answer: health_pb2.HealthCheckResponse) -> None:
        self._reached = True
        self.ready = answer.status == health_pb2.HealthCheckResponse.SERVING

    def failed(self, error: Any) -> None:
        self._last = error.details() or error.code().name

    def give_up(self) -> None:
        if self._reached:
            raise ModelLoading("the server answers, but does not serve edits yet")
        raise ConnectionFailed(f"no server: {self._last}")


def _edit_method() -> tuple[str, Any, Any]:
    return f"/{SERVICE_NAME}/Edit", pb.EditRequest.SerializeToString, pb.EditResponse.FromString


def _get_model_method() -> tuple[str, Any, Any]:
    return f"/{SERVICE_NAME}/GetModel", pb.GetModelRequest.SerializeToString, pb.GetModelResponse.FromString
