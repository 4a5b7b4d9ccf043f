"""`redraft serve`: listen, load in the background, serve, drain."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import structlog
from rich.console import Console

from redraft.client import default_socket
from redraft.engine.service import EngineService, load_service
from redraft.errors import RedraftError
from redraft.model.loading import LoadOptions
from redraft.rpc.server import EditServer, ServerSettings


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the command line said."""

    listen: str
    socket: Path | None
    use_socket: bool
    model: str
    device: str
    dtype: str | None
    prompt_template: Path | None
    grace: float


def run_server(options: ServeOptions) -> int:
    """Serve until a signal; returns the exit code."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    console = Console(stderr=True)
    try:
        asyncio.run(_serve(options, console))
    except (RedraftError, OSError, ValueError) as error:
        console.print(f"[red]error:[/red] {error}", highlight=False)
        return 1
    return 0


async def _serve(options: ServeOptions, console: Console) -> None:
    socket = (options.socket or default_socket()) if options.use_socket else None
    server = EditServer(ServerSettings(options.listen, socket))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.start()
    service: EngineService | None = None
    try:
        service = await asyncio.to_thread(_load, options)
        await server.set_backend(service)
        host = options.listen.rpartition(":")[0]
        console.print(f"serving {service.info().name} on {host}:{server.port}" + (f" and {socket}" if socket else ""))
        await stop.wait()
    finally:
        await server.stop(options.grace)
        if service is not None:
            await asyncio.to_thread(service.stop)


def _load(options: ServeOptions) -> EngineService:
    template = options.prompt_template.read_text(encoding="utf-8") if options.prompt_template else None
    loading = LoadOptions(model=options.model, device=options.device, dtype=options.dtype)
    return load_service(loading, template=template)
