"""Composes invented e-mails and says where in them which fact stands."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from training.edits.base import is_evaluation
from training.edits.facts import FACTS
from training.edits.letters import BRITISH, GENERAL, GREETINGS, SIGN_OFFS, TOPICS

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Email:
    """An e-mail in its parts. facts: kind -> values that stand in it."""

    key: str
    greeting: str
    body: tuple[str, ...]
    sign_off: str
    facts: dict[str, list[str]]

    @property
    def text(self) -> str:
        return joined(self.greeting, self.body, self.sign_off)


def joined(greeting: str, body: tuple[str, ...], sign_off: str) -> str:
    """The parts with blank lines between them; empty parts are left out."""
    return "\n\n".join(part for part in (greeting, *body, sign_off) if part)


def topics(evaluation: bool) -> list[str]:
    """The topics of one side of the split."""
    return [topic for topic in TOPICS if is_evaluation(f"email:{topic}") == evaluation]


def compose(dice: random.Random, evaluation: bool, length: int = 600) -> Email:
    """An e-mail of about `length` characters on one topic, or several where it is long."""
    facts: dict[str, list[str]] = {}
    first, *more = dice.sample(topics(evaluation), k=min(len(topics(evaluation)), max(1, length // 700)))
    sentences = [line for topic in (first, *more) for line in _some(dice, TOPICS[topic], length)]
    for _ in range(min(len(GENERAL), max(1, length // 250))):
        sentences.insert(dice.randrange(len(sentences) + 1), dice.choice(GENERAL + BRITISH[:: dice.randint(1, 9)]))
    body = tuple(_filled(dice, part, facts) for part in _in_paragraphs(dice, list(dict.fromkeys(sentences))))
    greeting = _filled(dice, dice.choice(GREETINGS), facts) if dice.random() < 0.9 else ""
    name = FACTS[dice.choice(("first", "name"))](dice)
    sign_off = f"{dice.choice(SIGN_OFFS)}\n{name}" if dice.random() < 0.9 else ""
    facts.setdefault("signer", [name] if sign_off else [])
    return Email(f"email:{first}", greeting, body, sign_off, facts)


def _some(dice: random.Random, lines: tuple[str, ...], length: int) -> list[str]:
    count = min(len(lines), max(1, length // 110))
    chosen = set(dice.sample(range(len(lines)), count))
    return [line for index, line in enumerate(lines) if index in chosen]


def _in_paragraphs(dice: random.Random, sentences: list[str]) -> list[str]:
    found, position = [], 0
    while position < len(sentences):
        count = dice.randint(1, 4)
        found.append(" ".join(sentences[position : position + count]))
        position += count
    return found


def _filled(dice: random.Random, text: str, facts: dict[str, list[str]]) -> str:
    """The text with new facts in its slots; a name, company or project may come again."""

    def value(match: re.Match[str]) -> str:
        kind = match[1]
        known = facts.setdefault(kind, [])
        if not known or (kind not in ("name", "company", "project", "product", "city") or dice.random() < 0.3):
            known.append(FACTS[kind](dice))
        return known[-1]

    return _SLOT.sub(value, text)
