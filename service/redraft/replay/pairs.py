"""Reads (before, after) pairs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pair:
    """A real edit: the text before and after, and what kind of text it is."""

    id: str
    before: str
    after: str
    kind: str = ""
    instruction: str = ""
    source: str = ""  # where it comes from: repository@revision:path


def read_pairs(path: Path) -> Iterator[Pair]:
    """Pairs of a JSON-lines file. Raises ValueError naming the line that is not one."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield _pair(line, f"{path}:{number}")


def _pair(line: str, where: str) -> Pair:
    try:
        value = json.loads(line)
        return Pair(
            str(value.get("id", where)),
            value["before"],
            value["after"],
            str(value.get("kind", "")),
            str(value.get("instruction", "")),
            str(value.get("source", "")),
        )
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{where}: not a pair of before and after ({error!r})") from error
