"""The stream of examples: the n-th depends on the seed, n and the sources alone, so a run can go on anywhere."""

from __future__ import annotations

import random
from collections import defaultdict

from training.edits.base import UNTOUCHED, Change, Document, Edit
from training.edits.emails import compose
from training.edits.families import CODE, CONFIG, FAMILIES, MAIL, REAL, REAL_TASK, REAL_WEIGHT, Family
from training.edits.real import real_hunk
from training.edits.sources import RealEdit, Sources
from training.edits.text import excerpt, patched, prose_paragraphs

_LENGTHS = ((20, 80, 0.30), (80, 200, 0.33), (200, 400, 0.25), (400, 800, 0.08), (800, 1200, 0.04))
"""Tokens from and to, and the share of the examples."""
_CHARACTERS = {CODE: 3.2, CONFIG: 2.8}
"""Characters of a token; 4.2 in prose."""
_MOST_TRIES = 400
_LONGEST = 8000  # characters
_SYNTHETIC_MAIL = 0.75  # of the e-mails; the others are real templates


class Generator:
    """Makes examples out of one side's sources."""

    def __init__(self, sources: Sources, seed: int, evaluation: bool, longest: int = 1200) -> None:
        """longest: of documents, in tokens, roughly. Raises ValueError without any sources."""
        if not sources.documents:
            raise ValueError("no source documents")
        self._seed, self._evaluation, self._longest = seed, evaluation, longest
        self._documents: dict[str, list[Document]] = defaultdict(list)
        for document in sources.documents:
            self._documents[document.kind].append(document)
        self._real = sources.real
        self._families: list[Family | None] = [*(family for family in FAMILIES if self._has(family)), None]
        weights = [family.weight if family else REAL_WEIGHT * bool(self._real) for family in self._families]
        self._weights = weights

    def edit(self, index: int) -> Edit:
        """The example number `index`, from 0. Raises RuntimeError if the sources offer none, which is a defect."""
        dice = random.Random(f"{self._seed}:{self._evaluation}:{index}")
        family = dice.choices(self._families, self._weights)[0]
        return self._until_made(dice, family)

    def edit_of(self, task: str, index: int) -> Edit:
        """The example number `index` of one task."""
        dice = random.Random(f"{self._seed}:{self._evaluation}:{task}:{index}")
        families = [family for family in self._families if (family.task if family else REAL_TASK) == task]
        return self._until_made(dice, dice.choice(families))

    def _has(self, family: Family) -> bool:
        return any(kind in (MAIL, CONFIG) or self._documents.get(kind) for kind in family.kinds)

    def _until_made(self, dice: random.Random, family: Family | None) -> Edit:
        task = family.task if family else REAL_TASK
        for _ in range(_MOST_TRIES):
            made = self._real_one(dice) if family is None else self._one(dice, family)
            if made is not None and _is_usable(task, made[1]):
                key, change = made
                change = _framed(dice, change)
                return Edit(task, key, change.document, change.instruction, change.wanted)
        raise RuntimeError(f"no example of {task} in {_MOST_TRIES} tries")

    def _one(self, dice: random.Random, family: Family) -> tuple[str, Change] | None:
        kind = dice.choice([kind for kind in family.kinds if kind in (MAIL, CONFIG) or self._documents.get(kind)])
        key, text = self._text(dice, kind, self._length(dice, kind))
        change = family.make(dice, text)
        return None if change is None else (key, change)

    def _text(self, dice: random.Random, kind: str, length: int) -> tuple[str, str]:
        """A source's key and a part of it of about `length` characters."""
        known = self._documents.get(kind, [])
        if kind == MAIL and (not known or dice.random() < _SYNTHETIC_MAIL):
            mail = compose(dice, self._evaluation, length)
            return mail.key, mail.text
        if kind == CONFIG:  # invented from the dice; the text only says how long
            return f"settings:{'evaluation' if self._evaluation else 'train'}", " " * length
        document = dice.choice(known)
        text = excerpt(dice, document.text, kind, length)
        return document.key, _unwrapped(text) if kind not in (CODE,) and dice.random() < 0.5 else text

    def _real_one(self, dice: random.Random) -> tuple[str, Change] | None:
        edit: RealEdit = dice.choice(self._real)
        change = real_hunk(dice, edit, self._length(dice, REAL))
        return None if change is None else (edit.key, change)

    def _length(self, dice: random.Random, kind: str) -> int:
        """Characters."""
        low, high, _ = dice.choices(_LENGTHS, [share for *_, share in _LENGTHS])[0]
        return int(min(self._longest, dice.uniform(low, high)) * _CHARACTERS.get(kind, 4.2))


def _is_usable(task: str, change: Change) -> bool:
    """Whether there is something to do, or nothing where nothing should be, in a text that fits."""
    texts = (change.document, change.instruction, change.wanted)
    same = change.document.rstrip("\n") == change.wanted.rstrip("\n")
    return (
        all(text.strip() and "\r" not in text for text in texts)
        and same == (task == UNTOUCHED)
        and len(texts[0]) < _LONGEST
    )


def _framed(dice: random.Random, change: Change) -> Change:
    """Some documents end with a line break, as files do."""
    document, wanted = change.document.rstrip("\n"), change.wanted.rstrip("\n")
    end = "\n" if dice.random() < 0.3 else ""
    return Change(document + end, change.instruction, wanted + end)


def _unwrapped(text: str) -> str:
    """Paragraphs of prose on one line each."""
    return patched(text, [(start, end, " ".join(text[start:end].split())) for start, end in prose_paragraphs(text)])
