"""What a source and an edit are, and on which side of the split a source lies."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass

EVALUATION_SHARE = 0.12
"""Of the sources, kept for evaluation."""

UNTOUCHED = "untouched"
TONE = ("polite", "formal")
"""Tasks whose wanted text is one of many good ones."""


@dataclass(frozen=True, slots=True)
class Document:
    """A source text. key: the file, pair group or template it comes from; kind: prose, markdown, code, ..."""

    key: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a task makes of a piece of text; it may have changed the document too, as when it puts errors in."""

    document: str
    instruction: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One example. source: the key of its document."""

    task: str
    source: str
    document: str
    instruction: str
    wanted: str


Maker = Callable[[random.Random, str], Change | None]
"""Makes a change of a text, or None where the text does not offer one."""


def is_evaluation(key: str) -> bool:
    """Whether a source is kept for evaluation; a pure function of its key."""
    digest = hashlib.sha256(f"redraft edits 28 {key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < EVALUATION_SHARE * 2**32
