"""What sort of token is it? People rewrite some places more often than others: line ends, openings of phrases."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class TokenClass(IntEnum):
    """By how a token's text begins."""

    OTHER = 0
    LOWER = 1  # letters that go on in a word, or begin one without a space
    UPPER = 2
    SPACE_LOWER = 3
    SPACE_UPPER = 4
    DIGIT = 5
    SIGN = 6
    SPACE_SIGN = 7
    LINE_BREAK = 8
    SPACE = 9
    OTHER_SCRIPT = 10


COUNT = len(TokenClass)


def classes_of(texts: Iterable[str]) -> list[int]:
    """The class of every token of a vocabulary, from its text."""
    return [int(_class_of(text)) for text in texts]


def _class_of(text: str) -> TokenClass:
    if not text.strip():
        return TokenClass.LINE_BREAK if "\n" in text else TokenClass.SPACE if text else TokenClass.OTHER
    bare = text.lstrip()
    spaced = bare != text
    first = bare[0]
    if first.isdigit():
        return TokenClass.DIGIT
    if not first.isalpha():
        return TokenClass.SPACE_SIGN if spaced else TokenClass.SIGN
    if not first.isascii():
        return TokenClass.OTHER_SCRIPT
    if first.isupper():
        return TokenClass.SPACE_UPPER if spaced else TokenClass.UPPER
    return TokenClass.SPACE_LOWER if spaced else TokenClass.LOWER
