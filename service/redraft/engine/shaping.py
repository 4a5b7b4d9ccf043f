"""Between the model's text and the client's: stop strings, unwrapping, the document's frame. Nothing is retracted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from redraft.engine.results import Shaping

_MOST_HELD = 200  # characters of a first line that may still turn out to be a preamble


@dataclass(frozen=True, slots=True)
class Piece:
    """Text and the emitted token it came from."""

    text: str
    token: int


class Stage(Protocol):
    """One step of the way: holds back what may still change, releases the rest, in order."""

    def feed(self, piece: Piece) -> Iterable[Piece]: ...

    def finish(self, complete: bool) -> Iterable[Piece]: ...


class OutputShaper:
    """The stages in a row, and for each token where its text ends in the output (code points)."""

    def __init__(self, document: str, stop: Sequence[str], unwrap: bool, preserve_frame: bool) -> None:
        """document: the text that is rewritten (the selection, if there is one)."""
        self._stop = _Stop(stop) if stop else None
        self._unwrap = _Unwrap(document) if unwrap else None
        self._frame = _Frame(document) if preserve_frame and document.strip() else None
        self._stages: list[Stage] = [stage for stage in (self._stop, self._unwrap, self._frame) if stage]
        self._lengths: list[int] = []

    def feed(self, text: str) -> list[Piece]:
        """The next token's text (may be empty); returns what is released by it."""
        self._lengths.append(0)
        return self._released(self._through([Piece(text, len(self._lengths) - 1)], 0))

    def finish(self, complete: bool) -> list[Piece]:
        """The end of the output: whatever was held back is decided. complete: the model ended it itself."""
        released: list[Piece] = []
        for index, stage in enumerate(self._stages):
            released += self._through(list(stage.finish(complete)), index + 1)
        return self._released(released)

    def finish_with(self, text: str, complete: bool) -> list[Piece]:
        """The last characters (they belong to the last token), then the end."""
        last = max(0, len(self._lengths) - 1)
        released = self._released(self._through([Piece(text, last)], 0)) if text and self._lengths else []
        return [*released, *self.finish(complete)] if self._lengths else []

    @property
    def token_ends(self) -> list[int]:
        """End of every fed token's released text in the output; non-decreasing."""
        ends, total = [], 0
        for length in self._lengths:
            total += length
            ends.append(total)
        return ends

    @property
    def stop_string(self) -> str:
        """The stop string that was met, or empty."""
        return self._stop.met if self._stop else ""

    @property
    def shaping(self) -> Shaping:
        prefix, suffix = (self._unwrap.prefix, self._unwrap.suffix) if self._unwrap else ("", "")
        if self._frame is None:
            return Shaping(prefix, suffix)
        return Shaping(prefix, suffix, self._frame.restored_leading, self._frame.restored_trailing, self._frame.ending)

    def _through(self, pieces: list[Piece], first: int) -> list[Piece]:
        for stage in self._stages[first:]:
            pieces = [out for piece in pieces for out in stage.feed(piece)]
        return pieces

    def _released(self, pieces: list[Piece]) -> list[Piece]:
        pieces = [piece for piece in pieces if piece.text]
        for piece in pieces:
            self._lengths[piece.token] += len(piece.text)
        return pieces


class _Held:
    """Text that waits for a decision, with the tokens it came from."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self.text = ""

    def add(self, piece: Piece) -> None:
        self._pieces.append(piece)
        self.text += piece.text

    def take(self, count: int) -> list[Piece]:
        """Remove and return the first `count` characters."""
        taken: list[Piece] = []
        self.text = self.text[count:]
        while count and self._pieces:
            piece = self._pieces.pop(0)
            taken.append(Piece(piece.text[:count], piece.token))
            if count < len(piece.text):
                self._pieces.insert(0, Piece(piece.text[count:], piece.token))
            count = max(0, count - len(piece.text))
        return taken

    @property
    def last_token(self) -> int:
        return self._pieces[-1].token if self._pieces else 0


class _Stop:
    """Ends the output before the stop string that is completed first."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = sorted(set(stop), key=len, reverse=True)
        self._held = _Held()
        self.met = ""

    def feed(self, piece: Piece) -> Iterable[Piece]:
        if self.met:
            return []
        self._held.add(piece)
        ends = [(self._held.text.find(stop) + len(stop), stop) for stop in self._stop if stop in self._held.text]
        if ends:
            end, self.met = min(ends, key=lambda found: (found[0], -len(found[1])))
            return self._held.take(end - len(self.met))
        return self._held.take(len(self._held.text) - self._open_suffix())

    def finish(self, complete: bool) -> Iterable[Piece]:
        return [] if self.met else self._held.take(len(self._held.text))

    def _open_suffix(self) -> int:
        """Length of the longest suffix with which a stop string may begin."""
        text = self._held.text
        longest = max(map(len, self._stop)) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stop):
                return length
        return 0


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[^\n`]*\n")
_FENCE_BEGINNING = re.compile(r"[ \t]*(`{1,2}|~{1,2}|(`{3,}|~{3,})[^\n`]*)?")
_OPENER = re.compile(
    r"(here|sure|certainly|of course|okay|ok|below|absolutely|the (re|up|corr|ed|mod|prooof|full)|"
    r"(re(written|vised)|updated|corrected|edited|modified|proofread|document|output)\b)",
    re.IGNORECASE,
)
_SAME_BEGINNING = 40  # characters like the document's own: what leads them is no wrapper
_LONGEST_OPENER = len("proofread") + 1


class _Unwrap:
    """Drops a code fence or a one-line preamble around the output, never where the document begins so itself."""

    def __init__(self, document: str) -> None:
        self._document = document.lstrip()
        self._held = _Held()
        self._decided = False
        self._fence = ""
        self._at_line_start = True  # whether what is held begins a line
        self.prefix = ""
        self.suffix = ""

    def feed(self, piece: Piece) -> Iterable[Piece]:
        self._held.add(piece)
        if not self._decided and not self._decide(final=False):
            return []
        count = len(self._held.text) - self._open_suffix()
        if count:
            self._at_line_start = self._held.text[count - 1] == "\n"
        return self._held.take(count)

    def finish(self, complete: bool) -> Iterable[Piece]:
        if not self._decided:
            self._decide(final=True)
        text = self._held.text
        closing = self._closing(text) if self._fence and complete else None
        if closing is None:
            return self._held.take(len(text))
        keep = closing + 1 if self._document.endswith("\n") and text[closing : closing + 1] == "\n" else closing
        released = self._held.take(keep)
        self.suffix = self._held.text
        return released

    def _decide(self, final: bool) -> bool:
        """Drop what wraps the beginning, once it is clear that it does."""
        length = self._wrapper(self._held.text, final)
        if length is None:
            return False
        self._decided = True
        self.prefix = self._held.text[:length]
        self._held.take(length)
        return True

    def _wrapper(self, text: str, final: bool) -> int | None:
        """How many characters of preamble and opening fence lead the text; None: not clear yet."""
        body = text.lstrip("\n")
        start = len(text) - len(body)
        if not body:
            return 0 if final else None
        if len(body) >= _SAME_BEGINNING and self._document.startswith(body[:_SAME_BEGINNING]):
            return 0
        preamble = self._preamble(body, final)
        fence = self._opening(body[preamble:], final) if preamble is not None else None
        if preamble is None or fence is None:
            return None
        return start + preamble + fence if preamble + fence else 0

    def _preamble(self, body: str, final: bool) -> int | None:
        """Length of a first line like "Here is the rewritten text:" before a blank line or a fence."""
        line, newline, rest = body.partition("\n")
        if not _may_open(line) or len(line) > _MOST_HELD:
            return 0
        if not newline:
            return 0 if final else None
        if not line.rstrip().endswith(":") or self._document.startswith(line + newline):
            return 0
        text = rest.lstrip("\n")
        if not text and not final:
            return None
        if text != rest or _FENCE.match(rest):
            return len(line) + 1 + len(rest) - len(text)
        return None if not final and _FENCE_BEGINNING.fullmatch(rest) else 0

    def _opening(self, rest: str, final: bool) -> int | None:
        if self._document.startswith(("```", "~~~")):
            return 0
        match = _FENCE.match(rest)
        if match:
            self._fence = match[1]
            return match.end()
        unclear = not final and _FENCE_BEGINNING.fullmatch(rest) and len(rest) <= _MOST_HELD
        return None if unclear else 0

    def _closing(self, text: str) -> int | None:
        """Where a closing fence (with its line break) begins, if it ends the text."""
        stripped = text.rstrip()
        if not stripped.endswith(self._fence):
            return None
        before = stripped[: -len(self._fence)]
        if not (before.endswith("\n") if before else self._at_line_start):
            return None
        return max(0, len(before) - 1)

    def _open_suffix(self) -> int:
        """Length of the text's end that may become the closing fence."""
        if not self._fence:
            return 0
        beginning = r"(\n|\A)" if self._at_line_start else r"(\n)"
        match = re.search(rf"{beginning}({re.escape(self._fence[0])}{{0,{len(self._fence)}}})\s*\Z", self._held.text)
        return len(self._held.text) - match.start() if match else 0


def _may_open(line: str) -> bool:
    """Whether a first line is, or may become, one of the usual phrases before a rewritten text."""
    if len(line) < _LONGEST_OPENER:
        return True
    return bool(_OPENER.match(line.lstrip("*# ")))


class _Frame:
    """Keeps the document's leading and trailing white space and its line endings."""

    def __init__(self, document: str) -> None:
        body = document.strip()
        start = document.index(body)
        self._leading, self._trailing = document[:start], document[start + len(body) :]
        self._held = _Held()
        self._began = False
        self._after_return = False
        self.ending = _line_ending(document)
        self.restored_leading = self.restored_trailing = ""

    def feed(self, piece: Piece) -> Iterable[Piece]:
        self._held.add(piece)
        text = self._held.text
        if not text.strip():
            return []
        released: list[Piece] = []
        if not self._began:
            self._began = True
            own = len(text) - len(text.lstrip())
            if text[:own] != self._leading:
                self.restored_leading = self._leading
            self._held.take(own)
            released.append(Piece(self._leading, piece.token))
        body = self._held.take(len(self._held.text.rstrip()))
        return [*released, *map(self._with_line_endings, body)]

    def finish(self, complete: bool) -> Iterable[Piece]:
        if not self._began:
            return []
        token = self._held.last_token
        if not complete:
            return [self._with_line_endings(piece) for piece in self._held.take(len(self._held.text))]
        if self._held.text != self._trailing:
            self.restored_trailing = self._trailing
        return [Piece(self._trailing, token)]

    def _with_line_endings(self, piece: Piece) -> Piece:
        """White space is held as one, so a CR LF that the model wrote is never cut here."""
        if not self.ending or not piece.text:
            return piece
        text = piece.text.removeprefix("\n") if self._after_return else piece.text
        self._after_return = piece.text.endswith("\r")
        text = text.replace("\r\n", "\n")
        if self._after_return:
            text = text[:-1] + "\n"
        return Piece(text.replace("\n", self.ending), piece.token)


def _line_ending(document: str) -> str:
    """The document's one style of line ending; empty if it has none or mixes them."""
    crlf = document.count("\r\n")
    if crlf and crlf == document.count("\n") == document.count("\r"):
        return "\r\n"
    return "\n" if "\n" in document and "\r" not in document else ""
