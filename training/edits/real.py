"""Hunks of real edits, with instructions that say what was changed, so that they can be followed."""

from __future__ import annotations

import random
import re

from rapidfuzz.distance import Indel

from training.edits.base import Change
from training.edits.sources import RealEdit
from training.edits.wording import quoted, say

_LONGEST = 240  # characters of a line that an instruction quotes
_REPLACE = ("Replace {a} with {b}.", "Change {a} to {b}.", "Replace {a} by {b}.", "It should say {b} instead of {a}.")
_LINE = ("Replace the line {a} with {b}.", "Change the line {a} to {b}.", "Rewrite the line {a} as {b}.")
_DELETE = ("Delete the line {a}.", "Remove the line {a}.", "Take out the line {a}.", "Drop {a}.")
_INSERT = ("After the line {a}, add {b}.", "Add the line {b} after {a}.", "Insert {b} below the line {a}.")


def real_hunk(dice: random.Random, edit: RealEdit, length: int) -> Change | None:
    """One line that was changed, deleted or added, in about `length` characters of the lines around it."""
    old, new = edit.before.split("\n"), edit.after.split("\n")
    hunks = [op for op in _hunks(old, new) if op[1] - op[0] <= 1 and op[3] - op[2] <= 1]
    if not hunks:
        return None
    start, end, new_start, new_end = dice.choice(hunks)
    first, last = _window(dice, old, start, end, length)
    document = "\n".join(old[first:last])
    wanted = "\n".join([*old[first:start], *new[new_start:new_end], *old[end:last]])
    told = _told(dice, document, old[first:last], (start - first, end - first), new[new_start:new_end])
    return Change(document, told, wanted) if told and wanted.strip() else None


def _hunks(old: list[str], new: list[str]) -> list[tuple[int, int, int, int]]:
    """Changed runs of lines as (start, end) before and after; adjoining deletion and insertion are one."""
    found: list[tuple[int, int, int, int]] = []
    for op in Indel.opcodes(old, new):
        if op.tag == "equal":
            continue
        if found and found[-1][1] == op.src_start and found[-1][3] == op.dest_start:
            found[-1] = (found[-1][0], op.src_end, found[-1][2], op.dest_end)
        else:
            found.append((op.src_start, op.src_end, op.dest_start, op.dest_end))
    return found


def _window(dice: random.Random, lines: list[str], start: int, end: int, length: int) -> tuple[int, int]:
    """Lines around the hunk until there are about `length` characters."""
    size = sum(len(line) + 1 for line in lines[start:end])
    while size < length and (start > 0 or end < len(lines)):
        if start > 0 and (end >= len(lines) or dice.random() < 0.5):
            start -= 1
            size += len(lines[start]) + 1
        else:
            size += len(lines[end]) + 1
            end += 1
    return start, end


def _told(dice: random.Random, document: str, lines: list[str], hunk: tuple[int, int], new: list[str]) -> str | None:
    start, end = hunk
    old = lines[start:end]
    if old and new:
        return _replacement(dice, document, old[0], new[0])
    if old:
        usable = old[0].strip() and lines.count(old[0]) == 1 and len(old[0]) < _LONGEST
        return say(dice, _DELETE, a=quoted(dice, old[0].strip())) if usable else None
    above = lines[start - 1] if start else ""
    if not new[0].strip() or not above.strip() or lines.count(above) > 1 or len(above) + len(new[0]) > 2 * _LONGEST:
        return None
    return say(
        dice, _INSERT, a=quoted(dice, above.strip()), b=quoted(dice, new[0] if new[0][0].isspace() else new[0].strip())
    )


def _replacement(dice: random.Random, document: str, old: str, new: str) -> str | None:
    """The words that differ where they are one run and occur once, else the whole line."""
    a, b = _differing(old, new)
    if a and b and document.count(a) == 1 and len(a) + len(b) < _LONGEST:
        return say(dice, _REPLACE, a=quoted(dice, a), b=quoted(dice, b))
    short = old.strip() and new.strip() and len(old) < _LONGEST and len(new) < _LONGEST and document.count(old) == 1
    same_margin = old[: len(old) - len(old.lstrip())] == new[: len(new) - len(new.lstrip())]
    return say(dice, _LINE, a=quoted(dice, old.strip()), b=quoted(dice, new.strip())) if short and same_margin else None


def _differing(old: str, new: str) -> tuple[str, str]:
    """What is left of both lines without the words that they begin and end with alike."""
    a, b = re.findall(r"\s+|\S+", old), re.findall(r"\s+|\S+", new)
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return "".join(a), "".join(b)
