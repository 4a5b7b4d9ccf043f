"""Deleting and adding sentences, paragraphs and bullets."""

from __future__ import annotations

import random
import re
from itertools import pairwise

from training.edits.base import Change
from training.edits.letters import BRITISH, GENERAL
from training.edits.text import Span, paragraphs, prose_paragraphs, sentences, words
from training.edits.wording import listed, quoted, say

_BULLET = re.compile(r"^([-*+]|\d+\.) (\S[^\n]*)$", re.MULTILINE)
_DELETE = ("Delete {x}.", "Remove {x}.", "Take out {x}.", "Drop {x}.", "Cut {x}.", "Leave out {x}.", "Get rid of {x}.")
_ADD_AT = (
    "Add the sentence {new} {where}.", "Insert {new} {where}.", "Add {new} {where}.", "Put the sentence {new} {where}.",
    "Write {new} {where}.", "Insert the sentence {new} {where}.",
)  # fmt: skip
_ADD_PARAGRAPH = (
    "Add the paragraph {new} {where}.", "Insert a new paragraph {where}: {new}",
    "Add a paragraph {where} that says {new}.",
    "Add a new paragraph {where}: {new}", "Put a paragraph with the text {new} {where}.",
)  # fmt: skip
_ITEMS = listed(
    "Check the printer|Call the supplier|Update the manual|Support for large files|Faster start|"
    "Bring a warm jacket|Send the minutes to everyone|A list of open questions|Easier installation|"
    "Pay the deposit|Better error messages|Ask for a second offer|Works without a network|Clean the kitchen|"
    "Order new paper|Test on a slow machine",
    "|",
)


def _own_sentences(text: str) -> list[Span]:
    """Sentences of prose paragraphs."""
    spans = [span for start, end in prose_paragraphs(text) for span in sentences(text, start, end)]
    return [(start, end) for start, end in spans if 15 < end - start < 300]


def _without(text: str, start: int, end: int) -> str:
    """The text without a sentence: one of the spaces beside it goes too, with its paragraph if it was alone there."""
    left, right = text[:start], text[end:]
    if right[:1] in (" ", "\n") and right[:2] != "\n\n" and left[-2:] not in ("\n\n",):
        return left + right[1:]
    if left[-2:] == "\n\n" or not left:
        return left + right.lstrip() if right.strip() else left.rstrip() + right
    return left.rstrip(" \n") + right


def delete_sentence(dice: random.Random, text: str) -> Change | None:
    """A sentence by its text, its beginning, its place or a word that only it has."""
    spans = _own_sentences(text)
    if len(spans) < 2:
        return None
    start, end = dice.choice(spans)
    target = _sentence_named(dice, text, spans, (start, end))
    wanted = _without(text, start, end)
    if target is None or text.count(text[start:end]) > 1 or not wanted.strip():
        return None
    return Change(text, say(dice, _DELETE, x=target), wanted)


def _sentence_named(dice: random.Random, text: str, spans: list[Span], span: Span) -> str | None:
    sentence = " ".join(text[slice(*span)].split())
    beginning = " ".join(sentence.split()[: dice.randint(3, 5)])
    names = [f"the sentence {quoted(dice, sentence)}", quoted(dice, sentence)]
    if sum(" ".join(text[a:b].split()).startswith(beginning) for a, b in spans) == 1:
        names.append(f"the sentence that {dice.choice(('begins', 'starts'))} with {quoted(dice, beginning)}")
    unique = [m[0] for m in words(sentence) if len(m[0]) > 5 and text.lower().count(m[0].lower()) == 1]
    if unique:
        word = quoted(dice, dice.choice(unique))
        names += [
            f"the sentence with the word {word}",
            f"the sentence that mentions {word}",
            f"the sentence about {word}",
        ]
    if len(prose_paragraphs(text)) == len(paragraphs(text)):
        names += (
            ["the first sentence"] * 2 if span == spans[0] else ["the last sentence"] * 2 if span == spans[-1] else []
        )
    return dice.choice(names)


def add_sentence(dice: random.Random, text: str) -> Change | None:
    """A given sentence at the end, the beginning, or after another one."""
    spans, new = _own_sentences(text), dice.choice(GENERAL + BRITISH)
    if not spans or new in text:
        return None
    blocks = prose_paragraphs(text)
    start, end = dice.choice(spans)
    anchor = " ".join(text[start:end].split())
    places = [
        (f"after the sentence {quoted(dice, anchor)}", end, f" {new}"),
        (f"before {quoted(dice, anchor)}", start, f"{new} "),
    ]
    if len(blocks) == len(paragraphs(text)):
        places += [
            (dice.choice(("at the end", "at the end of the text")), blocks[-1][1], f" {new}"),
            (dice.choice(("at the beginning", "at the start of the text")), blocks[0][0], f"{new} "),
            ("at the end of the first paragraph", blocks[0][1], f" {new}"),
        ]
    where, at, inserted = dice.choice(places)
    if text.count(text[start:end]) > 1:
        return None
    return Change(text, say(dice, _ADD_AT, new=quoted(dice, new), where=where), text[:at] + inserted + text[at:])


def delete_paragraph(dice: random.Random, text: str) -> Change | None:
    """A paragraph by its place or its beginning."""
    blocks = paragraphs(text)
    if len(blocks) < 2:
        return None
    index = dice.randrange(len(blocks))
    target = _paragraph_named(dice, text, blocks, index)
    start, end = blocks[index]
    wanted = (
        text[:start] + text[blocks[index + 1][0] :]
        if index + 1 < len(blocks)
        else text[: blocks[index - 1][1]] + text[end:]
    )
    return Change(text, say(dice, _DELETE, x=target), wanted) if target else None


def _paragraph_named(dice: random.Random, text: str, blocks: list[Span], index: int) -> str | None:
    places = {
        0: "the first paragraph",
        1: "the second paragraph",
        2: "the third paragraph",
        len(blocks) - 1: "the last paragraph",
    }
    beginning = " ".join(text[slice(*blocks[index])].split()[: dice.randint(3, 5)])
    names = [places[index]] if index in places else []
    if sum(" ".join(text[a:b].split()).startswith(beginning) for a, b in blocks) == 1:
        names.append(f"the paragraph that {dice.choice(('begins', 'starts'))} with {quoted(dice, beginning)}")
    return dice.choice(names) if names else None


def add_paragraph(dice: random.Random, text: str) -> Change | None:
    """A given paragraph at a named place."""
    blocks, new = paragraphs(text), " ".join(dice.sample(GENERAL + BRITISH, dice.choice((1, 1, 2))))
    if not prose_paragraphs(text):
        return None
    places = [
        ("at the end", blocks[-1][1], f"\n\n{new}"),
        (dice.choice(("at the beginning", "at the top")), blocks[0][0], f"{new}\n\n"),
        ("after the first paragraph", blocks[0][1], f"\n\n{new}"),
    ]
    if len(blocks) > 1:
        places.append(("before the last paragraph", blocks[-1][0], f"{new}\n\n"))
    where, at, inserted = dice.choice(places)
    return Change(text, say(dice, _ADD_PARAGRAPH, new=quoted(dice, new), where=where), text[:at] + inserted + text[at:])


def delete_bullet(dice: random.Random, text: str) -> Change | None:
    """A list item by its text, its beginning or its place."""
    text, items = with_list(dice, text)
    if len(items) < 2:
        return None
    found = dice.randrange(len(items))
    item = items[found]
    begin = " ".join(item[2].split()[:4])
    names = [quoted(dice, item[2]), f"the bullet {quoted(dice, item[2])}", f"the list item {quoted(dice, item[2])}"]
    if sum(other[2].startswith(begin) for other in items) == 1:
        names.append(f"the bullet that starts with {quoted(dice, begin)}")
    if _one_list(items):
        place = {0: "the first bullet", 1: "the second bullet", len(items) - 1: "the last bullet"}.get(found)
        names += [place, place] if place else []
    if text.count(item[0]) > 1 or item[1][0].isdigit():
        return None
    gone = (item.start(), item.end() + 1) if item.end() < len(text) else (item.start() - 1, item.end())
    return Change(text, say(dice, _DELETE, x=dice.choice(names)), text[: gone[0]] + text[gone[1] :])


def add_bullet(dice: random.Random, text: str) -> Change | None:
    """A list item at the end, at the top or after another one."""
    text, items = with_list(dice, text)
    if not items:
        return None
    new = dice.choice(_ITEMS)
    anchor = dice.choice(items)
    places = [(f"after {quoted(dice, anchor[2])}", anchor)]
    if _one_list(items):
        places += [
            ("at the end of the list", items[-1]),
            ("to the end of the list", items[-1]),
            ("as the last item", items[-1]),
        ]
    where, item = dice.choice(places)
    if item[1][0].isdigit() or text.count(anchor[0]) > 1 or new in text:
        return None
    templates = (
        "Add a bullet {new} {where}.", "Add {new} {where}.", "Insert the bullet {new} {where}.",
        "Add the list item {new} {where}.", "Put a new bullet {new} {where}.",
    )  # fmt: skip
    line = f"\n{item[1]} {new}"
    return Change(
        text, say(dice, templates, new=quoted(dice, new), where=where), text[: item.end()] + line + text[item.end() :]
    )


def with_list(dice: random.Random, text: str) -> tuple[str, list[re.Match[str]]]:
    """The text with its list; one without a list gets one after its first paragraph."""
    items = _items(text)
    if len(items) >= 2:
        return text, items
    mark = dice.choice("-**")
    made = "\n".join(f"{mark} {item}" for item in dice.sample(_ITEMS, dice.randint(3, 6)))
    blocks = paragraphs(text)
    ends = [end for _, end in blocks if text.count("```", 0, end) % 2 == 0] or [len(text)]
    at = dice.choice(ends)
    text = text[:at] + f"\n\n{made}" + text[at:]
    return text, _items(text)


def _items(text: str) -> list[re.Match[str]]:
    """The list items that are not in a code block."""
    return [match for match in _BULLET.finditer(text) if text.count("```", 0, match.start()) % 2 == 0]


def _one_list(items: list[re.Match[str]]) -> bool:
    """Whether all items follow one another."""
    return all(first.end() + 1 == second.start() for first, second in pairwise(items))
