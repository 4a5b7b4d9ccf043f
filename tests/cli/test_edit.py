"""The command line on a real engine over a tiny model, and its start-up."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tiny_models
from redraft.cli import app
from redraft.engine import service as service_module
from redraft.engine.scheduler import SchedulerLimits
from redraft.model import loading
from typer.testing import CliRunner


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Invoke `redraft edit` with an in-process engine over a tiny model."""

    def load(*_, **__):
        running = service_module.EngineService(tiny_models.loaded(), SchedulerLimits())
        running.start()
        return running

    monkeypatch.setattr(service_module, "load_service", load)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return lambda *arguments, **options: CliRunner().invoke(app, ["edit", *map(str, arguments)], **options)


def test_help_is_light():
    code = "import sys, redraft.cli; print([m for m in ('torch', 'grpc', 'transformers') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    assert CliRunner().invoke(app, ["edit", "--help"]).exit_code == 0


def test_a_cut_rewrite_is_not_written_without_partial(run, tmp_path):
    document = tmp_path / "a.txt"
    document.write_bytes(b"One.\r\nTwo.\r\n")
    cut = run(document, "-i", "x", "--in-place", "--max-output-tokens", "5")
    assert cut.exit_code == 3
    assert document.read_bytes() == b"One.\r\nTwo.\r\n"
    kept = run(document, "-i", "x", "--in-place", "--partial", "--max-output-tokens", "5")
    assert kept.exit_code == 0
    assert document.read_bytes() != b"One.\r\nTwo.\r\n"
    assert document.read_bytes().endswith(b"Two.\r\n")
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["a.txt"]


def test_a_new_file_has_the_usual_mode_and_a_link_stays_a_link(run, tmp_path):
    (tmp_path / "real.txt").write_text("Some text.")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to("real.txt")
    options = ("-i", "x", "--partial", "--max-output-tokens", "5")
    assert run(tmp_path / "link.txt", *options, "--in-place").exit_code == 0
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").stat().st_mode & 0o777 == 0o640
    assert run(tmp_path / "real.txt", *options, "-o", tmp_path / "new.txt").exit_code == 0
    (tmp_path / "plain").touch()
    assert (tmp_path / "new.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_json_holds_the_whole_result(run, tmp_path):
    result = run("-", "-i", "x", "--json", "--max-output-tokens", "5", input="Some text.")
    value = json.loads(result.stdout)
    assert value["finish_reason"] == "length"
    assert value["complete"] is False
    assert value["statistics"]["output_tokens"] == 5


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-", "-i", "x", "--selection", "3:1"], 1, "lines 1 to 1"),
        (["-", "-i", " "], 1, "instruction"),
        (["-", "-i", "x", "--temperature", "-1"], 1, "temperature"),
        (["-", "-i", "x", "--in-place"], 1, "needs a file"),
        (["a", "-i", "x", "--in-place", "-o", "b"], 1, "exclude each other"),
        (["-", "-i", "x", "-o", "no/such/folder"], 1, "no such folder"),
        (["missing.txt", "-i", "x"], 1, "missing.txt"),
        (["-", "-i", "x", "--server", "127.0.0.1:1"], 4, "127.0.0.1:1"),
        (["-"], 2, "instruction"),
    ],
)
def test_bad_input_is_named(run, arguments, code, message):
    result = run(*arguments, input="Some text.")
    assert result.exit_code == code
    assert message in result.output


def test_bytes_that_are_no_text_are_named(run, tmp_path):
    (tmp_path / "b").write_bytes(b"ab\xff")
    result = run(tmp_path / "b", "-i", "x")
    assert result.exit_code == 1
    assert "byte 2" in result.output


@pytest.mark.parametrize("arguments", [["list"], ["fetch"], ["path"], ["path", "./no-such-folder"]])
def test_a_model_that_is_not_there_is_named(monkeypatch, arguments):
    monkeypatch.setattr(loading, "_DEMO_DISTRIBUTION", "no-such-distribution")
    result = CliRunner().invoke(app, ["models", *arguments])
    assert result.exit_code == 1
    assert result.output.startswith("error: ")
    assert "not installed" in result.output or "no such folder" in result.output
