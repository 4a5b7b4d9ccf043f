"""`redraft serve` and `redraft edit` as a user runs them: real processes, a tiny model in a folder."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import tiny_models
import torch
from redraft.bench.random_model import byte_tokenizer

PAIRS = {
    "letter": (
        "Dear Ms Smith,\n\nI recieve your letter of the 3rd of May and I thank you for it. The parcel left us today.\n",
        "Dear Ms Smith,\n\nI received your letter of 3 May, thank you. The parcel left us today 👋🏽.\n",
    ),
    "frame": ("  one\r\n\ttwo\u00e9 three\r\n\r\nfour", "  one\r\n\ttwo\u00e9 and three\r\n\r\nfive"),
}
READY = re.compile(r"^serving\s.*\son (127\.0\.0\.1:\d+)\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Server:
    """A running server."""

    process: subprocess.Popen
    log: Path
    folder: Path

    @property
    def address(self):
        return READY.search(self.log.read_text())[1]

    def wait_ready(self):
        end = time.monotonic() + 60
        while not READY.search(self.log.read_text()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.05)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """A scripted and a plain one over the same folder, started together: most of the time goes into imports."""
    root = tmp_path_factory.mktemp("live")
    folder = root / "a-folder-of-a-model-with-a-name-that-is-wider-than-a-terminal"
    tiny_models.build("llama", torch.float32).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    lines = [json.dumps({"id": name, "before": before, "after": after}) for name, (before, after) in PAIRS.items()]
    (root / "pairs.jsonl").write_text("\n".join(lines))
    models = {"scripted": f"scripted:{root / 'pairs.jsonl'},{folder}", "plain": str(folder)}
    started = {name: start(model, root / f"{name}.log", folder) for name, model in models.items()}
    try:
        for server in started.values():
            server.wait_ready()
        yield started
    finally:
        for server in started.values():
            server.process.kill()
            server.process.wait()


def start(model, log, folder):
    command = [sys.executable, "-m", "redraft", "serve", "--listen", "127.0.0.1:0", "--no-socket", "--model", model]
    with log.open("wb") as stderr:
        # Two servers that measure at once on two cores: with one thread each they don't wait for each other.
        environment = {**os.environ, "REDRAFT_MODEL__THREADS": "1"}
        process = subprocess.Popen(command, stderr=stderr, stdout=subprocess.DEVNULL, env=environment)
        return Server(process, log, folder)


def edit(server, *arguments, text=None):
    command = [sys.executable, "-m", "redraft", "edit", *map(str, arguments), "-i", "Correct it"]
    command += ["--server", server.address]
    return subprocess.run(command, input=text, capture_output=True, check=False, timeout=60)


@pytest.fixture
def files(tmp_path):
    """The documents of the pairs as files."""
    for name, (before, _) in PAIRS.items():
        (tmp_path / name).write_bytes(before.encode())
    return tmp_path


@pytest.mark.parametrize("name", PAIRS)
def test_a_pipe_gets_exactly_the_rewrite(servers, files, name):
    result = edit(servers["scripted"], files / name)
    assert result.returncode == 0, result.stderr
    assert result.stdout == PAIRS[name][1].encode()
    assert b"reused" in result.stderr


def test_json_tells_what_the_document_gave(servers, files):
    result = edit(servers["scripted"], files / "letter", "--json")
    assert result.returncode == 0, result.stderr
    value = json.loads(result.stdout)
    assert (value["text"], value["complete"], value["finish_reason"]) == (PAIRS["letter"][1], True, "end")
    statistics = value["statistics"]
    assert statistics["accepted"]["document"] > 0
    assert 0 < statistics["passes"] < statistics["output_tokens"]
    assert 0 < statistics["coverage"] < 1


def test_in_place_writes_the_file_and_nothing_else(servers, files):
    result = edit(servers["scripted"], files / "frame", "--in-place")
    assert (result.returncode, result.stdout) == (0, b""), result.stderr
    assert (files / "frame").read_bytes() == PAIRS["frame"][1].encode()
    assert sorted(path.name for path in files.iterdir()) == sorted(PAIRS)


def test_a_document_without_a_script_is_an_error(servers, files):
    (files / "letter").write_text("A text that is in no pair.")
    result = edit(servers["scripted"], files / "letter", "--in-place")
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"knows only the documents of its pairs" in b" ".join(result.stderr.split())
    assert (files / "letter").read_text() == "A text that is in no pair."


def test_a_model_writes_the_same_without_drafts(servers):
    """A rewrite that is cut is exit code 3; what was written until then still goes to a pipe."""
    document = PAIRS["letter"][0].encode()
    drafted, alone = (edit(servers["plain"], "-", *options, text=document) for options in ((), ("--no-draft",)))
    assert drafted.returncode in (0, 3), drafted.stderr
    assert drafted.stdout
    assert (drafted.returncode, drafted.stdout) == (alone.returncode, alone.stdout)


def test_ready_is_said_in_one_line(servers):
    """Scripts wait for this line, however long the model's name is."""
    server = servers["plain"]
    assert f"serving {server.folder} on {server.address}" in server.log.read_text().splitlines()


@pytest.mark.parametrize(("name", "number"), [("scripted", signal.SIGTERM), ("plain", signal.SIGINT)])
def test_a_signal_ends_the_server_and_no_call_is_answered(servers, files, name, number):
    """The last test here: it ends what the others use."""
    servers[name].process.send_signal(number)
    assert servers[name].process.wait(timeout=30) == 0, servers[name].log.read_text()
    result = edit(servers[name], files / "letter", "--in-place")
    assert (result.returncode, result.stdout) == (4, b"")
    assert servers[name].address.encode() in result.stderr
    assert (files / "letter").read_bytes() == PAIRS["letter"][0].encode()
