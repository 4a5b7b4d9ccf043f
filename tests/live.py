"""A live server on loopback for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redraft.rpc.backend import Backend
from redraft.rpc.server import EditServer, ServerSettings


@asynccontextmanager
async def serving(backend: Backend | None, **settings: object) -> AsyncIterator[EditServer]:
    """A started server with the backend set, if any; stopped without grace at the end."""
    server = EditServer(ServerSettings(**{"tcp": "127.0.0.1:0", **settings}))
    await server.start()
    try:
        if backend is not None:
            await server.set_backend(backend)
        yield server
    finally:
        await server.stop(grace=0.0)


def address(server: EditServer) -> str:
    return f"127.0.0.1:{server.port}"
