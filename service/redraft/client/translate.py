"""gRPC statuses -> exceptions: the inverse of `rpc/status.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # no py.typed

from redraft.client.errors import (
    CallCancelled,
    ConnectionFailed,
    DeadlineExceeded,
    MessageTooLarge,
    ProtocolMismatch,
    RemoteFault,
)
from redraft.errors import Overloaded, RedraftError
from redraft.rpc.status import CODES, DOMAIN

_DETAILS_KEY = "grpc-status-details-bin"

_BY_REASON: Mapping[str, type[RedraftError]] = {kind.reason: kind for kind in CODES if kind is not Overloaded}

# For statuses that carry no ErrorInfo of ours: gRPC's own, or another server's.
_BY_CODE: Mapping[grpc.StatusCode, type[RedraftError]] = {
    grpc.StatusCode.UNAVAILABLE: ConnectionFailed,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceeded,
    grpc.StatusCode.CANCELLED: CallCancelled,
    grpc.StatusCode.RESOURCE_EXHAUSTED: MessageTooLarge,
    grpc.StatusCode.UNIMPLEMENTED: ProtocolMismatch,
}


class FailedCall(Protocol):
    """What the errors of grpc and grpc.aio have in common."""

    def code(self) -> grpc.StatusCode: ...

    def details(self) -> str | None: ...

    def trailing_metadata(self) -> Any: ...


def from_call(call: FailedCall) -> RedraftError:
    """The exception that a failed call stands for."""
    status = _rich_status(call)
    info = _detail(status, error_details_pb2.ErrorInfo)
    message = call.details() or call.code().name
    if info is None or info.domain != DOMAIN:
        return _BY_CODE.get(call.code(), RemoteFault)(message, {"code": call.code().name})
    retry = _detail(status, error_details_pb2.RetryInfo)
    if info.reason == Overloaded.reason and retry is not None:
        return Overloaded(message, retry.retry_delay.ToNanoseconds() / 1e9)
    return _rebuilt(_BY_REASON.get(info.reason, RemoteFault), message, dict(info.metadata))


def _rebuilt(kind: type[RedraftError], message: str, metadata: Mapping[str, str]) -> RedraftError:
    """An exception of this kind as the server raised it, whose message its own constructor composed already."""
    error = kind.__new__(kind)
    RedraftError.__init__(error, message, metadata)
    return error


def _rich_status(call: FailedCall) -> status_pb2.Status:
    for key, value in call.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()


def _detail(status: status_pb2.Status, kind: type[Any]) -> Any:
    for detail in status.details:
        if detail.Is(kind.DESCRIPTOR):
            message = kind()
            detail.Unpack(message)
            return message
    return None


@contextmanager
def translated() -> Iterator[None]:
    """Raise the domain's exceptions for what a call, or the reading of its messages, raises."""
    try:
        yield
    except grpc.RpcError as error:
        raise from_call(error) from None
    except ValueError as error:
        raise ProtocolMismatch(str(error)) from error
