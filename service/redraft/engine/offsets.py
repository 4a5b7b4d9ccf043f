"""Offsets in UTF-8 bytes or UTF-16 units <-> code points, which the domain counts in."""

from __future__ import annotations

import numpy as np

from redraft.engine.request import OffsetEncoding
from redraft.errors import InvalidRange, MalformedRequest


def require_encodable(text: str, field: str) -> None:
    """Raise MalformedRequest if the text holds a lone surrogate, which no encoding can carry."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedRequest(f"{field} holds a lone surrogate at code point {error.start}") from None


class OffsetMap:
    """Converts offsets of one text; O(1) where the units coincide, O(log n) elsewhere."""

    def __init__(self, text: str, encoding: OffsetEncoding) -> None:
        self._length = len(text)
        self._starts = None if _same_units(text, encoding) else _starts(text, encoding)

    def from_code_point(self, offset: int) -> int:
        """Units before the code point at `offset` (0 .. length)."""
        return offset if self._starts is None else int(self._starts[offset])

    def to_code_point(self, offset: int) -> int:
        """Code points before a unit offset; raises InvalidRange outside the text or inside a code point."""
        if self._starts is None:
            if not 0 <= offset <= self._length:
                raise InvalidRange(f"offset {offset} is outside the text (0 to {self._length})")
            return offset
        index = int(np.searchsorted(self._starts, offset))
        if offset < 0 or index > self._length:
            raise InvalidRange(f"offset {offset} is outside the text (0 to {int(self._starts[-1])})")
        if self._starts[index] != offset:
            raise InvalidRange(f"offset {offset} is inside a character")
        return index


class OffsetCounter:
    """Code points -> units of a growing text, for streamed spans."""

    def __init__(self, encoding: OffsetEncoding) -> None:
        self._encoding = encoding
        self._code_points = 0
        self._units = 0

    def append(self, text: str) -> OffsetWindow:
        """Take in the next piece; the result converts offsets that lie in it."""
        window = OffsetWindow(self._code_points, self._units, OffsetMap(text, self._encoding))
        self._code_points += len(text)
        self._units += window.map.from_code_point(len(text))
        return window


class OffsetWindow:
    """Converts offsets inside one piece of a growing text."""

    def __init__(self, code_points: int, units: int, offset_map: OffsetMap) -> None:
        self._code_points = code_points
        self._units = units
        self.map = offset_map

    def from_code_point(self, offset: int) -> int:
        """Units of the whole text before its code point `offset`, which lies in this piece or at its end."""
        return self._units + self.map.from_code_point(offset - self._code_points)

    def to_code_point(self, offset: int) -> int:
        """Code points of the whole text before its unit `offset`; raises InvalidRange outside this piece."""
        return self._code_points + self.map.to_code_point(offset - self._units)


def _same_units(text: str, encoding: OffsetEncoding) -> bool:
    if encoding is OffsetEncoding.CODE_POINTS or text.isascii():
        return True
    return encoding is OffsetEncoding.UTF16 and max(text) <= "\uffff"


def _starts(text: str, encoding: OffsetEncoding) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """int64[code points + 1]: units before each code point."""
    code_points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    if encoding is OffsetEncoding.UTF16:
        widths = 1 + (code_points > 0xFFFF).astype(np.int64)
    else:
        widths = 1 + sum(
            ((code_points > bound).astype(np.int64) for bound in (0x7FF, 0xFFFF)), (code_points > 0x7F).astype(np.int64)
        )
    return np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
