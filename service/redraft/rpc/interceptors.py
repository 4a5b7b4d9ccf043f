"""Gives every call an id and one structured log line. No text of a request is logged."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc
import structlog

_log = structlog.get_logger(__name__)

Behavior = Callable[[Any, Any], Awaitable[Any]]
if TYPE_CHECKING:  # generic in the stubs only
    Handler = grpc.RpcMethodHandler[Any, Any]


class CallLog(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # not generic at run time
    """Logs the calls of one service; other services, such as health and reflection, pass untouched."""

    def __init__(self, service: str) -> None:
        self._prefix = f"/{service}/"

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler:
        """Wrap the service's handlers; `continuation` gives None for an unknown method."""
        handler: Handler | None = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or not method.startswith(self._prefix):
            return handler  # type: ignore[return-value]  # the stubs do not know of None
        return _wrapped(handler, method.removeprefix(self._prefix))


def _wrapped(handler: Any, method: str) -> Handler:
    """The same handler with its behaviour logged; the service has only calls with one request."""
    if handler.unary_stream is not None:
        return grpc.unary_stream_rpc_method_handler(
            _logged(handler.unary_stream, method), handler.request_deserializer, handler.response_serializer
        )
    return grpc.unary_unary_rpc_method_handler(
        _logged(handler.unary_unary, method), handler.request_deserializer, handler.response_serializer
    )


def _logged(behavior: Behavior, method: str) -> Behavior:
    async def call(request: Any, context: Any) -> Any:
        begin = time.monotonic()
        code = grpc.StatusCode.CANCELLED  # what is left when neither a result nor an abort comes about
        with structlog.contextvars.bound_contextvars(request_id=uuid.uuid4().hex):
            try:
                result = await behavior(request, context)
                code = grpc.StatusCode.OK
                return result
            except grpc.aio.AbortError:
                code = context.code()
                raise
            finally:
                bound = structlog.contextvars.get_contextvars()
                _log.info(
                    "call ended",
                    method=method,
                    code=code.name,
                    request_id=bound["request_id"],
                    request_bytes=len(request),
                    seconds=round(time.monotonic() - begin, 4),
                )

    return call
