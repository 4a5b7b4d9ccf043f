"""The wheel holds what runs and nothing else, and runs on its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [ROOT / "service" / "redraft", ROOT / "tui" / "redraft_tui"]
HEAVY = ("torch", "grpc", "transformers")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from this checkout into a temporary folder."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (built,) = folder.glob("redraft-*.whl")
    with zipfile.ZipFile(built) as archive:
        yield archive


@pytest.fixture(scope="module")
def unpacked(wheel, tmp_path_factory):
    """The wheel's files in a folder."""
    folder = tmp_path_factory.mktemp("unpacked")
    wheel.extractall(folder)
    return folder


def run_from(folder, cwd, *arguments):
    """Run Python with the unpacked wheel before anything that is installed."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    result = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def metadata_of(wheel, name):
    (member,) = (member for member in wheel.namelist() if member.endswith(f".dist-info/{name}"))
    return wheel.read(member).decode()


def test_it_holds_the_packages_and_nothing_else(wheel):
    """No tests, no bench, no protos, no data that is shared beside the checkout."""
    files = {member for member in wheel.namelist() if ".dist-info/" not in member}
    source = {
        path.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == source
    assert {member.split("/")[0] for member in files} == {"redraft", "redraft_tui"}


def test_it_holds_stubs_data_and_licence(wheel):
    stubs = {f"redraft/v1/{name}{end}" for name in ("edit", "edit_service") for end in ENDINGS}
    wanted = stubs | {"redraft/drafting/data/survival.json", "redraft/__main__.py", "redraft_tui/__init__.py"}
    assert wanted <= set(wheel.namelist())
    assert metadata_of(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    assert message_from_string(metadata_of(wheel, "METADATA"))["License-Expression"] == "Apache-2.0"


ENDINGS = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")


def test_it_declares_the_command(wheel, unpacked, tmp_path):
    entries = ConfigParser()
    entries.read_string(metadata_of(wheel, "entry_points.txt"))
    assert dict(entries["console_scripts"]) == {"redraft": "redraft.cli:main"}
    assert run_from(unpacked, tmp_path, "-c", "from redraft.cli import main; print(callable(main))") == "True\n"


HELP = f"""
import runpy, sys
sys.argv = ["redraft", "--help"]
try:
    runpy.run_module("redraft", run_name="__main__", alter_sys=True)
except SystemExit as end:
    print(end.code, [name for name in {HEAVY!r} if name in sys.modules], sys.modules["redraft"].__file__)
"""


def test_help_works_from_the_unpacked_wheel_and_is_light(unpacked, tmp_path):
    assert "Rewrite documents" in run_from(unpacked, tmp_path, "-m", "redraft", "--help")
    last = run_from(unpacked, tmp_path, "-c", HELP).splitlines()[-1]
    assert last == f"0 [] {unpacked / 'redraft' / '__init__.py'}"


def test_the_shipped_prior_is_found_in_the_wheel(unpacked, tmp_path):
    code = (
        "from redraft.drafting.learned import Learned as L; print(L.shipped().survival.survival('copy/8/3/0')[1] > 0.9)"
    )
    assert run_from(unpacked, tmp_path, "-c", code) == "True\n"
