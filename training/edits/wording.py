"""Says one instruction in many ways."""

from __future__ import annotations

import random
from collections.abc import Sequence


def listed(text: str, separator: str | None = None) -> list[str]:
    """The parts of a text between the separators; by default its words."""
    return text.split(separator)


_QUOTES = (('"', '"'), ('"', '"'), ('"', '"'), ("'", "'"), ("“", "”"), ("`", "`"))
_ONLY = (
    "Change nothing else.",
    "Keep everything else as it is.",
    "Leave the rest alone.",
    "Do not touch anything else.",
    "Everything else stays the same.",
)
_NOT_VERBS = frozenset(listed("do the no it we one only in everything uppercase now"))
_LEAD = ("Please", "Please", "Could you please", "Can you", "I want you to", "You need to", "Now")


def quoted(dice: random.Random, text: str, bare: float = 0.0) -> str:
    """The text in one of the usual quotation marks; with probability `bare` in none."""
    if dice.random() < bare:
        return text
    left, right = dice.choice([pair for pair in _QUOTES if pair[0] not in text and pair[1] not in text] or [("", "")])
    return f"{left}{text}{right}"


def say(dice: random.Random, templates: Sequence[str], **slots: str) -> str:
    """One of the templates, which begin with a verb, as different people would type it.

    Braces are for `slots`; without any they are text.
    """
    chosen = dice.choice(templates)
    text = chosen.format(**slots) if slots else chosen
    is_request = chosen[:1] != "{" and text.split()[0].lower().strip(",:") not in _NOT_VERBS
    if is_request and dice.random() < 0.16:
        lead = dice.choice(_LEAD)
        question = lead.startswith("C")
        text = f"{lead} {text[:1].lower()}{text[1:].rstrip('.')}{'?' if question else '.'}"
    elif is_request and dice.random() < 0.15:
        text = text[:1].lower() + text[1:]
    if dice.random() < 0.35 and text.endswith("."):
        text = text[:-1]
    elif dice.random() < 0.12:
        text = f"{text.rstrip('.')}{'' if text.endswith('?') else '.'} {dice.choice(_ONLY)}"
    return text
