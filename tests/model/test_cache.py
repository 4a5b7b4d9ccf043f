"""Folders in the cache appear whole or not at all."""

from __future__ import annotations

import threading

import pytest
from redraft.model.cache import cached_folder, is_intact, read_json, write_json


def build(folder):
    (folder / "a").write_text("one")
    (folder / "sub").mkdir()
    (folder / "sub" / "b").write_text("two")


def test_a_folder_is_built_once(tmp_path):
    built = []
    for _ in range(2):
        folder = cached_folder("models/x", lambda f: (built.append(1), build(f)), tmp_path)
    assert built == [1]
    assert is_intact(folder)


@pytest.mark.parametrize("damage", ["truncate", "remove", "manifest"])
def test_a_damaged_folder_is_rebuilt(tmp_path, damage):
    folder = cached_folder("x", build, tmp_path)
    if damage == "truncate":
        (folder / "a").write_text("")
    elif damage == "remove":
        (folder / "sub" / "b").unlink()
    else:
        (folder / "redraft-manifest.json").write_text("[")
    assert not is_intact(folder)
    assert is_intact(cached_folder("x", build, tmp_path))


def test_a_failed_or_killed_build_leaves_nothing(tmp_path):
    def fail(folder):
        build(folder)
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        cached_folder("x", fail, tmp_path)
    (tmp_path / "x.killed").mkdir()
    (tmp_path / "x.killed" / "half").touch()
    (tmp_path / "xy").mkdir()
    cached_folder("x", build, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["x", "xy"]


def test_of_several_at_once_one_builds(tmp_path):
    built = []
    threads = [
        threading.Thread(target=cached_folder, args=("x", lambda f: (built.append(1), build(f)), tmp_path))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == [1]


def test_json_that_is_damaged_is_like_none(tmp_path):
    write_json(tmp_path / "d" / "v.json", {"a": 1})
    assert read_json(tmp_path / "d" / "v.json") == {"a": 1}
    (tmp_path / "d" / "v.json").write_text("{")
    assert read_json(tmp_path / "d" / "v.json") is None
    assert read_json(tmp_path / "none.json") is None
