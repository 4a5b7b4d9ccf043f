"""Unified diffs are what `patch` makes the new text from."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redraft.cli.unified import unified

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\r\n", "\n"]), min_size=1, max_size=40).map("".join)


def test_a_small_diff():
    before = "".join(f"{n}\n" for n in range(10))
    assert unified(before, before.replace("4\n", "four\n"), "f") == (
        "--- f\n+++ f\n@@ -2,7 +2,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n"
    )
    assert unified("x", "x", "f") == ""


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@settings(max_examples=60, deadline=None)
@given(lines, lines, st.sampled_from(["", "end"]))
def test_patch_applies_it(tmp_path_factory, before, after, end):
    folder = tmp_path_factory.mktemp("p")
    (folder / "f").write_bytes((before + end).encode())
    diff = unified(before + end, after + end, "f").encode()
    if diff:
        subprocess.run(["patch", "--binary", "-s", "f"], input=diff, cwd=folder, check=True)
    assert (folder / "f").read_bytes() == (after + end).encode()
