"""Markdown: headings, links, emphasis, list style; code blocks stay as they are."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from training.edits.base import Change
from training.edits.structure import with_list
from training.edits.text import Patch, patched, prose_paragraphs, words
from training.edits.wording import listed, quoted, say

_FENCED = re.compile(r"^ *(```|~~~).*?(?:^ *\1|\Z)", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(#{1,5}) (\S[^\n]*?) *$", re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]+)\]\(([^()\s]+)\)")
_BOLD = re.compile(r"\*\*([^*\s](?:[^*\n]*[^*\s])?)\*\*")
_ITALIC = re.compile(r"(?<![*\w])\*([^*\s](?:[^*\n]*[^*\s])?)\*(?![*\w])")
_ITEM = re.compile(r"^( *)([-*+])( +)(?=\S)", re.MULTILINE)
_TITLES = listed(
    "Overview|Background|Next steps|Getting started|Details|Open questions|Summary|How to use it|Requirements|Notes",
    "|",
)
_SITES = [
    "https://docs.example.com/guide",
    "https://example.org/start",
    "https://example.com/faq",
    "https://wiki.example.net/home",
]


def _outside_code(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    fences = [match.span() for match in _FENCED.finditer(text)]
    return [m for m in pattern.finditer(text) if not any(a <= m.start() < b for a, b in fences)]


def _changed(text: str, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> str:
    return patched(text, [(*match.span(), new(match)) for match in _outside_code(pattern, text)])


def _with_headings(dice: random.Random, text: str) -> str:
    """The text, with headings made up before its paragraphs if it has none."""
    if _outside_code(_HEADING, text):
        return text
    titles, mark = dice.sample(_TITLES, 3), dice.choice(("#", "##", "##"))
    starts = [start for start, _ in prose_paragraphs(text)][:: dice.randint(1, 3)][:3]
    return patched(text, [(start, start, f"{mark} {title}\n\n") for start, title in zip(starts, titles, strict=False)])


def heading_levels(dice: random.Random, text: str) -> Change | None:
    """All headings a level deeper or higher."""
    text = _with_headings(dice, text)
    levels = [len(match[1]) for match in _outside_code(_HEADING, text)]
    if not levels:
        return None
    if min(levels) > 1 and dice.random() < 0.5:
        said: tuple[str, ...] = (
            "Move all headings up one level.",
            "Promote every heading by one level.",
            "Remove one # from each heading.",
        )
        return Change(text, say(dice, said), _changed(text, _HEADING, lambda m: m[0][1:]))
    said = (
        "Move all headings down one level.",
        "Make every heading one level deeper.",
        "Add one # to each heading.",
        "Demote the headings by one level.",
    )
    return Change(text, say(dice, said), _changed(text, _HEADING, lambda m: "#" + m[0]))


def heading_text(dice: random.Random, text: str) -> Change | None:
    """The words of one heading changed."""
    text = _with_headings(dice, text)
    found = _outside_code(_HEADING, text)
    if not found:
        return None
    chosen, new = dice.choice(found), dice.choice(_TITLES)
    if [match[2] for match in found].count(chosen[2]) > 1 or new == chosen[2]:
        return None
    a, b = quoted(dice, chosen[2]), quoted(dice, new)
    said: tuple[str, ...] = (
        f"Change the heading {a} to {b}.",
        f"Rename the section {a} to {b}.",
        f"Replace the heading {a} with {b}.",
        f"Call the section {a} {b} instead.",
    )
    return Change(text, say(dice, said), text[: chosen.start(2)] + new + text[chosen.end(2) :])


def add_heading(dice: random.Random, text: str) -> Change | None:
    """A heading at the top or before a paragraph that is named by its beginning."""
    blocks = prose_paragraphs(text)
    if not blocks:
        return None
    title, mark = dice.choice(_TITLES), dice.choice(("#", "##"))
    start, end = dice.choice(blocks)
    begin = " ".join(text[start:end].split()[:4])
    level = {"#": "first-level", "##": "second-level"}[mark]
    new = quoted(dice, title)
    places = [(start, f"before the paragraph that begins with {quoted(dice, begin)}")] if text.count(begin) == 1 else []
    at, where = dice.choice([*places, (0, "at the top")])
    said: tuple[str, ...] = (
        f"Add the {level} heading {new} {where}.",
        f"Insert {quoted(dice, f'{mark} {title}')} {where}.",
        f"Put a {level} heading {new} {where}.",
    )
    return Change(text, say(dice, said), f"{text[:at]}{mark} {title}\n\n{text[at:]}")


def _words_for(dice: random.Random, text: str) -> re.Match[str] | None:
    """A word of prose that occurs once."""
    blocks = prose_paragraphs(text)
    inside = [m for m in words(text) if len(m[0]) > 4 and any(a < m.start() < b for a, b in blocks)]
    once = [
        m
        for m in inside
        if len(re.findall(rf"\b{re.escape(m[0])}", text, re.IGNORECASE)) == 1 and text.count(m[0]) == 1
    ]
    return dice.choice(once) if once else None


def mark_word(dice: random.Random, text: str) -> Change | None:
    """One word made bold, italic, code or a link."""
    found = _words_for(dice, text)
    if found is None or text[found.start() - 1 : found.start()] in ("*", "_", "[", "`"):
        return None
    site, word = dice.choice(_SITES), quoted(dice, found[0])
    kind = dice.randrange(4)
    new = (f"**{found[0]}**", f"*{found[0]}*", f"`{found[0]}`", f"[{found[0]}]({site})")[kind]
    said: tuple[str, ...] = (
        (f"Make {word} bold.", f"Put {word} in bold.", f"Set the word {word} in bold type."),
        (f"Make {word} italic.", f"Put {word} in italics.", f"Emphasise {word} with single asterisks."),
        (f"Format {word} as code.", f"Put {word} in backticks.", f"Make {word} inline code."),
        (f"Make {word} a link to {site}.", f"Link {word} to {site}.", f"Add a link to {site} on the word {word}."),
    )[kind]
    return Change(text, say(dice, said), text[: found.start()] + new + text[found.end() :])


def links(dice: random.Random, text: str) -> Change | None:
    """Links removed, or the target of one changed."""
    found = _outside_code(_LINK, text)
    if not found:
        word = _words_for(dice, text)
        if word is None:
            return None
        text = text[: word.start()] + f"[{word[0]}]({dice.choice(_SITES)})" + text[word.end() :]
        found = _outside_code(_LINK, text)
    if dice.random() < 0.5:
        said: tuple[str, ...] = (
            "Remove all links but keep their text.",
            "Replace every link with its text.",
            "Turn links into plain text.",
            "Unlink everything; keep the words.",
        )
        return Change(text, say(dice, said), _changed(text, _LINK, lambda m: m[1]))
    chosen, site = dice.choice(found) if found else None, dice.choice(_SITES)
    if chosen is None or text.count(f"[{chosen[1]}]") > 1:
        return None
    name = quoted(dice, chosen[1])
    said = (
        f"Change the link of {name} to {site}.",
        f"Let {name} link to {site}.",
        f"Point the link {name} to {site}.",
        f"The link {name} should go to {site}.",
    )
    return Change(text, say(dice, said), text[: chosen.start(2)] + site + text[chosen.end(2) :])


def emphasis(dice: random.Random, text: str) -> Change | None:
    """Bold removed, or bold and italic exchanged, or asterisks and underscores."""
    if not _outside_code(_BOLD, text):
        found = [word for word in (_words_for(dice, text), _words_for(dice, text)) if word]
        patches: list[Patch] = [
            (*word.span(), f"**{word[0]}**") for word in {word.start(): word for word in found}.values()
        ]
        text = patched(text, patches)
    if not _outside_code(_BOLD, text) or "***" in text or "__" in text:
        return None
    ways: tuple[tuple[tuple[str, ...], Callable[[re.Match[str]], str]], ...] = (
        (("Remove the bold formatting.", "Take out all bold.", "Make bold text plain."), lambda m: m[1]),
        (
            ("Make bold text italic.", "Change bold to italics.", "Use single asterisks for bold."),
            lambda m: f"*{m[1]}*",
        ),
        (("Use underscores for bold.", "Write bold as __word__.", "Change ** to __."), lambda m: f"__{m[1]}__"),
    )
    said, new = dice.choice(ways)
    return Change(text, say(dice, said), _changed(text, _BOLD, new))


def list_marks(dice: random.Random, text: str) -> Change | None:
    """Another bullet for all items."""
    text, _ = with_list(dice, text)
    marks = {match[2] for match in _outside_code(_ITEM, text)}
    if len(marks) != 1 or re.search(r"^ *[*-](?: *[*-]){2,} *$", text, re.MULTILINE):
        return None
    old, new = marks.pop(), dice.choice("-*+")
    if old == new:
        return None
    names = {"-": "hyphens", "*": "asterisks", "+": "plus signs"}
    a, b = dice.choice(((names[old], names[new]), (old, new)))
    said: tuple[str, ...] = (
        f"Use {b} instead of {a} for the bullets.",
        f"Change the list bullets from {a} to {b}.",
        f"Write lists with {b}.",
        f"Bullets should be {b}, not {a}.",
    )
    return Change(text, say(dice, said), _changed(text, _ITEM, lambda m: m[1] + new + m[3]))


def numbered(dice: random.Random, text: str) -> Change | None:
    """Bullets to numbers, or back; only where there is one flat list."""
    text, _ = with_list(dice, text)
    items = _outside_code(_ITEM, text)
    if not 2 <= len(items) <= 9 or any(match[1] for match in items) or re.search(r"^ *\d+\.", text, re.MULTILINE):
        return None
    ends = [text.find("\n", match.start()) for match in items]
    if any(end + 1 != following.start() for end, following in zip(ends, items[1:], strict=False)):
        return None
    new = patched(text, [(*match.span(), f"{number}. ") for number, match in enumerate(items, 1)])
    bullets = patched(text, [(*match.span(), f"{match[2]} ") for match in items])
    if dice.random() < 0.6:
        said: tuple[str, ...] = (
            "Number the list.",
            "Turn the bullets into a numbered list.",
            "Make it a numbered list.",
            "Use numbers instead of bullets.",
        )
        return Change(bullets, say(dice, said), new)
    mark = items[0][2]
    said = (
        f"Turn the numbered list into bullets with {mark}.",
        f"Use {mark} bullets instead of numbers.",
        f"Make the numbered list a bullet list ({mark}).",
    )
    return Change(new, say(dice, said), bullets)
