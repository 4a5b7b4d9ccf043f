import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes import MODEL, FakeBackend, rewrite
from redraft.client import DeadlineExceeded, EditClient, LocalClient, collect, default_address, default_socket
from redraft.client import local as local_module
from redraft.engine.request import EditRequest, Range
from redraft.engine.results import Failed, FinishReason, Started
from redraft.errors import EmptyDocument, Overloaded

REQUEST = EditRequest(document="Some text that is long enough to be solid. And a tail.", instruction="keep")


def test_events_arrive_as_the_engine_sent_them():
    client: EditClient = LocalClient(FakeBackend())
    assert list(client.edit(REQUEST)) == rewrite(REQUEST, [REQUEST.document])
    assert client.get_model() == MODEL


def test_closing_the_iterator_cancels_the_edit():
    backend = FakeBackend(hold_after=1)
    events = LocalClient(backend).edit(REQUEST)
    assert isinstance(next(events), Started)
    events.close()
    assert backend.handles[0].done.wait(5)
    assert backend.handles[0].cancels == 1


def test_errors_are_the_engines_own():
    with pytest.raises(EmptyDocument):
        next(LocalClient(FakeBackend()).edit(EditRequest("", "i")))
    with pytest.raises(Overloaded):
        next(LocalClient(FakeBackend(error=Overloaded("full", 1))).edit(REQUEST))
    failing = FakeBackend(lambda request: [*rewrite(request, ["x"])[:1], Failed(ZeroDivisionError("gone"))])
    with pytest.raises(ZeroDivisionError, match="gone"):
        list(LocalClient(failing).edit(REQUEST))


def test_the_timeout_is_the_engines_to_keep_and_does_not_hang_when_it_is_not(monkeypatch):
    monkeypatch.setattr(local_module, "_LATENESS", 0.05)
    backend = FakeBackend(hold_after=1)
    begin = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        list(LocalClient(backend).edit(REQUEST, timeout=0.1))
    assert backend.handles[0].deadline == pytest.approx(begin + 0.1, abs=0.05)
    assert backend.handles[0].cancels


def test_a_cancelled_edit_keeps_the_tail_and_what_is_outside_the_selection():
    start = REQUEST.document.index("that")
    request = EditRequest(REQUEST.document, "keep", selection=Range(start, len(REQUEST.document) - 1))
    events = rewrite(request, ["that is long enough to be solid. An"])[:2]
    result = collect(request.document, events, request.selection)
    assert result.document == request.document
    assert (result.reason, result.complete, result.error) == (FinishReason.CANCELLED, False, None)


def test_a_stream_that_never_began_raises():
    with pytest.raises(Overloaded):
        collect(REQUEST.document, LocalClient(FakeBackend(error=Overloaded("full", 1))).edit(REQUEST))


def test_the_default_address_is_a_socket_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    monkeypatch.delenv("REDRAFT_SERVER", raising=False)
    assert default_address() == f"unix:{default_socket()}"
    assert default_socket().parts[-2:] == ("redraft", "redraft.sock")
    assert default_socket().parent.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("REDRAFT_SERVER", "127.0.0.1:7")
    assert default_address() == "127.0.0.1:7"


def test_the_client_starts_without_torch():
    service = Path(local_module.__file__).parents[2]
    code = "import redraft.client, sys; sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=service, check=False).returncode == 0
