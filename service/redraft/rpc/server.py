"""The server's life: listen, load, serve, drain, stop."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import grpc
import structlog
from grpc_health.v1 import health, health_pb2_grpc
from grpc_health.v1.health_pb2 import HealthCheckResponse
from grpc_reflection.v1alpha import reflection

from redraft.rpc import DEFAULT_MAX_MESSAGE_BYTES
from redraft.rpc.backend import Backend
from redraft.rpc.interceptors import CallLog
from redraft.rpc.servicer import SERVICE, EditServicer

DEFAULT_GRACE = 30.0
"""Seconds that running edits get to finish when the server stops."""

_LAST_WORDS = 1.0  # seconds for finished calls' statuses to be sent, and for health watchers to read the last change
_HEALTH_NAMES = ("", SERVICE.full_name)

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where to listen, at least one of the two; `tcp` is "host:port" on loopback, port 0 picks a free one."""

    tcp: str | None = None
    socket: Path | None = None
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES

    def __post_init__(self) -> None:
        if self.tcp is None and self.socket is None:
            raise ValueError("a server needs an address: tcp, socket or both")
        if self.tcp is not None and not _is_loopback(self.tcp):
            raise ValueError(f"{self.tcp}: only loopback addresses are served without encryption")


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class EditServer:
    """Serves EditService, health and reflection. Answers MODEL_LOADING until it has a backend."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._servicer = EditServicer(settings.max_message_bytes)
        self._health = health.aio.HealthServicer()  # type: ignore[attr-defined]  # the stubs lack `aio`
        self._server: grpc.aio.Server | None = None
        self._port: int | None = None

    @property
    def port(self) -> int | None:
        """The TCP port that is listened on, once started."""
        return self._port

    async def start(self) -> None:
        """Listen, NOT_SERVING. Raises OSError if an address is taken."""
        if self._server is not None:
            raise RuntimeError("a server starts once")
        for name in _HEALTH_NAMES:
            await self._health.set(name, HealthCheckResponse.NOT_SERVING)
        self._server = self._assembled()
        self._listen(self._server)
        await self._server.start()
        _log.info("listening", tcp_port=self._port, socket=str(self._settings.socket or ""))

    async def set_backend(self, backend: Backend) -> None:
        """Begin to take edits, and report SERVING."""
        self._servicer.set_backend(backend)
        for name in _HEALTH_NAMES:
            await self._health.set(name, HealthCheckResponse.SERVING)

    async def stop(self, grace: float = DEFAULT_GRACE) -> None:
        """Report NOT_SERVING, refuse new edits with DRAINING, let running ones finish within `grace` seconds, stop.

        What is not through by then ends with DRAINING, too.
        """
        if self._server is None:
            return
        await self._health.enter_graceful_shutdown()
        await self._servicer.drain(grace)
        await self._server.stop(_LAST_WORDS)
        if self._settings.socket is not None:
            self._settings.socket.unlink(missing_ok=True)
        _log.info("stopped")

    async def serve_until(self, stop: asyncio.Event, grace: float = DEFAULT_GRACE) -> None:
        """Serve until the event is set (or this task is cancelled), then stop."""
        try:
            await stop.wait()
        finally:
            await self.stop(grace)

    def _assembled(self) -> grpc.aio.Server:
        limit = self._settings.max_message_bytes
        options = (
            ("grpc.max_receive_message_length", limit),
            ("grpc.max_send_message_length", limit),
            ("grpc.so_reuseport", 0),  # a second server on the same port has to fail, not to share it
        )
        server = grpc.aio.server(interceptors=[CallLog(SERVICE.full_name)], options=options)
        server.add_generic_rpc_handlers((self._servicer.handler(),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection((SERVICE.full_name, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server

    def _listen(self, server: grpc.aio.Server) -> None:
        if self._settings.tcp is not None:
            self._port = _bind(server, self._settings.tcp)
        if self._settings.socket is not None:
            _bind_socket(server, self._settings.socket)


def _bind(server: grpc.aio.Server, address: str) -> int:
    try:
        return server.add_insecure_port(address)
    except RuntimeError as error:
        raise OSError(errno.EADDRINUSE, f"cannot listen on {address}") from error


def _bind_socket(server: grpc.aio.Server, path: Path) -> None:
    """Listen on a Unix socket that only this user can reach."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _somebody_listens(path):
        # gRPC would remove the file and leave the other server without callers.
        raise OSError(errno.EADDRINUSE, f"another server listens on {path}")
    before = os.umask(0o177)
    try:
        _bind(server, f"unix:{path}")
    finally:
        os.umask(before)


def _somebody_listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ECONNREFUSED):
                return False
            raise
    return True
