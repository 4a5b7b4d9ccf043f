"""Scripted outputs: the engine is made to emit a known rewrite at the full cost of every pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from redraft.errors import InvalidOption


class TextPair(Protocol):
    """A document and its rewrite."""

    @property
    def before(self) -> str: ...

    @property
    def after(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Scripts:
    """Rewrites by the text they rewrite."""

    rewrites: dict[str, str]

    @classmethod
    def of(cls, pairs: Iterable[TextPair]) -> Scripts:
        return cls({pair.before: pair.after for pair in pairs})

    def rewrite(self, document: str) -> str:
        """The scripted output for a document; raises InvalidOption for one that is in no pair."""
        if document not in self.rewrites:
            raise InvalidOption("document", "the scripted model knows only the documents of its pairs")
        return self.rewrites[document]
