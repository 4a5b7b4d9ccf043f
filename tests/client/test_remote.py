import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

import grpc
import pytest
from fakes import MODEL, FakeBackend, rewrite
from live import address, serving
from redraft import errors
from redraft.client import (
    AsyncClient,
    Client,
    ConnectionFailed,
    DeadlineExceeded,
    MessageTooLarge,
    ProtocolMismatch,
    RemoteFault,
    collect,
    collect_async,
)
from redraft.engine.request import EditRequest, OffsetEncoding, Range, Sampling
from redraft.engine.results import Delta, Failed, Finished, FinishReason, Started

REQUEST = EditRequest(document="Ein 🙂 Text. Und ein zweiter Satz.", instruction="keep")
PIECES = ["Ein 🙂 ", "Wort. Und", " ein zweiter Satz."]


def scripted(**options):
    return FakeBackend(lambda request: rewrite(request, PIECES), **options)


async def eventually(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


class Both:
    """Runs the same test against the async and the sync client; the latter in a thread, beside the server's loop."""

    def __init__(self, kind):
        self.kind = kind

    async def events(self, where, request=REQUEST, timeout=None, default_timeout=None, **options):
        options["timeout"] = default_timeout
        if self.kind == "async":
            async with AsyncClient(where, **options) as client:
                return [event async for event in client.edit(request, timeout)]
        return await asyncio.to_thread(self._events, where, request, timeout, options)

    def _events(self, where, request, timeout, options):
        with Client(where, **options) as client:
            return list(client.edit(request, timeout))

    async def call(self, where, method, *arguments, **options):
        if self.kind == "async":
            async with AsyncClient(where, **options) as client:
                return await getattr(client, method)(*arguments)
        return await asyncio.to_thread(self._call, where, method, arguments, options)

    def _call(self, where, method, arguments, options):
        with Client(where, **options) as client:
            return getattr(client, method)(*arguments)


@pytest.fixture(params=["async", "sync"])
def client(request):
    return Both(request.param)


@pytest.mark.parametrize("encoding", OffsetEncoding)
async def test_events_arrive_as_the_engine_sent_them(client, encoding):
    request = replace(REQUEST, offset_encoding=encoding, selection=Range(4, 12), sampling=Sampling(temperature=0.7))
    backend = scripted()
    async with serving(backend) as server:
        events = await client.events(address(server), request)
    assert events == rewrite(request, PIECES)
    assert backend.requests == [request]


async def test_get_model(client):
    async with serving(FakeBackend()) as server:
        assert await client.call(address(server), "get_model") == MODEL


@pytest.mark.parametrize(
    "error",
    [
        errors.UnknownModel("gpt", "fake"),
        errors.DocumentTooLong(9000, 4096),
        errors.Unauthenticated("who?"),
        errors.InvalidOption("stop", "too many"),
        errors.InvalidRange("inside a character"),
        errors.EmptyDocument(),
        errors.MalformedRequest("no"),
    ],
)
async def test_errors_come_back_as_they_were_raised(client, error):
    async with serving(FakeBackend(error=error)) as server:
        with pytest.raises(type(error)) as caught:
            await client.events(address(server))
    assert (caught.value.message, caught.value.metadata) == (error.message, error.metadata)


@pytest.mark.parametrize("error", [errors.Draining("going"), errors.ModelLoading("not yet")])
async def test_unavailable_is_tried_again_before_it_is_raised(client, error):
    backend = FakeBackend(error=error)
    async with serving(backend) as server:
        with pytest.raises(type(error)):
            await client.events(address(server))
    assert len(backend.requests) == 4


async def test_nothing_is_tried_again_once_the_edit_has_begun(client):
    backend = FakeBackend(lambda request: [*rewrite(request, PIECES)[:2], Failed(errors.Draining("going"))])
    async with serving(backend) as server:
        with pytest.raises(errors.Draining):
            await client.events(address(server))
    assert len(backend.requests) == 1


async def test_a_bad_request_is_not_sent(client):
    backend = FakeBackend()
    async with serving(backend) as server:
        with pytest.raises(errors.InvalidOption):
            await client.events(address(server), replace(REQUEST, sampling=Sampling(seed=-1)))
        with pytest.raises(errors.MalformedRequest):
            await client.events(address(server), replace(REQUEST, document="\ud800"))
    assert not backend.requests


async def test_an_unknown_fault_names_its_id(client):
    async with serving(FakeBackend(error=RuntimeError())) as server:
        with pytest.raises(RemoteFault) as caught:
            await client.events(address(server))
    assert caught.value.metadata["request_id"] in caught.value.message


async def test_overloaded_is_tried_again_after_the_servers_delay(client):
    backend = scripted(error=errors.Overloaded("full", 0.1))

    async def recover():
        await eventually(lambda: backend.requests)
        backend.error = None

    async with serving(backend) as server:
        recovery = asyncio.create_task(recover())
        begin = time.monotonic()
        events = await client.events(address(server))
        await recovery
    assert time.monotonic() - begin >= 0.1
    assert isinstance(events[-1], Finished)
    assert len(backend.requests) == 2


async def test_overloaded_is_raised_when_retries_are_used_up(client):
    backend = FakeBackend(error=errors.Overloaded("full", 0.01))
    async with serving(backend) as server:
        with pytest.raises(errors.Overloaded) as caught:
            await client.events(address(server), retries=2)
    assert caught.value.retry_after == pytest.approx(0.01)
    assert len(backend.requests) == 3


async def test_overloaded_is_raised_at_once_when_the_delay_is_longer_than_the_timeout(client):
    backend = FakeBackend(error=errors.Overloaded("full", 60))
    async with serving(backend) as server:
        with pytest.raises(errors.Overloaded):
            await client.events(address(server), timeout=5)
    assert len(backend.requests) == 1


@pytest.mark.parametrize("limits", [{"server": 500}, {"client": 500}])
async def test_an_oversized_message_is_not_tried_again(client, limits):
    backend = FakeBackend()
    options = {"max_message_bytes": limits["client"]} if "client" in limits else {}
    settings = {"max_message_bytes": limits["server"]} if "server" in limits else {}
    async with serving(backend, **settings) as server:
        with pytest.raises(MessageTooLarge):
            await client.events(address(server), replace(REQUEST, document="x" * 1000), **options)
    assert not backend.requests


@pytest.mark.parametrize("default", [False, True])
async def test_the_timeout_passes(client, default):
    async with serving(scripted(hold_after=2)) as server:
        with pytest.raises(DeadlineExceeded):
            await client.events(address(server), **({"default_timeout": 0.2} if default else {"timeout": 0.2}))


async def test_nobody_listens(client, tmp_path):
    with pytest.raises(ConnectionFailed):
        await client.events(f"unix:{tmp_path / 'nobody.sock'}")
    with pytest.raises(ConnectionFailed):
        await client.call(f"unix:{tmp_path / 'nobody.sock'}", "wait_ready", 0.2)


async def test_another_server_is_a_mismatch(client):
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    with pytest.raises(ProtocolMismatch):
        await client.events(f"127.0.0.1:{port}")
    await server.stop(None)


async def test_wait_ready_returns_once_the_model_is_there(client):
    async with serving(None) as server:
        with pytest.raises(errors.ModelLoading):
            await client.call(address(server), "wait_ready", 0.2)
        waiting = asyncio.create_task(client.call(address(server), "wait_ready", 5.0))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await server.set_backend(FakeBackend())
        await waiting


async def test_closing_the_async_iterator_cancels_the_edit():
    backend = scripted(hold_after=2)
    async with serving(backend) as server, AsyncClient(address(server)) as client:
        async with aclosing(client.edit(REQUEST)) as events:
            assert isinstance(await anext(events), Started)
        await eventually(lambda: backend.handles[0].cancels)


async def test_closing_the_sync_iterator_cancels_the_edit():
    backend = scripted(hold_after=2)

    def begin_and_close(where):
        with Client(where) as client:
            events = client.edit(REQUEST)
            first = next(events)
            events.close()
            return first

    async with serving(backend) as server:
        assert isinstance(await asyncio.to_thread(begin_and_close, address(server)), Started)
        await eventually(lambda: backend.handles[0].cancels)


async def test_a_broken_stream_gives_a_partial_result_that_keeps_the_tail(client):
    document = "One sentence that stays as it is. Another sentence comes behind it. A third one ends."
    request = EditRequest(document, "keep")
    text = "One sentence that stays as it was. Another sentence"
    backend = FakeBackend(lambda request: [*rewrite(request, [text])[:2], Failed(ZeroDivisionError())])

    def sync(where):
        with Client(where) as remote:
            return collect(document, remote.edit(request))

    async with serving(backend) as server:
        if client.kind == "sync":
            result = await asyncio.to_thread(sync, address(server))
        else:
            async with AsyncClient(address(server)) as remote:
                result = await collect_async(document, remote.edit(request))
    assert isinstance(result.error, RemoteFault)
    assert (result.text, result.complete, result.reason, result.finished) == (text, False, None, None)
    assert result.document == text + document[document.index(" comes behind") :]


async def test_a_whole_stream_gives_a_whole_result(client):
    async with serving(scripted()) as server:
        events = await client.events(address(server))
    result = collect(REQUEST.document, events)
    assert result.text == result.document == "".join(PIECES)
    assert (result.complete, result.reason, result.error) == (True, FinishReason.END, None)
    assert result.spans == events[-1].spans
    assert sum(isinstance(event, Delta) for event in events) == len(PIECES)
