import asyncio
import socket
import stat
import threading
from dataclasses import replace

import grpc
import pytest
import structlog
from fakes import FakeBackend, rewrite
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from live import address, serving
from redraft import errors
from redraft.engine.request import EditRequest, OffsetEncoding
from redraft.engine.results import Failed, FinishReason
from redraft.rpc.convert import request_to_wire
from redraft.rpc.server import EditServer, ServerSettings
from redraft.rpc.status import DOMAIN
from redraft.v1 import edit_pb2, edit_service_pb2, edit_service_pb2_grpc

GOOD = EditRequest(document="One. Zwei 🙂 trois.", instruction="keep")
SERVICE = "redraft.v1.EditService"


def wire(**fields):
    return edit_service_pb2.EditRequest(**{"document": "Some text.", "instruction": "shorten", **fields})


async def drain(call):
    messages = []
    while (message := await call.read()) is not grpc.aio.EOF:
        messages.append(message)
    return messages


async def refused(call):
    """Code and ErrorInfo and further details of a call that fails."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await drain(call)
    status = rpc_status.from_call(caught.value)
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    assert info.domain == DOMAIN
    return caught.value.code(), info, status.details[1:]


async def serves_the_next_request(stub):
    responses = await drain(stub.Edit(request_to_wire(GOOD)))
    assert "".join(r.delta.text for r in responses) == GOOD.document
    assert [r.WhichOneof("event") for r in responses] == ["started", "delta", "finished"]


async def test_deltas_concatenate_to_the_output():
    pieces = ["One. ", "Zw", "", "o 🙂🙃", " trois."]
    backend = FakeBackend(lambda request: rewrite(request, pieces))
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        responses = await drain(edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD)))
    assert [r.WhichOneof("event") for r in responses] == ["started", *["delta"] * 5, "finished"]
    assert "".join(r.delta.text for r in responses) == "".join(pieces)
    assert responses[-1].finished.spans[-1].output.end == len("".join(pieces).encode())
    assert backend.handles[0].deadline is None


BAD = [
    (wire(document=""), "EMPTY_DOCUMENT", {}),
    (wire(instruction=""), "INVALID_OPTION", {"option": "instruction"}),
    (wire(selection=edit_pb2.Range(start=2, end=11)), "INVALID_RANGE", {}),
    (wire(selection=edit_pb2.Range(start=99, end=100)), "INVALID_RANGE", {}),
    (wire(selection=edit_pb2.Range(start=6, end=3)), "INVALID_RANGE", {}),
    (wire(selection=edit_pb2.Range(start=3, end=3)), "INVALID_RANGE", {}),
    (wire(document="🙂", selection=edit_pb2.Range(start=0, end=2)), "INVALID_RANGE", {}),
    (wire(sampling=edit_pb2.Sampling(temperature=-1)), "INVALID_OPTION", {"option": "temperature"}),
    (wire(sampling=edit_pb2.Sampling(temperature=float("nan"))), "INVALID_OPTION", {"option": "temperature"}),
    (wire(sampling=edit_pb2.Sampling(top_p=0)), "INVALID_OPTION", {"option": "top_p"}),
    (wire(sampling=edit_pb2.Sampling(top_p=2)), "INVALID_OPTION", {"option": "top_p"}),
    (wire(sampling=edit_pb2.Sampling(top_k=-1)), "INVALID_OPTION", {"option": "top_k"}),
    (wire(sampling=edit_pb2.Sampling(max_output_tokens=0)), "INVALID_OPTION", {"option": "max_output_tokens"}),
    (wire(sampling=edit_pb2.Sampling(max_output_tokens=2**31 - 1)), "INVALID_OPTION", {"option": "max_output_tokens"}),
    (wire(sampling=edit_pb2.Sampling(seed=2**64 - 1)), "INVALID_OPTION", {"option": "seed"}),
    (wire(sampling=edit_pb2.Sampling(stop=[""])), "INVALID_OPTION", {"option": "stop"}),
    (wire(drafting=edit_pb2.Drafting(limit=0)), "INVALID_OPTION", {"option": "limit"}),
    (wire(drafting=edit_pb2.Drafting(mode=77)), "INVALID_OPTION", {"option": "mode"}),
    (wire(drafting=edit_pb2.Drafting(acceptance=77)), "INVALID_OPTION", {"option": "acceptance"}),
    (wire(offset_encoding=77), "INVALID_OPTION", {"option": "offset_encoding"}),
    (wire(offset_encoding=77, selection=edit_pb2.Range(end=1)), "INVALID_OPTION", {"option": "offset_encoding"}),
]


async def test_bad_requests_get_their_status_and_the_next_is_served():
    async with serving(FakeBackend()) as server, grpc.aio.insecure_channel(address(server)) as channel:
        stub = edit_service_pb2_grpc.EditServiceStub(channel)
        for message, reason, metadata in BAD:
            code, info, rest = await refused(stub.Edit(message))
            assert (code, info.reason, dict(info.metadata)) == (grpc.StatusCode.INVALID_ARGUMENT, reason, metadata)
            assert not rest
        await serves_the_next_request(stub)


@pytest.mark.parametrize(
    ("error", "code", "metadata"),
    [
        (errors.UnknownModel("gpt", "fake"), grpc.StatusCode.INVALID_ARGUMENT, {"model": "gpt", "served": "fake"}),
        (errors.DocumentTooLong(9000, 4096), grpc.StatusCode.INVALID_ARGUMENT, {"tokens": "9000", "limit": "4096"}),
        (errors.Unauthenticated("who?"), grpc.StatusCode.UNAUTHENTICATED, {}),
        (errors.Draining("going"), grpc.StatusCode.UNAVAILABLE, {}),
    ],
)
async def test_errors_of_the_engine(error, code, metadata):
    backend = FakeBackend(error=error)
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        stub = edit_service_pb2_grpc.EditServiceStub(channel)
        got, info, rest = await refused(stub.Edit(wire()))
        assert (got, info.reason, dict(info.metadata)) == (code, error.reason, metadata)
        assert not rest
        backend.error = None
        await serves_the_next_request(stub)


async def test_overloaded_says_when_to_retry():
    backend = FakeBackend(error=errors.Overloaded("queue is full", 1.25))
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        code, info, rest = await refused(edit_service_pb2_grpc.EditServiceStub(channel).Edit(wire()))
    assert (code, info.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
    retry = error_details_pb2.RetryInfo()
    assert rest[0].Unpack(retry)
    assert retry.retry_delay.ToMilliseconds() == 1250


async def test_a_huge_name_does_not_break_the_status():
    backend = FakeBackend(error=errors.UnknownModel("x" * 100_000, "fake"))
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        _, info, _ = await refused(edit_service_pb2_grpc.EditServiceStub(channel).Edit(wire()))
    assert info.reason == "UNKNOWN_MODEL"
    assert info.metadata["served"] == "fake"


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("Edit", b"\x0a\x05ab"),  # a string that is longer than the message
        ("Edit", b"\xff\xff\xff\xff"),  # no tag
        ("Edit", b"\x0a\x02\xff\xfe\x12\x01i"),  # a document that is not UTF-8
        ("Edit", b"\x0a\x03\xed\xa0\x80\x12\x01i"),  # a lone surrogate
        ("GetModel", b"\x0a\x05ab"),
        ("GetModel", b"\xff\xff\xff\xff"),
    ],
)
async def test_broken_bytes_are_invalid_argument(method, data):
    async with serving(FakeBackend()) as server, grpc.aio.insecure_channel(address(server)) as channel:
        call = channel.unary_stream(f"/{SERVICE}/{method}")(data)
        code, info, _ = await refused(call)
        assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "MALFORMED_REQUEST")
        await serves_the_next_request(edit_service_pb2_grpc.EditServiceStub(channel))


async def test_an_oversized_message_is_grpcs_own_resource_exhausted():
    async with (
        serving(FakeBackend(), max_message_bytes=2000) as server,
        grpc.aio.insecure_channel(address(server)) as channel,
    ):
        stub = edit_service_pb2_grpc.EditServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await drain(stub.Edit(wire(document="x" * 3000)))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert rpc_status.from_call(caught.value) is None
        await serves_the_next_request(stub)


async def test_an_unknown_fault_is_internal_with_an_id_that_the_log_has():
    secret = "the document's text"
    backend = FakeBackend(error=KeyError(secret))
    with structlog.testing.capture_logs() as logs:
        async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
            code, info, _ = await refused(edit_service_pb2_grpc.EditServiceStub(channel).Edit(wire(document=secret)))
    assert (code, info.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    fault = next(line for line in logs if line["event"] == "internal error")
    assert fault["request_id"] == info.metadata["request_id"]
    assert fault["error"] == "KeyError"
    assert "submit" in fault["trace"]
    assert secret not in str(logs)


async def test_a_failure_in_the_middle_ends_the_stream_with_its_status():
    backend = FakeBackend(lambda request: [*rewrite(request, ["One."])[:2], Failed(ZeroDivisionError())])
    with structlog.testing.capture_logs() as logs:
        async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
            call = edit_service_pb2_grpc.EditServiceStub(channel).Edit(wire())
            code, info, _ = await refused(call)
    assert code is grpc.StatusCode.INTERNAL
    assert info.metadata["request_id"] == "fake-1"
    assert any(line["event"] == "internal error" and line["request_id"] == "fake-1" for line in logs)


async def test_every_call_is_logged_without_text():
    with structlog.testing.capture_logs() as logs:
        async with serving(FakeBackend()) as server, grpc.aio.insecure_channel(address(server)) as channel:
            await serves_the_next_request(edit_service_pb2_grpc.EditServiceStub(channel))
    line = next(line for line in logs if line["event"] == "call ended")
    assert (line["method"], line["code"], line["request_id"]) == ("Edit", "OK", "fake-1")
    assert "Zwei" not in str(logs)


async def eventually(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


async def test_a_cancelled_call_cancels_the_edit():
    backend = FakeBackend(hold_after=2)
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        stub = edit_service_pb2_grpc.EditServiceStub(channel)
        call = stub.Edit(request_to_wire(GOOD))
        assert (await call.read()).HasField("started")
        call.cancel()
        await eventually(lambda: backend.handles[0].done.is_set())
        assert backend.handles[0].cancels
        backend.hold_after = None
        await serves_the_next_request(stub)


async def test_cancelling_amid_many_deltas_is_not_a_fault():
    backend = FakeBackend(lambda request: rewrite(request, ["ab "] * 2000))
    with structlog.testing.capture_logs() as logs:
        async with serving(backend) as server:
            for reads in range(20):
                async with grpc.aio.insecure_channel(address(server)) as channel:
                    call = edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD))
                    for _ in range(reads):
                        await call.read()
                    call.cancel()
            await eventually(lambda: all(handle.done.is_set() for handle in backend.handles))
    assert backend.handles
    assert not [line for line in logs if line["event"] == "internal error"]


async def test_a_vanished_client_cancels_the_edit():
    backend = FakeBackend(hold_after=2)
    async with serving(backend) as server:
        async with grpc.aio.insecure_channel(address(server)) as channel:
            call = edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD))
            await call.read()
        await eventually(lambda: backend.handles[0].cancels)


async def test_a_call_cancelled_while_it_is_submitted_leaves_nothing_running():
    backend = FakeBackend(hold_after=0, submit_gate=threading.Event())
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        call = edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD))
        await eventually(lambda: backend.requests)
        call.cancel()
        await asyncio.sleep(0.05)
        backend.submit_gate.set()
        await eventually(lambda: backend.handles and backend.handles[0].done.is_set())


async def test_the_deadline_reaches_the_engine_and_ends_the_call():
    backend = FakeBackend(hold_after=2)
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        call = edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD), timeout=0.3)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await drain(call)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert backend.handles[0].deadline is not None
        await eventually(lambda: backend.handles[0].cancels)


async def test_an_edit_that_the_engine_ends_at_the_deadline_is_delivered():
    backend = FakeBackend(lambda request: rewrite(request, ["One."], FinishReason.DEADLINE))
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        responses = await drain(edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD), timeout=5))
    assert responses[-1].finished.reason == edit_pb2.FINISH_REASON_DEADLINE
    assert not responses[-1].finished.complete


@pytest.mark.parametrize("encoding", OffsetEncoding)
async def test_offsets_are_in_the_asked_encoding(encoding):
    units = {OffsetEncoding.UTF8: "utf-8", OffsetEncoding.UTF16: "utf-16-le", OffsetEncoding.CODE_POINTS: "utf-32-le"}
    width = {OffsetEncoding.UTF8: 1, OffsetEncoding.UTF16: 2, OffsetEncoding.CODE_POINTS: 4}[encoding]

    def cut(text, span):
        return text.encode(units[encoding])[span.start * width : span.end * width].decode(units[encoding])

    document = "Ärger 🙂 und Freude 🙂 am Morgen. Ende 🎈."
    output = "Ärger 🙂 und Leid 🙃 am Morgen. Ende 🎈."
    request = replace(GOOD, document=document, offset_encoding=encoding)
    backend = FakeBackend(lambda request: rewrite(request, [output[:7], output[7:20], output[20:]]))
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        responses = await drain(edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(request)))
    assert responses[0].started.offset_encoding == request_to_wire(request).offset_encoding
    for response in responses[1:-1]:
        assert [cut(output, span.output) for span in response.delta.spans] == [response.delta.text]
    finished = responses[-1].finished
    assert "".join(cut(output, span.output) for span in finished.spans) == output
    kept = [span for span in finished.spans if span.HasField("document")]
    assert kept
    assert all(cut(document, span.document) == cut(output, span.output) for span in kept)
    assert finished.edits
    position, result = 0, ""
    for edit in finished.edits:
        before = edit_pb2.Range(start=position, end=edit.range.start)
        result, position = result + cut(document, before) + edit.text, edit.range.end
    assert result + cut(document, edit_pb2.Range(start=position, end=10_000)) == output


async def test_get_model():
    async with serving(FakeBackend()) as server, grpc.aio.insecure_channel(address(server)) as channel:
        answer = await edit_service_pb2_grpc.EditServiceStub(channel).GetModel(edit_service_pb2.GetModelRequest())
    assert [model.name for model in answer.models] == ["fake"]
    assert answer.max_message_bytes == 16 * 1024 * 1024


async def health_of(channel, service):
    stub = health_pb2_grpc.HealthStub(channel)
    return (await stub.Check(health_pb2.HealthCheckRequest(service=service))).status


@pytest.mark.parametrize("service", ["", SERVICE])
async def test_health_follows_the_model(service):
    async with serving(None) as server, grpc.aio.insecure_channel(address(server)) as channel:
        assert await health_of(channel, service) == health_pb2.HealthCheckResponse.NOT_SERVING
        stub = edit_service_pb2_grpc.EditServiceStub(channel)
        code, info, _ = await refused(stub.Edit(request_to_wire(GOOD)))
        assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "MODEL_LOADING")
        await server.set_backend(FakeBackend())
        assert await health_of(channel, service) == health_pb2.HealthCheckResponse.SERVING
        await serves_the_next_request(stub)


async def test_reflection_lists_the_services_and_has_the_contract():
    async with serving(FakeBackend()) as server, grpc.aio.insecure_channel(address(server)) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        questions = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE),
        ]
        listed, contract = await drain(stub.ServerReflectionInfo(iter(questions)))
    names = {service.name for service in listed.list_services_response.service}
    assert names == {SERVICE, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert b"EditRequest" in contract.file_descriptor_response.file_descriptor_proto[0]


async def test_stopping_lets_running_edits_finish_and_refuses_new_ones():
    backend = FakeBackend(hold_after=2)
    async with serving(backend) as server, grpc.aio.insecure_channel(address(server)) as channel:
        stub = edit_service_pb2_grpc.EditServiceStub(channel)
        running = stub.Edit(request_to_wire(GOOD))
        await running.read()
        stopping = asyncio.create_task(server.stop(grace=10))
        await asyncio.sleep(0.02)
        assert await health_of(channel, SERVICE) == health_pb2.HealthCheckResponse.NOT_SERVING
        code, info, _ = await refused(stub.Edit(request_to_wire(GOOD)))
        assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
        backend.release.set()
        rest = await drain(running)
        assert rest[-1].HasField("finished")
        await stopping


async def test_the_grace_ends():
    backend = FakeBackend(hold_after=2)
    stop = asyncio.Event()
    server = EditServer(ServerSettings(tcp="127.0.0.1:0"))
    await server.start()
    await server.set_backend(backend)
    async with grpc.aio.insecure_channel(address(server)) as channel:
        call = edit_service_pb2_grpc.EditServiceStub(channel).Edit(request_to_wire(GOOD))
        await call.read()
        stop.set()
        async with asyncio.timeout(5):
            await server.serve_until(stop, grace=0.05)
        code, info, _ = await refused(call)
    assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "DRAINING")
    await eventually(lambda: backend.handles[0].cancels)


async def test_a_unix_socket_is_private_and_not_taken_over(tmp_path):
    path = tmp_path / "run" / "redraft.sock"
    async with serving(FakeBackend(), tcp=None, socket=path) as server:
        assert server.port is None
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
            await serves_the_next_request(edit_service_pb2_grpc.EditServiceStub(channel))
        with pytest.raises(OSError, match="another server"):
            await EditServer(ServerSettings(socket=path)).start()
    assert not path.exists()


async def test_a_stale_socket_is_replaced(tmp_path):
    path = tmp_path / "redraft.sock"
    with socket.socket(socket.AF_UNIX) as leftover:
        leftover.bind(str(path))
    async with serving(FakeBackend(), socket=path), grpc.aio.insecure_channel(f"unix:{path}") as channel:
        await serves_the_next_request(edit_service_pb2_grpc.EditServiceStub(channel))


async def test_a_taken_port_is_an_error():
    async with serving(FakeBackend()) as server:
        with pytest.raises(OSError, match="cannot listen"):
            await EditServer(ServerSettings(tcp=address(server))).start()


@pytest.mark.parametrize("tcp", ["0.0.0.0:1", "example.org:80", "[::]:7"])
def test_only_loopback_is_served_in_the_clear(tcp):
    with pytest.raises(ValueError, match="loopback"):
        ServerSettings(tcp=tcp)


def test_a_server_needs_an_address():
    with pytest.raises(ValueError, match="address"):
        ServerSettings()
