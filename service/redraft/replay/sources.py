"""A person's own pairs: files that two folders both have, and the successive versions of a file in git."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redraft.replay.pairs import Pair

_LOG = ("--follow", "--first-parent", "--diff-merges=first-parent", "--raw", "--no-abbrev", "--format=%H")
_PLAIN = ("--no-color", "--no-show-signature")  # whatever the person's configuration says


@dataclass(frozen=True, slots=True)
class OwnPairs:
    """Pairs, and how many files or versions gave none: because nothing changed, or because they are no UTF-8 text."""

    pairs: tuple[Pair, ...]
    unchanged: int
    unreadable: int


def folder_pairs(before: Path, after: Path) -> OwnPairs:
    """Files at the same relative path in both folders, by path. Raises ValueError if there is none, OSError."""
    for folder in (before, after):
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder")
    names = sorted(path.relative_to(before) for path in before.rglob("*") if path.is_file())
    common = [name for name in names if ".git" not in name.parts and (after / name).is_file()]
    if not common:
        raise ValueError(f"{before} and {after} have no file at the same relative path")
    return _own(
        (name.as_posix(), (before / name).read_bytes(), (after / name).read_bytes(), name.as_posix()) for name in common
    )


def git_pairs(repository: Path, file: str, revisions: str = "HEAD") -> OwnPairs:
    """Each version of a file with the one before it, the oldest first; renames are followed, merges count as one step.

    file: its path from the folder `repository` on, which may lie inside a repository; revisions: what `git log` takes,
    A..B or one revision. Raises ValueError with git's own reason, or if the file was never changed there.
    """
    if revisions.startswith("-"):
        raise ValueError(f"{revisions!r} names no revisions")
    log = _git(repository, "log", *_LOG, *_PLAIN, revisions, "--", file).decode("utf-8", "replace")
    changes = list(_changes(log))[::-1]
    if not changes:
        raise ValueError(f"{file} has no two versions in {revisions} of {repository}")
    return _own((f"{commit[:12]}:{file}", _blob(repository, old), _blob(repository, new), file)
                for commit, old, new in changes)  # fmt: skip


def _changes(log: str) -> Iterator[tuple[str, str, str]]:
    """(commit, blob before, blob after) of every change that is neither the file's first nor its last."""
    commit = ""
    for line in log.splitlines():
        if line.startswith(":"):
            old, new = line.split()[2:4]
            if old.strip("0") and new.strip("0"):  # all zeros: there is no file
                yield commit, old, new
        elif line:
            commit = line


def _blob(repository: Path, blob: str) -> bytes:
    return _git(repository, "cat-file", "blob", blob)


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=True)
    except FileNotFoundError:
        raise ValueError("git is not installed, or not on the path") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip() or f"exit code {error.returncode}"
        raise ValueError(f"git {arguments[0]} in {repository}: {said}") from None
    return done.stdout


def _own(found: Iterator[tuple[str, bytes, bytes, str]]) -> OwnPairs:
    """found: (id, before, after, path); the path's ending is the kind."""
    pairs: list[Pair] = []
    unchanged = unreadable = 0
    for identity, before, after, path in found:
        texts = _text(before), _text(after)
        if before == after:
            unchanged += 1
        elif texts[0] is None or texts[1] is None:
            unreadable += 1
        else:
            pairs.append(Pair(identity, texts[0], texts[1], Path(path).suffix.lstrip(".")))
    return OwnPairs(tuple(pairs), unchanged, unreadable)


def _text(content: bytes) -> str | None:
    """The text of a file, or None if it is none: not UTF-8, or with a zero byte in it."""
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None
