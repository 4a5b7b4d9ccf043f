"""Proofreading: texts with errors, at several densities, and texts that need nothing."""

from __future__ import annotations

import random

from training.edits.base import Change
from training.edits.errors import spoil
from training.edits.wording import say

_ALL = ("spelling", "grammar", "punctuation")
_SAYINGS: dict[tuple[str, ...], tuple[str, ...]] = {
    _ALL: (
        "Proofread this text.", "Proofread the document.", "Correct all mistakes.",
        "Correct the mistakes in this text.",
        "Fix the errors.", "Fix spelling and grammar.", "Correct spelling, grammar and punctuation.", "Proofread.",
        "Fix any typos and grammatical mistakes.", "Check the text for errors and correct them.", "Fix all the errors.",
        "Correct the language mistakes without changing the style.", "Clean up the typos, grammar and punctuation.",
        "Fix mistakes.", "Copy-edit for errors only.", "Correct the English.", "Check spelling and grammar.",
        "Proofread it but keep my wording.", "Find and fix every mistake.", "Repair typos, wrong words and commas.",
        "Correct whatever is wrong, but rewrite nothing.", "Make the grammar and spelling correct.",
        "Correct the text.", "Remove all spelling and grammar errors.", "Fix typos, grammar and capitalization.",
    ),
    ("spelling",): (
        "Correct the spelling.", "Fix the spelling mistakes.", "Fix the typos.", "Fix typos only.", "Spell-check this.",
        "Correct the spelling errors and doubled words.", "Correct typing mistakes.", "Fix all misspelled words.",
        "Run a spell check and correct the text.", "Correct misspellings.", "Fix spelling.", "Correct the typos.",
    ),
    ("spelling", "grammar"): (
        "Fix the grammar and the spelling.", "Correct spelling and grammar.", "Fix typos and grammar.",
        "Correct the grammar and any misspelled words.",
    ),
    ("grammar",): (
        "Correct the grammar.", "Fix the grammar mistakes.", "Fix grammar errors.", "Check the grammar and correct it.",
        "Fix wrong verb forms, articles and mixed-up words.", "Make it grammatically correct.",
    ),
    ("punctuation",): (
        "Correct the punctuation.", "Fix punctuation and capitals.", "Fix the capitalization and the punctuation.",
        "Fix missing or doubled punctuation marks.", "Correct capital letters and punctuation.",
    ),
}  # fmt: skip
_DENSITIES = (0.01, 0.02, 0.03, 0.04, 0.06)


def proofread(dice: random.Random, text: str) -> Change | None:
    """Errors in up to 6% of the words."""
    return _spoilt(dice, text, dice.choice(_DENSITIES))


def proofread_dense(dice: random.Random, text: str) -> Change | None:
    """Errors in 8 to 15% of the words."""
    return _spoilt(dice, text, dice.uniform(0.08, 0.15))


def clean(dice: random.Random, text: str) -> Change:
    """Nothing to correct."""
    return Change(text, say(dice, _SAYINGS[_groups(dice)]), text)


def _groups(dice: random.Random) -> tuple[str, ...]:
    return dice.choices(list(_SAYINGS), (6, 2, 1, 1, 1))[0]


def _spoilt(dice: random.Random, text: str, density: float) -> Change | None:
    groups = _groups(dice)
    wrong = spoil(dice, text, density, groups)
    if wrong is None or wrong == text:
        return None
    return Change(wrong, say(dice, _SAYINGS[groups]), text)
