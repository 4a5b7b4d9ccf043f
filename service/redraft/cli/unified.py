"""Unified diffs out of rapidfuzz's opcodes over lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, groupby

from rapidfuzz.distance import Indel, Opcode

CONTEXT = 3
"""Lines shown around a change."""


_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def lines_of(text: str) -> list[str]:
    """Lines with their ends, cut at line feeds alone, as editors and `patch` count them."""
    return _LINE.findall(text)


def unified(before: str, after: str, name: str) -> str:
    """The diff as `patch` reads it; empty if nothing changed."""
    a, b = lines_of(before), lines_of(after)
    hunks = [_hunk(group, a, b) for group in _groups(list(Indel.opcodes(a, b)))]
    header = [f"--- {name}\n", f"+++ {name}\n"] if hunks else []
    return "".join(chain(header, *hunks))


def _groups(opcodes: list[Opcode]) -> Iterator[list[Opcode]]:
    """Changes that share their context belong to one hunk."""
    group: list[Opcode] = []
    for op in opcodes:
        if op.tag == "equal" and op.src_end - op.src_start > 2 * CONTEXT and group:
            yield group
            group = []
        elif op.tag != "equal" or group:
            group.append(op)
    while group and group[-1].tag == "equal":
        group.pop()
    if group:
        yield group


def _hunk(group: list[Opcode], a: list[str], b: list[str]) -> list[str]:
    first, last = group[0], group[-1]
    lead = min(CONTEXT, first.src_start)
    trail = min(CONTEXT, len(a) - last.src_end)
    sizes = last.src_end - first.src_start + lead + trail, last.dest_end - first.dest_start + lead + trail
    old, new = _range(first.src_start - lead, sizes[0]), _range(first.dest_start - lead, sizes[1])
    lines = [f"@@ -{old} +{new} @@\n", *_marked(" ", a[first.src_start - lead : first.src_start])]
    for equal, ops in groupby(group, key=lambda op: op.tag == "equal"):
        run = list(ops)
        old_lines = a[run[0].src_start : run[-1].src_end]
        if equal:
            lines += _marked(" ", old_lines)
        else:  # what goes stands before what comes
            lines += _marked("-", old_lines)
            lines += _marked("+", b[run[0].dest_start : run[-1].dest_end])
    return [*lines, *_marked(" ", a[last.src_end : last.src_end + trail])]


def _range(start: int, size: int) -> str:
    """A hunk's position: lines count from 1, an empty range names the line before it."""
    return f"{start + 1 if size else start},{size}"


def _marked(mark: str, lines: list[str]) -> list[str]:
    ends = ("" if line.endswith("\n") else "\n\\ No newline at end of file\n" for line in lines)
    return [f"{mark}{line}{end}" for line, end in zip(lines, ends, strict=True)]
