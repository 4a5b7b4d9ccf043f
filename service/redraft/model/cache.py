"""The user's cache directory: converted models and measured cost curves. Atomic, and safe with two processes."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from redraft.atomic import replace_file

_MANIFEST = "redraft-manifest.json"


def cache_directory() -> Path:
    """`REDRAFT_CACHE_DIR`, else the platform's cache folder for redraft."""
    override = os.environ.get("REDRAFT_CACHE_DIR")
    return Path(override).expanduser() if override else user_cache_path("redraft")


def cached_folder(name: str, build: Callable[[Path], None], root: Path | None = None) -> Path:
    """The folder `name` in the cache, built by `build(empty folder)` if it is missing or damaged.

    A folder appears by one rename, with a manifest of its files' sizes; whatever does not match its manifest is
    rebuilt. Of several processes one builds and the others wait.
    """
    root = root or cache_directory()
    folder = root / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(folder.name + ".lock")):
        if not is_intact(folder):
            # Under the lock nobody builds: what lies beside is left from a build that was killed.
            for leftover in [folder, *folder.parent.glob(f"{folder.name}.*/")]:
                shutil.rmtree(leftover, ignore_errors=True)
            _build_beside(folder, build)
    return folder


def is_intact(folder: Path) -> bool:
    """Whether the folder holds exactly the files, with the sizes, that its manifest lists."""
    try:
        listed = json.loads((folder / _MANIFEST).read_text())
        return bool(listed) and all((folder / name).stat().st_size == size for name, size in listed.items())
    except (OSError, ValueError, AttributeError):
        return False


def _build_beside(folder: Path, build: Callable[[Path], None]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix=folder.name + ".", dir=folder.parent))
    try:
        build(scratch)
        sizes = {str(p.relative_to(scratch)): p.stat().st_size for p in sorted(scratch.rglob("*")) if p.is_file()}
        (scratch / _MANIFEST).write_text(json.dumps(sizes, indent=1))
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def read_json(path: Path) -> object | None:
    """The JSON value in `path`, or None if it is missing or damaged."""
    try:
        value: object = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return value


def write_json(path: Path, value: object) -> None:
    """Replace `path` by one rename; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, json.dumps(value).encode())
