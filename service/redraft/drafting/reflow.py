"""Paragraphs that the output wraps at another width, or no longer wraps: where will its lines break?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from redraft.drafting.base import MAX_DRAFT
from redraft.drafting.soft import Change, SoftText, Spelling
from redraft.prefix import common_prefix

_GAP = re.compile(r"(\s+)(\S+)")
_LINE = re.compile(r"^(.*\S)\n(\S+)", re.MULTILINE)
_USUAL = (72, 80, 78, 76, 79, 70, 75, 100, 88, 120, 65, 60)  # widths that people set
_LOOKED_AT = 6 * MAX_DRAFT  # characters of the document that a chain is made of at most
_FAR = 4000  # characters of a line that are counted
_UNLIMITED = 1 << 30
_MOST = 3  # of a score: right oftener than wrong by so much


class Reflow:
    """Learns the width from lines that broke elsewhere than the document's; filling is greedy, as editors do it."""

    def __init__(self, text: SoftText, spelling: Spelling) -> None:
        self._text = text
        self._spelling = spelling
        self._emitted: list[int] = []
        self._low, self._high = 0, _UNLIMITED  # the width lies between, both included
        self._score = 0  # passes in which this was right and the document wrong, less the others
        self.run = 0  # tokens emitted as foreseen
        self.is_under_way = False  # whether the output has wrapped anything in its own way
        self._expected: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._own_width: int | None = None

    @property
    def is_believed(self) -> bool:
        """Whether the output wraps its lines in its own way, and as foreseen here rather than as the document does."""
        return self._score > 0

    def expect(self, chain: tuple[int, ...], plain: tuple[int, ...]) -> None:
        """What is foreseen here and what the document has, to be judged by what is emitted next."""
        self._expected = (chain, plain)

    def judge(self, emitted: tuple[int, ...]) -> None:
        """Which of both was right?"""
        if self._expected is not None:
            chain, plain = (common_prefix(one, emitted) for one in self._expected)
            self.run = self.run + chain if chain == len(emitted) else 0
            score = self._score + (chain > plain) - (chain < plain)
            self._score = max(-_MOST, min(_MOST, score))
            self._expected = None

    def emit(self, tokens: Sequence[int]) -> None:
        """Take in what the output goes on with."""
        self._emitted.extend(tokens)

    def changed(self, change: Change) -> None:
        """Take in a gap that the token emitted last made into another."""
        column = self._column(before_break=change.broken)
        low, high = (column, column + change.word) if change.broken else (column, _UNLIMITED)
        if max(low, self._low) <= min(high, self._high):
            self._low, self._high = max(low, self._low), min(high, self._high)
        else:  # lines of uneven width: the latest counts
            self._low, self._high = low, high
        if not self.is_under_way:
            self.is_under_way, self._score = True, 1

    def chain(self, lead: tuple[int, ...], position: int, whole: tuple[int, ...]) -> tuple[int, ...]:
        """At most MAX_DRAFT ids: the lead, then the document from its token `position` on with lines of this width.

        whole: the document's ids and what is proposed behind them.
        """
        chain = list(lead)
        for gap, broken in self._changes(self._column() + self._length(lead), self._text.start(position)):
            if len(chain) >= MAX_DRAFT:
                break
            chain += self._text.tokens(position, gap.start())
            if broken:
                self._break(chain)
            behind = self._text.behind_gap(gap.end(1), "\n" if broken else " ")
            if not isinstance(behind, int):
                if not behind.ahead:
                    return tuple(chain[:MAX_DRAFT])
                chain += behind.ahead
            position = behind if isinstance(behind, int) else behind.position
        return tuple([*chain, *whole[position : position + MAX_DRAFT]][:MAX_DRAFT])

    def _break(self, chain: list[int]) -> None:
        """End the line: some vocabularies have a token for a sign and the line break behind it."""
        last = self._spelling.text(chain[-1]) if chain else ""
        joined = self._spelling.id(last + "\n") if last and not last[-1].isalnum() else None
        if joined is not None:
            chain[-1] = joined
        else:
            chain += self._spelling.ids("\n")

    def _changes(self, column: int, start: int) -> Iterator[tuple[re.Match[str], bool]]:
        """The document's gaps from a character on that become others, and whether into a break."""
        width, text = self._width, self._text.text
        end = min(len(text), start + _LOOKED_AT)
        first = _GAP.search(text, start, end)
        column += (first.start() if first is not None else end) - start
        for gap in _GAP.finditer(text, start, end):
            white, word = gap.groups()
            if white == " " or (white == "\n" and self._is_soft(gap)):
                broken = column + 1 + len(word) > width
                column = len(word) if broken else column + 1 + len(word)
                if broken != (white == "\n"):
                    yield gap, broken
            else:
                column = column + len(white) + len(word) if "\n" not in white else len(gap[0]) - white.rindex("\n") - 1

    def _is_soft(self, gap: re.Match[str]) -> bool:
        """Whether a line break of the document stands there only because the next word did not fit."""
        if self._own_width is None:
            lines = [len(line[1]) for line in _LINE.finditer(self._text.text)]
            self._own_width = max(lines, default=0)
        line = gap.start() - (self._text.text.rfind("\n", 0, gap.start()) + 1)
        return line + 1 + len(gap[2]) > self._own_width

    @property
    def _width(self) -> int:
        if self._high == _UNLIMITED:
            return _UNLIMITED
        usual = [width for width in _USUAL if self._low <= width <= self._high]
        return usual[0] if usual else (self._low + self._high) // 2

    def _column(self, before_break: bool = False) -> int:
        """Characters since the output's last line break; before_break: of the line that the last one ended."""
        column = 0
        for token in reversed(self._emitted):
            text = self._spelling.text(token)
            if before_break and "\n" in text:
                text, before_break = text.partition("\n")[0], False
            if "\n" in text:
                return column + len(text) - text.rindex("\n") - 1
            column += len(text)
            if column > _FAR:
                break
        return column

    def _length(self, tokens: Sequence[int]) -> int:
        return sum(len(self._spelling.text(token)) for token in tokens)
