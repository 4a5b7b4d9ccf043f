"""Folders in the cache appear whole or not at all."""

from __future__ import annotations

import subprocess
import sys
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


BUILDER = """
import pathlib, sys, time
from redraft.model.cache import cached_folder, is_intact
root, me, other = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]

def wait_for(path):
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.001)

def build(folder):
    with (root / "built").open("a") as log:
        print(me, file=log)
    (folder / "a").write_text("one")
    time.sleep(0.5)  # the other process comes while this folder is half done
    (folder / "b").write_text("two")

(root / me).touch()
wait_for(root / other)
folder = cached_folder("models/x", build, root / "cache")
print(is_intact(folder), (folder / "a").read_text(), (folder / "b").read_text())
"""


def test_of_two_processes_at_once_one_builds(tmp_path):
    """A lock that only threads saw would let both build."""
    commands = [[sys.executable, "-c", BUILDER, str(tmp_path), *names] for names in (("p", "q"), ("q", "p"))]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for command in commands]
    results = [process.communicate(timeout=60) for process in running]
    assert [(out, err) for out, err in results] == [(b"True one two\n", b"")] * 2
    assert (tmp_path / "built").read_text().split() in (["p"], ["q"])
    assert [path.name for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()] == ["x"]


def test_json_that_is_damaged_is_like_none(tmp_path):
    write_json(tmp_path / "d" / "v.json", {"a": 1})
    assert read_json(tmp_path / "d" / "v.json") == {"a": 1}
    (tmp_path / "d" / "v.json").write_text("{")
    assert read_json(tmp_path / "d" / "v.json") is None
    assert read_json(tmp_path / "none.json") is None
