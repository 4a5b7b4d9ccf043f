"""Replacing a word, a fact or an identifier, everywhere or only where the instruction says."""

from __future__ import annotations

import random
import re
from collections import Counter
from keyword import kwlist

from training.edits.base import Change
from training.edits.errors import cased
from training.edits.facts import COMPANIES, DAYS, FIRST, LAST, MONTHS, other_than
from training.edits.text import Span, paragraphs, patched, sentences, whole_word, words
from training.edits.wording import listed, quoted, say

_SWAP = listed(
    "plan report table answer window garden letter message system method result example value number person "
    "reason moment picture market office project problem change question version minute customer service "
    "list record signal account market friend tool engine bridge paper river target partner member budget "
    "route sample panel storage morning summer small large quick simple early recent useful common single "
    "final strong cheap modern local"
)
_EVERYWHERE = (
    "Replace {a} with {b}.", "Replace {a} by {b}.", "Replace every {a} with {b}.", "Change {a} to {b} everywhere.",
    "Replace all occurrences of {a} with {b}.", "Use {b} instead of {a}.", "Substitute {b} for {a}.",
    "Change all {a} to {b}.", "Write {b} wherever it says {a}.", "Swap {a} for {b} throughout.", "Replace {a} -> {b}.",
    "In the whole text, replace {a} with {b}.", "Change the word {a} to {b}.",
    "Replace the word {a} with {b} everywhere.",
    "It should say {b}, not {a}.",
)  # fmt: skip
_NAMED: dict[str, tuple[str, ...]] = {
    "name": (
        "Change the name {a} to {b}.", "Replace the name {a} with {b}.", "{b} takes over from {a}: change the name.",
        "It is {b} now, not {a}.", "Use the name {b} instead of {a}.", "Rename {a} to {b}.", "Replace {a} with {b}.",
    ),
    "date": (
        "Change the date {a} to {b}.", "Move it from {a} to {b}.", "The date is {b}, not {a}.", "Replace {a} with {b}.",
        "Postpone from {a} to {b}.", "Use {b} instead of {a}.", "Update the date from {a} to {b}.",
    ),
    "number": (
        "Change the number {a} to {b}.", "It should be {b} instead of {a}.", "Replace {a} with {b}.",
        "Correct the figure: {b}, not {a}.", "Change {a} to {b}.", "Update {a} to {b}.",
    ),
    "price": (
        "Change the price from {a} to {b}.", "The price is {b} now instead of {a}.", "Replace {a} with {b}.",
        "Update the amount {a} to {b}.", "It costs {b}, not {a}.", "Set the price to {b} where it says {a}.",
    ),
    "address": (
        "Change the address {a} to {b}.", "We are at {b} now, not at {a}.", "Replace {a} with {b}.",
        "The address is {b} instead of {a}.", "Update the address from {a} to {b}.",
    ),
}  # fmt: skip
_SAME_FORM = {"city": "name", "company": "name", "first": "name", "day": "date", "time": "date", "mail": "address"}
_MONTH = "|".join(MONTHS)
_FINDERS: dict[str, re.Pattern[str]] = {
    "date": re.compile(
        rf"\b\d{{1,2}} (?:{_MONTH})(?: \d{{4}})?\b|\b(?:{_MONTH}) \d{{1,2}}(?:, \d{{4}})?\b"
        r"|\b\d{4}-\d\d-\d\d\b|\b\d\d/\d\d/\d{4}\b"
    ),
    "day": re.compile(rf"\b(?:{'|'.join(DAYS)})\b"),
    "time": re.compile(r"\b\d{1,2}:\d\d(?: [ap]m)?\b|\b\d{1,2} [ap]m\b"),
    "price": re.compile(r"(?:[$€£]|USD )\d[\d,]*(?:\.\d\d)?\b|\b\d[\d,]* euros\b"),
    "number": re.compile(r"(?<![\w.,:/€$£-])\d{1,4}(?![\w/:-]|[.,]\d| euros)"),
    "address": re.compile(r"\b\d+ [A-Z]\w+ (?:Road|Street|Avenue|Lane|Way|Square|Drive|Hill), [A-Z]\w+"),
    "mail": re.compile(r"\b[a-z0-9]+@example\.\w+"),
    "name": re.compile(rf"\b(?:{'|'.join(FIRST)}) (?:{'|'.join(LAST)})\b"),
    "first": re.compile(rf"\b(?:{'|'.join(FIRST)})\b"),
    "company": re.compile("|".join(map(re.escape, COMPANIES))),
}
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w{3,30}\b")
_RENAME = (
    "Rename {a} to {b}.", "Rename {what} {a} to {b}.", "Rename the identifier {a} to {b}.", "Rename {a} as {b}.",
    "Change the name of {a} to {b}.", "{a} should be called {b}; rename it.", "Call it {b} instead of {a}.",
    "Rename {a} to {b} everywhere, whole words only.", "Replace the identifier {a} with {b}.", "Rename: {a} -> {b}.",
    "Rename {a} to {b} in all places.", "Use the name {b} for {what} {a}.",
)  # fmt: skip
_PARTS = listed(
    "load save build parse find merge count total item entry record input output result state buffer index "
    "node source target value limit size name path config option report batch chunk offset cache token field "
    "row cell scale weight"
)


def word(dice: random.Random, text: str) -> Change | None:
    """A word everywhere; capitals of the old one are kept."""
    old = _common_word(dice, text)
    if old is None:
        return None
    new = dice.choice([other for other in _SWAP if other != old])
    return Change(text, _said(dice, _EVERYWHERE, old, new), replaced(text, old, new))


def two_words(dice: random.Random, text: str) -> Change | None:
    """Two words at once."""
    first, second = _common_word(dice, text), _common_word(dice, text)
    if first is None or second is None or first == second:
        return None
    new, other = dice.sample([word for word in _SWAP if word not in (first, second)], 2)
    join = dice.choice((" and {c} with {d}.", ", and {c} with {d}.", " and replace {c} with {d}."))
    marks = [quoted(dice, part) for part in (first, new, second, other)]
    told = say(dice, ("Replace {a} with {b}" + join,), **dict(zip("abcd", marks, strict=True)))
    return Change(text, told, replaced(replaced(text, first, new), second, other))


def absent_word(dice: random.Random, text: str) -> Change | None:
    """A word that is not there: nothing changes."""
    old = dice.choice(_SWAP)
    if whole_word(old, re.IGNORECASE).search(text) or old in text.lower():
        return None
    return Change(text, _said(dice, _EVERYWHERE, old, dice.choice(_SWAP)), text)


def fact(dice: random.Random, text: str) -> Change | None:
    """A name, date, number, price or address, everywhere."""
    kinds = [(kind, pattern.findall(text)) for kind, pattern in _FINDERS.items()]
    kinds = [(kind, found) for kind, found in kinds if found]
    if not kinds:
        return None
    kind, found = dice.choice(kinds)
    old = dice.choice(found)
    new = other_than(dice, kind, old)
    if new in text or _matches_part(text, old, kind):
        return None
    told = _said(dice, _NAMED[_SAME_FORM.get(kind, kind)], old, new, bare=0.6)
    return Change(text, told, whole_word(old).sub(lambda _: new, text))


def _matches_part(text: str, old: str, kind: str) -> bool:
    """Whether the same characters stand inside something longer, so that what is meant would be unclear."""
    found = _FINDERS[kind].findall(text)
    facts = [fact for other in ("date", "time", "address", "price") for fact in _FINDERS[other].findall(text)]
    return found.count(old) != text.count(old) or (kind == "number" and any(old in fact for fact in facts))


def somewhere(dice: random.Random, text: str) -> Change | None:
    """A word that is there several times, but only in the place that is named."""
    old = _common_word(dice, text, least=2)
    if old is None:
        return None
    name, (start, end) = dice.choice(_places(text, old))
    new = dice.choice([other for other in _SWAP if other != old])
    part = replaced(text[start:end], old, new)
    wanted = text[:start] + part + text[end:]
    if part == text[start:end] or wanted == replaced(text, old, new):
        return None
    templates = (
        "Replace {a} with {b} only in {where}.", "In {where}, replace {a} with {b}.",
        "Change {a} to {b}, but only in {where}.",
        "Only in {where}: replace {a} by {b}.", "Use {b} instead of {a} in {where} only.",
        "In {where} change {a} to {b}.",
    ) if not name.endswith("occurrence") else (
        "Replace only {where} of {a} with {b}.", "Change {where} of {a} to {b}.",
        "Replace {where} of {a} by {b}, not the others.",
    )  # fmt: skip
    told = say(dice, templates, a=quoted(dice, old), b=quoted(dice, new), where=name)
    return Change(text, told, wanted)


def _places(text: str, old: str) -> list[tuple[str, Span]]:
    blocks, whole = paragraphs(text), sentences(text)
    found = [m.span() for m in whole_word(old, re.IGNORECASE).finditer(text)]
    places = [("the first occurrence", found[0]), ("the last occurrence", found[-1])]
    if len(blocks) > 1:
        places += [
            ("the first paragraph", blocks[0]),
            ("the last paragraph", blocks[-1]),
            ("the second paragraph", blocks[1]),
        ]
    if len(whole) > 1:
        places += [("the first sentence", whole[0]), ("the last sentence", whole[-1])]
    return places


def identifier(dice: random.Random, text: str) -> Change | None:
    """An identifier as a whole word, wherever it stands: also in comments and strings, never inside a longer one."""
    return _renamed(dice, text, [name for name in _identifiers(text) if _is_code(name, text)])


def identifier_in_markdown(dice: random.Random, text: str) -> Change | None:
    """The same in a text that has code in it: a name that looks like code, or stands in backticks."""
    names = _identifiers(text)
    return _renamed(
        dice, text, [name for name in names if _is_shaped(name) or (f"`{name}" in text and _is_code(name, text))]
    )


def _identifiers(text: str) -> list[str]:
    counts = Counter(_IDENTIFIER.findall(text))
    return sorted(name for name, count in counts.items() if 2 <= count <= 14 and name not in kwlist)


def _renamed(dice: random.Random, text: str, names: list[str]) -> Change | None:
    """One of the names renamed."""
    if not names:
        return None
    old = dice.choice(names)
    new = _new_name(dice, old)
    if whole_word(new).search(text):
        return None
    what = _what(text, old)
    told = say(dice, _RENAME, a=quoted(dice, old, 0.6), b=quoted(dice, new, 0.6), what=what)
    return Change(text, told, whole_word(old).sub(new, text))


def _is_shaped(name: str) -> bool:
    """Whether it is spelt as no ordinary word is."""
    return "_" in name.strip("_") or bool(re.search(r"[a-z][A-Z]", name))


def _is_code(name: str, text: str) -> bool:
    """Whether a name is used as code, and not as an ordinary word of a sentence too: that would be unclear."""
    if _is_shaped(name):
        return True
    if re.search(rf"[a-z,.] {name}[ ,.][ a-z]", text):
        return False
    used = rf"(?:[.`(=\[]|def |class |, |let |const |var ){name}\b|\b{name}(?:[`(=.\[]| =)"
    return re.search(used, text) is not None


def _what(text: str, name: str) -> str:
    for pattern, what in (
        (rf"def {name}\b", "the function"),
        (rf"class {name}\b", "the class"),
        (rf"{name} = ", "the variable"),
    ):
        if re.search(pattern, text):
            return what
    return "the identifier"


def _new_name(dice: random.Random, old: str) -> str:
    """A name in the style of the old one: snake_case, camelCase, PascalCase or CONSTANT."""
    parts = dice.sample(_PARTS, dice.choice((1, 2, 2)))
    lead = old[: len(old) - len(old.lstrip("_"))]
    if old.isupper():
        return lead + "_".join(parts).upper()
    if old.lstrip("_")[:1].isupper():
        return lead + "".join(part.capitalize() for part in parts)
    if re.search(r"[a-z][A-Z]", old):
        return lead + parts[0] + "".join(part.capitalize() for part in parts[1:])
    return lead + "_".join(parts)


def _common_word(dice: random.Random, text: str, least: int = 1) -> str | None:
    """A word of at least four letters that occurs `least` to 8 times, never inside a longer word or in code."""
    lower = text.lower()
    counts = Counter(m[0].lower() for m in words(text) if m[0].isascii() and m[0].isalpha() and not m[0].isupper())
    usable = sorted(w for w, n in counts.items() if len(w) >= 4 and least <= n <= 8 and lower.count(w) == n)
    return dice.choice(usable) if usable else None


def replaced(text: str, old: str, new: str) -> str:
    """Every whole word `old` replaced, with the capitals of what it replaces."""
    found = whole_word(old, re.IGNORECASE).finditer(text)
    return patched(text, [(*match.span(), cased(match[0], new)) for match in found])


def _said(dice: random.Random, templates: tuple[str, ...], old: str, new: str, bare: float = 0.15) -> str:
    state = dice.getstate()
    left = quoted(dice, old, bare)
    dice.setstate(state)  # both in the same quotation marks
    return say(dice, templates, a=left, b=quoted(dice, new, bare))
