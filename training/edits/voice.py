"""Contractions, greetings and closings."""

from __future__ import annotations

import random
import re

from training.edits.base import Change
from training.edits.errors import cased
from training.edits.facts import FIRST, LAST
from training.edits.letters import SIGN_OFFS
from training.edits.text import free_matches, substituted
from training.edits.wording import listed, quoted, say

_NEGATED = listed("do does did is are was were has have had would could should must need")
_FULL = {f"{verb} not": f"{verb}n't" for verb in _NEGATED} | {"cannot": "can't", "will not": "won't"}
_FULL |= {f"{who} will": f"{who}'ll" for who in ("I", "you", "we", "they", "he", "she", "it")}
_FULL |= {f"{who} are": f"{who}'re" for who in ("you", "we", "they")} | {"I am": "I'm", "let us": "let's"}
_FULL |= {f"{who} is": f"{who}'s" for who in ("he", "she", "it", "that", "there", "what")}
_FULL |= {f"{who} have": f"{who}'ve" for who in ("I", "you", "we", "they")}
_SHORT = {short.lower(): full for full, short in _FULL.items()}
_HAVE = re.compile(
    r"\b(I|you|we|they) have(?= (?:been|\w+ed|sent|written|had|paid|seen|made|done|found|taken|told)\b)", re.IGNORECASE
)
_CONTRACTABLE = re.compile(
    "|".join(rf"\b{full}(?= [a-z])" for full in _FULL if not full.endswith(" have")), re.IGNORECASE
)
_EXPANDABLE = re.compile(
    "|".join(rf"\b{re.escape(short)}\b" for short in _SHORT).replace("'", "['’]"), re.IGNORECASE
)  # fmt: skip
_EXPAND = (
    "Expand all contractions.", "Write out all contractions.", "Do not use contractions.", "Remove the contractions.",
    "Replace contractions with the full forms.", "Spell out contractions such as don't.", "No contractions, please.",
    "Write the short forms in full.", "Expand the contractions (don't -> do not).",
    "Use full forms instead of contractions.",
)  # fmt: skip
_CONTRACT = (
    "Use contractions.", "Use contractions where possible.", "Contract where you can (do not -> don't).",
    "Write contractions instead of the full forms.", "Use short forms such as don't and it's.",
    "Replace full forms by contractions.", "Make it use contractions.", "Use contracted forms.",
)  # fmt: skip


def expanded(text: str) -> str:
    """The text without contractions."""
    return substituted(_EXPANDABLE, lambda m: cased(m[0][:1] + "x", _SHORT[m[0].lower().replace("’", "'")]), text)


def contracted(text: str) -> str:
    """The text with contractions where another word follows."""
    lower = {full.lower(): short for full, short in _FULL.items()}
    text = substituted(_CONTRACTABLE, lambda m: cased(m[0][:1] + "x", lower[m[0].lower()]), text)
    return substituted(_HAVE, lambda m: f"{m[1]}'ve", text)


def contractions_out(dice: random.Random, text: str) -> Change | None:
    """Contractions written out; a text without any is given some first."""
    short = contracted(text)
    wanted = expanded(short)
    unclear = re.search(r"\b\w+['’]s (?:been|got|had|\w+ed)\b|\b\w+['’]d\b", short)
    return None if unclear or wanted == short else Change(short, say(dice, _EXPAND), wanted)


def contractions_in(dice: random.Random, text: str) -> Change | None:
    """Full forms contracted."""
    wanted = contracted(text)
    return None if wanted == text else Change(text, say(dice, _CONTRACT), wanted)


def no_contractions(dice: random.Random, text: str) -> Change | None:
    """A text without contractions, asked to lose them."""
    return (
        None
        if free_matches(re.compile(r"\w['’](?:t|s|m|re|ve|ll|d)\b"), text)
        else Change(text, say(dice, _EXPAND), text)
    )


_GREETING = re.compile(r"\A(Dear|Hi|Hello|Hey|Good morning) ([^,\n]{2,40}),(?=\n)")
_SIGN_OFF = re.compile(r"\n\n(" + "|".join(re.escape(line) for line in SIGN_OFFS) + r")\n([^\n]+)\s*\Z")
_NEW_GREETINGS = (
    "Dear Mr {last},",
    "Dear Ms {last},",
    "Hi {first},",
    "Dear {first},",
    "Hello {first},",
    "Dear all,",
    "Good evening,",
)


def greeting(dice: random.Random, text: str) -> Change | None:
    """The greeting changed, removed or added."""
    found = _GREETING.search(text)
    new = dice.choice(_NEW_GREETINGS).format(first=dice.choice(FIRST), last=dice.choice(LAST))
    mark = quoted(dice, new)
    if found is None:
        said: tuple[str, ...] = (
            f"Add the greeting {mark}.",
            f"Begin with {mark}.",
            f"Put {mark} at the top.",
            f"Add {mark} at the beginning.",
        )
        return Change(text, say(dice, said), f"{new}\n\n{text}")
    if dice.random() < 0.2:
        said = (
            "Remove the greeting.",
            "Delete the salutation.",
            "Take out the greeting.",
            "Leave out the greeting line.",
        )
        return Change(text, say(dice, said), text[found.end() :].lstrip("\n"))
    said = (
        f"Change the greeting to {mark}.", f"Use the greeting {mark}.", f"Replace the greeting with {mark}.",
        f"Greet with {mark} instead.", f"Make the salutation {mark}.", f"Start the e-mail with {mark} instead.",
    )  # fmt: skip
    return Change(text, say(dice, said), new + text[found.end() :])


def sign_off(dice: random.Random, text: str) -> Change | None:
    """The closing changed, removed or added, or its name changed."""
    found, line, name = _SIGN_OFF.search(text), dice.choice(SIGN_OFFS), dice.choice(FIRST)
    if found is None:
        mark = f"{quoted(dice, line)} and the name {name}"
        said: tuple[str, ...] = (
            f"Add the closing {mark}.",
            f"End with {mark}.",
            f"Sign off with {mark}.",
            f"Add a sign-off: {mark}.",
        )
        return Change(text, say(dice, said), f"{text.rstrip()}\n\n{line}\n{name}")
    kind = dice.random()
    if kind < 0.25:
        said = ("Remove the sign-off.", "Delete the closing and the name.", "Take out the sign-off with the name.")
        return Change(text, say(dice, said), text[: found.start()])
    if kind < 0.5:
        said = (f"Sign it as {name}.", f"Change the name at the end to {name}.", f"It should be signed by {name}.")
        return Change(text, say(dice, said), text[: found.start(2)] + name + text[found.end(2) :])
    mark = quoted(dice, line)
    said = (
        f"Change the closing to {mark}.",
        f"End with {mark} instead.",
        f"Use {mark} as the sign-off.",
        f"Sign off with {mark}.",
    )
    return Change(text, say(dice, said), text[: found.start(1)] + line + text[found.end(1) :])
