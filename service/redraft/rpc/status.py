"""The one table from the domain's exceptions to gRPC statuses, and the one place where handlers' errors become them."""

from __future__ import annotations

import traceback
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import grpc
import structlog
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # no py.typed
from grpc_status import rpc_status

from redraft import errors

DOMAIN = "redraft"
"""`ErrorInfo.domain` of every error that this service raises."""

CODES: Mapping[type[errors.RedraftError], grpc.StatusCode] = {
    errors.MalformedRequest: grpc.StatusCode.INVALID_ARGUMENT,
    errors.EmptyDocument: grpc.StatusCode.INVALID_ARGUMENT,
    errors.InvalidRange: grpc.StatusCode.INVALID_ARGUMENT,
    errors.InvalidOption: grpc.StatusCode.INVALID_ARGUMENT,
    errors.DocumentTooLong: grpc.StatusCode.INVALID_ARGUMENT,
    errors.UnknownModel: grpc.StatusCode.INVALID_ARGUMENT,
    errors.Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    errors.Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.Draining: grpc.StatusCode.UNAVAILABLE,
    errors.ModelLoading: grpc.StatusCode.UNAVAILABLE,
}
"""What is not listed, and is not a subclass of what is listed, is INTERNAL."""

_MAX_TEXT = 1000  # trailing metadata must stay below gRPC's 8 KiB, whatever a request put into an error's text

_log = structlog.get_logger(__name__)


def code_of(error: BaseException) -> grpc.StatusCode:
    """The status code of an exception."""
    for kind in type(error).__mro__:
        if kind in CODES:
            return CODES[kind]
    return grpc.StatusCode.INTERNAL


def to_status(error: errors.RedraftError) -> status_pb2.Status:
    """The status of a listed error, with ErrorInfo, and RetryInfo for Overloaded."""
    status = _status(code_of(error), error.message, error.reason, error.metadata)
    if isinstance(error, errors.Overloaded):
        delay = Duration()
        delay.FromNanoseconds(max(0, round(error.retry_after * 1e9)))
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=delay))
    return status


def internal_status(request_id: str) -> status_pb2.Status:
    """The status of everything unknown: no detail but the id under which the log has it."""
    message = f"internal error; the server's log has it under {request_id}"
    return _status(grpc.StatusCode.INTERNAL, message, errors.RedraftError.reason, {"request_id": request_id})


def _status(code: grpc.StatusCode, message: str, reason: str, metadata: Mapping[str, str]) -> status_pb2.Status:
    short = {key: value[:_MAX_TEXT] for key, value in metadata.items()}
    status = status_pb2.Status(code=code.value[0], message=message[:_MAX_TEXT])
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=short))
    return status


@asynccontextmanager
async def translate_errors(context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[None]:
    """End the call with the status of whatever the block raises. Cancellation passes through."""
    try:
        yield
    except grpc.aio.AbortError:
        raise
    except Exception as error:
        status = rpc_status.to_status(_logged_status(error))
        await context.abort(status.code, status.details, status.trailing_metadata)


def _logged_status(error: Exception) -> status_pb2.Status:
    if isinstance(error, errors.RedraftError) and code_of(error) is not grpc.StatusCode.INTERNAL:
        _log.info("edit refused", reason=error.reason)
        return to_status(error)
    request_id = current_request_id()
    _log.error("internal error", request_id=request_id, error=type(error).__qualname__, trace=_places(error))
    return internal_status(request_id)


def current_request_id() -> str:
    """The id that this call's log lines carry, or a new one outside of a logged call."""
    bound = structlog.contextvars.get_contextvars().get("request_id")
    return bound if isinstance(bound, str) else uuid.uuid4().hex


def _places(error: BaseException) -> str:
    """Where an error came from, its causes first. Messages are left out: they might quote the document."""
    cause = error.__cause__ or error.__context__
    before = f"{_places(cause)}{type(cause).__qualname__}, then:\n" if cause is not None else ""
    return before + "".join(traceback.format_tb(error.__traceback__))
