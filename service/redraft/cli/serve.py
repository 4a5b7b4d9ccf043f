"""`redraft serve`: listen, load in the background, serve, drain."""

from __future__ import annotations

import asyncio
import signal

from rich.console import Console
from rich.text import Text

from redraft.cli.logs import log_to_stderr
from redraft.client import default_socket
from redraft.config import Settings
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService, load_service
from redraft.errors import RedraftError
from redraft.model.loading import LoadOptions
from redraft.rpc.server import EditServer, ServerSettings


def run_server(settings: Settings) -> int:
    """Serve until a signal; returns the exit code."""
    log_to_stderr()
    console = Console(stderr=True)
    try:
        asyncio.run(_serve(settings, console))
    except (RedraftError, OSError, ValueError) as error:
        console.print(Text(f"error: {error}", style="red"), soft_wrap=True)
        return 1
    return 0


async def _serve(settings: Settings, console: Console) -> None:
    serve = settings.serve
    socket = (serve.socket or default_socket()) if serve.use_socket else None
    server = EditServer(ServerSettings(serve.listen, socket, serve.max_message_bytes))
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await server.start()
    service: EngineService | None = None
    try:
        service = await asyncio.to_thread(_load, settings)
        await server.set_backend(service)
        host = serve.listen.rpartition(":")[0]
        info = service.info()
        name = f"{info.name} with {info.adapter}" if info.adapter else info.name
        name += f", drafts by {info.draft_model}" if info.draft_model else ""
        ready = f"serving {name} on {host}:{server.port}" + (f" and {socket}" if socket else "")
        console.print(ready, soft_wrap=True, markup=False, highlight=False)  # one line: scripts wait for it
        await stop.wait()
    finally:
        await server.stop(serve.grace)
        if service is not None:
            await asyncio.to_thread(service.stop)


def _load(settings: Settings) -> EngineService:
    model, engine = settings.model, settings.engine
    template = model.prompt_template.read_text(encoding="utf-8") if model.prompt_template else None
    loading = LoadOptions(
        model=model.name,
        device=model.device,
        dtype=model.dtype,
        kv_bytes=model.kv_bytes,
        threads=model.threads,
        trust_remote_code=model.trust_remote_code,
        adapter=model.adapter,
    )
    limits = SchedulerLimits(engine.max_running, engine.max_waiting, engine.prefill_tokens)
    return load_service(loading, limits, template, model.draft_model)
