"""Defaults, file, environment, flags, in that order; unknown keys get a suggestion."""

from __future__ import annotations

import pytest
from redraft.config import ConfigError, load_settings, print_settings


def test_the_order_of_sources(tmp_path, monkeypatch):
    file = tmp_path / "r.toml"
    file.write_text('[serve]\nlisten = "127.0.0.1:1"\ngrace = 5\n[engine]\nmax_running = 3\nmax_waiting = 4\n')
    monkeypatch.setenv("REDRAFT_ENGINE__MAX_RUNNING", "6")
    monkeypatch.setenv("REDRAFT_SERVER", "127.0.0.1:9")  # the client's variable is none of the server's options
    settings = load_settings(file, {"serve": {"listen": "127.0.0.1:2", "grace": None}})
    assert (settings.serve.listen, settings.serve.grace) == ("127.0.0.1:2", 5)
    assert (settings.engine.max_running, settings.engine.max_waiting) == (6, 4)
    assert settings.model.name == "demo"


def test_what_is_printed_can_be_read(tmp_path):
    file = tmp_path / "r.toml"
    settings = load_settings(None, {"model": {"name": "x", "threads": 2}, "serve": {"socket": tmp_path / "s"}})
    file.write_text(print_settings(settings))
    assert load_settings(file) == settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[engine]\nmax_runing = 3\n", "did you mean engine.max_running"),
        ("[sevre]\nlisten = 'x'\n", "did you mean serve"),
        ("serve = 3\n", "section"),
        ("[engine]\nmax_running = 0\n", "engine.max_running"),
        ("[model]\ndtype = 'int8'\n", "model.dtype"),
        ("[model\n", "r.toml"),
    ],
)
def test_bad_files_are_named(tmp_path, text, message):
    file = tmp_path / "r.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_settings(file)


def test_a_named_file_has_to_exist(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml"):
        load_settings(tmp_path / "none.toml")
