"""What the ids and positions of a trace mean to a person: visible tokens, lines and columns, kept runs."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from redraft.engine.results import Source
from redraft.engine.spans import Match, align
from redraft.engine.vocabulary import Vocabulary

END = "⏹"
_SHOWN = {" ": "·", "\n": "⏎", "\t": "⇥"}
_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}  # control, format, unassigned, private, surrogates, separators


def visible(text: str) -> str:
    """The text with white space as · ⏎ ⇥ and nothing that a terminal or a page could take for a command."""
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _SHOWN:
        return _SHOWN[character]
    category = unicodedata.category(character)
    if category == "Cc" and ord(character) < 0x20:
        return chr(0x2400 + ord(character))  # control pictures
    if category == "Zs":
        return "⍽"
    return f"‹{ord(character):X}›" if category in _HIDDEN else character


@dataclass(frozen=True, slots=True)
class KeptRun:
    """output tokens [start, end) of one source whose text is document tokens [first, last), as the final spans say."""

    start: int
    end: int
    first: int
    last: int
    source: Source
    moved: bool


class Reading:
    """Document, output and references of a trace, as texts and as ids."""

    def __init__(self, vocabulary: Vocabulary, document: str, output: str, references: Sequence[str] = ()) -> None:
        self.document_text, self.output_text = document, output
        self.document = vocabulary.encode(document)
        self.output = vocabulary.encode(output)
        self.references = [vocabulary.encode(text) for text in references]
        self._vocabulary = vocabulary
        self._lines = [_line_starts(text) for text in (document, output, *references)]

    def token(self, token: int) -> str:
        """A token made visible; bytes that are no whole character alone are shown as one that is broken."""
        piece = self._vocabulary.bytes_of(token)
        return visible(piece.decode("utf-8", "replace")) if piece else END

    def place(self, position: int, text: Source = Source.DOCUMENT, reference: int = 0) -> str:
        """line:column of a token, from 1, in code points; "end" behind the last one."""
        index = {Source.DOCUMENT: 0, Source.SELF_COPY: 1}.get(text, 2 + reference)
        encoded = (self.document, self.output, *self.references)[index]
        if position >= len(encoded.ids):
            return "end"
        character = encoded.ends[position - 1] if position else 0
        line = bisect_right(self._lines[index], character)
        return f"{line}:{character - self._lines[index][line - 1] + 1}"

    def pieces(self) -> Iterator[str]:
        """The output's text by tokens: one piece for each, none for the end token; together they are the text."""
        for start, end in pairwise([0, *self.output.ends]):
            yield self.output_text[start:end]

    def runs(self, sources: Sequence[Source]) -> list[KeptRun]:
        """Output tokens that lie wholly in kept or moved text, joined where source and match are the same."""
        runs: list[KeptRun] = []
        joined: Match | None = None
        matches = iter(align(self.document_text, self.output_text))
        match = next(matches, None)
        for index, (start, end) in enumerate(pairwise([0, *self.output.ends])):
            while match is not None and match.output_end < end:
                match = next(matches, None)
            if match is None or start < match.output:
                continue
            shift = match.document - match.output
            first, last = bisect_right(self.document.ends, start + shift), self._token_end(end + shift)
            before = runs[-1] if runs and joined is match else None
            if before is not None and (before.end, before.source) == (index, sources[index]):
                runs[-1] = KeptRun(before.start, index + 1, before.first, last, before.source, match.moved)
            else:
                runs.append(KeptRun(index, index + 1, first, last, sources[index], match.moved))
            joined = match
        return runs

    def _token_end(self, character: int) -> int:
        """One past the document token that the character before this one belongs to."""
        return bisect_right(self.document.ends, character - 1) + 1


def _line_starts(text: str) -> list[int]:
    return [0, *(index + 1 for index, character in enumerate(text) if character == "\n")]
