"""The committed stubs are what the contract generates, and the contract keeps to its rules."""

import importlib.resources
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import redraft.v1
from grpc_tools import protoc

ROOT = Path(__file__).parents[2]
PROTO = ROOT / "proto"


def test_the_stubs_are_current(tmp_path):
    sources = sorted(str(path) for path in PROTO.glob("redraft/v1/*.proto"))
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    arguments = [f"--{kind}={tmp_path}" for kind in ("python_out", "pyi_out", "grpc_python_out")]
    assert protoc.main(["protoc", f"-I{PROTO}", f"-I{well_known}", *arguments, *sources]) == 0
    committed = Path(redraft.v1.__file__).parent
    fresh = {path.name: path.read_text() for path in (tmp_path / "redraft" / "v1").iterdir()}
    kept = {
        path.name: path.read_text()
        for path in committed.iterdir()
        if path.suffix in (".py", ".pyi") and path.name != "__init__.py"
    }
    assert sorted(fresh) == sorted(kept)
    for name, text in fresh.items():
        assert kept[name] == text, f"{name} is out of date: run `make proto`"


def test_the_contract_is_lint_clean():
    buf = shutil.which("buf", path=str(Path(sys.executable).parent)) or shutil.which("buf")
    if buf is None:
        pytest.skip("buf is not installed")
    done = subprocess.run([buf, "lint"], cwd=PROTO, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
