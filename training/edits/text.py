"""Cutting texts: paragraphs, sentences, excerpts, and the parts that are code or links and must be left alone."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

Span = tuple[int, int]
Patch = tuple[int, int, str]
"""Half-open interval of the text, and what takes its place."""

PROTECTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]+`|https?://\S+|\S+@\S+|<[^>\n]+>|\]\([^)\n]*\)|\(\([^)\n]*\)\)"
    r"|^(?: {4}|\t)[^\n]*$|^>>>[^\n]*$|^[ ]*[|:.][^\n]*$|\w+[_./\\=:]\w\S*|\w*_\w*|\{[^}\n]*\}",
    re.DOTALL | re.MULTILINE,
)
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|cf|vs|Mr|Mrs|Ms|Dr|No|Fig|Eq|al|St|approx|[A-Z])\.)$")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]?(?=\s+[\"'(]?[A-Z0-9`*])")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def free_matches(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The matches that touch no code, link, markup or indented block."""
    spans = [match.span() for match in PROTECTED.finditer(text)]
    starts = [start for start, _ in spans]

    def is_free(match: re.Match[str]) -> bool:
        at = bisect_right(starts, max(match.start(), match.end() - 1)) - 1
        return at < 0 or spans[at][1] <= match.start()

    return [match for match in pattern.finditer(text) if is_free(match)]


def patched(text: str, patches: Iterable[Patch]) -> str:
    """The text with non-overlapping patches applied."""
    pieces, position = [], 0
    for start, end, new in sorted(patches):
        pieces += [text[position:start], new]
        position = end
    return "".join([*pieces, text[position:]])


def substituted(pattern: re.Pattern[str], new: Callable[[re.Match[str]], str], text: str) -> str:
    """`pattern.sub` outside code and links."""
    return patched(text, [(*match.span(), new(match)) for match in free_matches(pattern, text)])


def words(text: str) -> list[re.Match[str]]:
    """The words outside code and links."""
    return free_matches(_WORD, text)


def whole_word(word: str, flags: int = 0) -> re.Pattern[str]:
    """Matches the word or phrase where nothing of a word adjoins it."""
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", flags)


def paragraphs(text: str) -> list[Span]:
    """The paragraphs: runs of lines between blank lines, without the line break at their end."""
    return [match.span() for match in re.finditer(r"\S[^\n]*(?:\n[^\n]*\S[^\n]*)*", text)]


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Span]:
    """The sentences of text[start:end], without the space between them."""
    end = len(text) if end is None else end
    found, begin = [], start
    for match in _SENTENCE_END.finditer(text, start, end):
        if not _ABBREVIATED.search(text, begin, match.end()):
            found.append((begin, match.end()))
            begin = match.end() + len(text[match.end() : end]) - len(text[match.end() : end].lstrip())
    return [*found, (begin, end)] if begin < end else found


def is_prose(paragraph: str) -> bool:
    """Whether a paragraph reads as sentences: starts with a letter, ends a sentence, and is mostly words."""
    if not re.match(r"[\"'“(]?[A-Z]", paragraph) or not re.search(r"[.!?][\"')”]?$", paragraph):
        return False
    letters = sum(character.isalpha() or character.isspace() for character in paragraph)
    return letters > 0.84 * len(paragraph) and not re.search(r"```|::|>>>|  +|\n[ \t*|>#-]|\{\{", paragraph)


def prose_paragraphs(text: str) -> list[Span]:
    """The paragraphs that read as sentences."""
    return [(start, end) for start, end in paragraphs(text) if is_prose(text[start:end])]


def excerpt(dice: random.Random, text: str, kind: str, length: int) -> str:
    """A connected part of about `length` characters that begins and ends where a reader would cut."""
    if len(text) <= length * 1.25:
        return text.strip("\n")
    cut = _lines if kind in ("code", "config") else _paragraphs
    return cut(dice, text, length).strip("\n")


def _paragraphs(dice: random.Random, text: str, length: int) -> str:
    spans = paragraphs(text)
    room = [index for index, (start, _) in enumerate(spans) if len(text) - start >= length * 0.8] or [0]
    first = dice.choice(room)
    start, end = spans[first]
    for _, after in spans[first + 1 :]:
        if after - start > length * 1.15:
            break
        end = after
    if end - start > length * 1.25:
        ends = [stop for _, stop in sentences(text, start, end) if stop - start <= length * 1.15]
        end = ends[-1] if ends else end
    return text[start:end]


def _lines(dice: random.Random, text: str, length: int) -> str:
    """Whole lines from one that is not indented up to the last such line before `length`, if that is not too short."""
    starts = [match.start() for match in re.finditer(r"^(?=[^\s#)\]}])", text, re.MULTILINE)] or [0]
    room = [start for start in starts if len(text) - start >= length * 0.7] or starts[:1]
    start = dice.choice(room)
    ends = [end for end in starts if length * 0.4 <= end - start <= length * 1.15]
    end = ends[-1] if ends else text.find("\n", min(len(text), start + length))
    return text[start : end if end > 0 else len(text)]


def lines(text: str) -> Iterator[Span]:
    """Every line without its line break."""
    for match in re.finditer(r"^[^\n]*$", text, re.MULTILINE):
        yield match.span()
