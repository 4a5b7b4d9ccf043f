"""Line wrapping, upper, lower and title case."""

from __future__ import annotations

import random
import re
import textwrap

from training.edits.base import Change
from training.edits.text import paragraphs, patched, prose_paragraphs, sentences, whole_word, words
from training.edits.wording import listed, quoted, say

_SMALL = frozenset(listed("a an and as at but by for from in nor of on or the to with is"))


def wrap(dice: random.Random, text: str) -> Change | None:
    """Paragraphs of prose wrapped at a width (textwrap's greedy filling)."""
    width = dice.choice((50, 60, 70, 72, 80, 80, 100))
    joined = _joined(text)
    wanted = patched(
        joined,
        [
            (a, b, textwrap.fill(joined[a:b], width, break_long_words=False, break_on_hyphens=False))
            for a, b in prose_paragraphs(joined)
        ],
    )
    if wanted == joined:
        return None
    said = (
        f"Wrap the lines at {width} characters.",
        f"Re-wrap the text to {width} columns.",
        f"Wrap at {width}.",
        f"Break the lines at {width} characters.",
        f"Reflow to a width of {width}.",
    )
    return Change(dice.choice((joined, text)), say(dice, said), wanted)


def unwrap(dice: random.Random, text: str) -> Change | None:
    """Every paragraph on one line."""
    joined = _joined(text)
    width = dice.choice((50, 60, 72, 80))
    spans = prose_paragraphs(joined)
    wrapped = patched(
        joined,
        [(a, b, textwrap.fill(joined[a:b], width, break_long_words=False, break_on_hyphens=False)) for a, b in spans],
    )
    if wrapped == joined:
        return None
    said = (
        "Put every paragraph on one line.",
        "Unwrap the lines.",
        "Remove the line breaks inside the paragraphs.",
        "Join the lines of each paragraph.",
        "Undo the line wrapping.",
    )
    return Change(wrapped, say(dice, said), joined)


def sentence_lines(dice: random.Random, text: str) -> Change | None:
    """Every sentence on a line of its own."""
    joined = _joined(text)
    spans = [span for start, end in prose_paragraphs(joined) for span in sentences(joined, start, end)[:-1]]
    wanted = patched(joined, [(end, end + 1, "\n") for _, end in spans if joined[end : end + 1] == " "])
    said = (
        "Put each sentence on its own line.",
        "One sentence per line.",
        "Start a new line after every sentence.",
        "Break the lines after each sentence.",
    )
    return Change(joined, say(dice, said), wanted) if wanted != joined else None


def _joined(text: str) -> str:
    return patched(text, [(a, b, " ".join(text[a:b].split())) for a, b in prose_paragraphs(text)])


def title_case(text: str) -> str:
    """Every word capitalised but small ones, which are only at the beginning."""

    def cased(match: re.Match[str]) -> str:
        word = match[0]
        return word if match.start() and word.lower() in _SMALL else word[:1].upper() + word[1:]

    return re.sub(r"[^\W\d_][\w'’]*", cased, text)


def heading_case(dice: random.Random, text: str) -> Change | None:
    """All Markdown headings in title or upper case."""
    found = [
        m for m in re.finditer(r"^#{1,5} ([^\n`\[<(]+)$", text, re.MULTILINE) if text[: m.start()].count("```") % 2 == 0
    ]
    every = [m for m in re.finditer(r"^#{1,5} [^\n]+$", text, re.MULTILINE) if text[: m.start()].count("```") % 2 == 0]
    if not found or len(found) != len(every):
        return None
    if dice.random() < 0.6:
        said = (
            "Put the headings in title case.",
            "Use title case for all headings.",
            "Capitalise the main words of the headings.",
            "Title-case the headings.",
        )
        wanted = patched(text, [(*m.span(1), title_case(m[1])) for m in found])
    else:
        said = (
            "Write the headings in capitals.",
            "Put all headings in upper case.",
            "Make the headings uppercase.",
            "UPPERCASE the headings.",
        )
        wanted = patched(text, [(*m.span(1), m[1].upper()) for m in found])
    return Change(text, say(dice, said), wanted) if wanted != text else None


def word_case(dice: random.Random, text: str) -> Change | None:
    """A word in capitals wherever it stands."""
    usable = sorted({m[0] for m in words(text) if len(m[0]) > 3 and m[0].islower() and m[0].isascii()})
    usable = [word for word in usable if text.lower().count(word) == len(whole_word(word).findall(text)) <= 6]
    if not usable:
        return None
    word = dice.choice(usable)
    upper = dice.random() < 0.5
    new, mark = (word.upper() if upper else word.capitalize()), quoted(dice, word)
    said = (
        (f"Write {mark} in capitals.", f"Put the word {mark} in upper case.", f"Make {mark} uppercase everywhere.")
        if upper
        else (
            f"Capitalise {mark}.",
            f"Write {mark} with a capital letter everywhere.",
            f"Begin {mark} with a capital letter.",
        )
    )
    return Change(text, say(dice, said), whole_word(word).sub(new, text))


def line_case(dice: random.Random, text: str) -> Change | None:
    """The first line or paragraph, or a short text, in upper, lower or title case."""
    blocks = paragraphs(text)
    if not blocks or len(text) > 6000:
        return None
    start, end = blocks[0]
    line_end = start + text[start:end].find("\n") if "\n" in text[start:end] else end
    places = [("the first paragraph", (start, end)), ("the first line", (start, line_end))]
    if len(text) < 500:
        places.append(("the whole text", (0, len(text))))
    where, (a, b) = dice.choice(places)
    how, new = dice.choice(
        (("upper case", str.upper), ("capitals", str.upper), ("lower case", str.lower), ("title case", title_case))
    )
    if where == "the whole text" and how == "title case":
        return None
    wanted = text[:a] + new(text[a:b]) + text[b:]
    said = (
        f"Put {where} in {how}.",
        f"Write {where} in {how}.",
        f"Convert {where} to {how}.",
        f"Use {how} for {where}.",
    )
    return Change(text, say(dice, said), wanted) if wanted != text and b - a < 400 else None
