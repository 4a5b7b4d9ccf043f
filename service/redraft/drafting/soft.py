"""Soft equality: a document with other white space, line breaks, case or quotation marks is still the document."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

_WHITE = re.compile(r"\s*")
_WHITE_RUN = re.compile(r"\s+")
_WORD = re.compile(r"\S*")
_BROKEN = "\ufffd"  # stands in a token's text for bytes that are no whole character
_SAME = str.maketrans("“”„«»‘’‚´`–—", "\"\"\"\"\"'''''--")
_LONGEST = 64  # characters that are spelt anew at most


class Spelling:
    """The texts of a vocabulary's tokens and how words are spelt in them; made once, shared by all edits."""

    def __init__(self, texts: Sequence[str]) -> None:
        """texts: of every token by id, see `Vocabulary.texts`."""
        self._texts = tuple(texts)
        self._ids: dict[str, int] = {}
        for token, text in enumerate(self._texts):
            if text and _BROKEN not in text:
                self._ids.setdefault(text, token)

    def text(self, token: int) -> str:
        """The text of a token; "" if it has none of its own."""
        text = self._texts[token] if 0 <= token < len(self._texts) else ""
        return "" if _BROKEN in text else text

    def id(self, text: str) -> int | None:
        """The token that is just this text; None: there is none."""
        return self._ids.get(text)

    def ids(self, word: str) -> tuple[int, ...]:
        """A word's ids by byte-pair encoding (Sennrich et al. 2016); empty if a character of it has no token.

        Ids are taken for the order of merges, as nearly all vocabularies number them; where that is wrong a draft is.
        """
        if (whole := self._ids.get(word)) is not None:
            return (whole,)
        parts = list(word)
        while len(parts) > 1:
            joined = [self._ids.get(left + right) for left, right in pairwise(parts)]
            ranked = [(token, index) for index, token in enumerate(joined) if token is not None]
            if not ranked:
                break
            index = min(ranked)[1]
            parts[index : index + 2] = [parts[index] + parts[index + 1]]
        known = [self._ids.get(part) for part in parts]
        return tuple(token for token in known if token is not None) if None not in known else ()


@dataclass(frozen=True, slots=True)
class Seam:
    """A place inside the document's token `begins`, or before it, where the output's tokens are not the document's.

    offset: characters of the document that were copied; ahead: ids of what follows, up to the token `position`, from
    which on the document's own tokens go on; empty if they are not known.
    """

    begins: int
    offset: int
    position: int
    ahead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A gap between two words that the output made into another: a line break put in, or (not `broken`) taken out.

    word: characters of the word behind it.
    """

    broken: bool
    word: int


Spot = int | Seam
"""Where a copy has got to: before a token of the document, or at a seam."""


def token_at(spot: Spot) -> int:
    """The document's token that is not wholly copied yet."""
    return spot if isinstance(spot, int) else spot.begins


class SoftText:
    """A document as characters, to be followed by tokens that cut it elsewhere than its own."""

    def __init__(self, document: Sequence[int], spelling: Spelling) -> None:
        """document: its ids."""
        texts = [spelling.text(token) for token in document]
        self._document = tuple(document)
        self._spelling = spelling
        self.text = "".join(texts)
        self._starts = [0, *accumulate(map(len, texts))]  # of every token, and the end
        self._folded = _folded(self.text)

    def follow(self, spot: Spot, token: int) -> Spot | None:
        """Where a copy gets to by a token whose text is softly what stands at `spot`; None: it is not."""
        text = self._spelling.text(token)
        start = self._offset(spot)
        end = self._match(_folded(text), start) if text else None
        if end is None or start == end == len(self.text):
            return None
        if not text.strip():
            return self._behind_white(end, text)
        shouted = len(text.strip()) > 1 and text.isupper() and not self.text[start:end].isupper()
        return self._spot(end, "", shouted)

    def start(self, position: int) -> int:
        """The character at which a token begins."""
        return self._starts[position]

    def tokens(self, position: int, offset: int) -> tuple[int, ...]:
        """Ids from a token up to a character, a last token that goes beyond it spelt anew."""
        last = bisect_right(self._starts, offset) - 1
        cut = self.text[self._starts[last] : offset] if last >= position else ""
        return self._document[position:last] + (self._spelling.ids(cut) if cut else ())

    def behind_gap(self, offset: int, gap: str) -> Spot:
        """The spot of the word at `offset` if `gap` stands before it; a space is spelt with the word."""
        return self._behind_white(offset, gap)

    def gap_changed(self, spot: Spot, behind: Spot, token: int) -> Change | None:
        """The line break that a token put in or left out between two words, on its way from `spot` to `behind`."""
        ours = _WHITE_RUN.findall(self._spelling.text(token))
        start, end = self._offset(spot), self._offset(behind)
        found = list(_WHITE_RUN.finditer(self.text, start, max(end, _behind_white(self.text, start))))
        if len(ours) != 1 or len(found) != 1 or {ours[0], found[0][0]} != {" ", "\n"}:
            return None
        word = _WORD.match(self.text, found[0].end())
        return Change(ours[0] == "\n", len(word[0]) if word is not None else 0)

    def _offset(self, spot: Spot) -> int:
        return self._starts[spot] if isinstance(spot, int) else spot.offset

    def is_same_word(self, token: int, spot: Spot) -> bool:
        """Whether the token that led to `spot` is the document's there, but for white space before a word."""
        text = self._spelling.text(token)
        if isinstance(spot, int) and not text.strip():
            return self.text.startswith(text, self._starts[spot - 1]) and spot > 0
        offset = self._offset(spot)
        return self.text.endswith(text.strip(), 0, offset)

    def _match(self, text: str, start: int) -> int | None:
        """Where the folded text ends in the document, if it stands at `start`: any white space is as good as any."""
        index, place = 0, start
        if not text[0].isspace():
            place = _behind_white(self.text, place)
        while index < len(text):
            if text[index].isspace():
                behind = _behind_white(self.text, place)
                if behind == place and index:
                    return None
                index, place = _behind_white(text, index), behind
            elif self._folded[place : place + 1] == text[index]:
                index, place = index + 1, place + 1
            else:
                return None
        return place

    def _behind_white(self, offset: int, text: str) -> Spot:
        """The spot of a word behind other white space: the last space of an indentation belongs to the word."""
        first = self.text[offset : offset + 1]
        spaced = text.endswith(" ") and not first.isdigit()
        if spaced and self.text[offset - 1 : offset] == " " and self._token(offset - 1) is not None:
            offset -= 1
            spaced = False
        return self._spot(offset, " " if spaced else "", False)

    def _spot(self, offset: int, space: str, shouted: bool) -> Spot:
        position = self._token(offset)
        if position is not None and not space and not (shouted and self.text[offset : offset + 1].islower()):
            return position
        begins = bisect_right(self._starts, offset) - 1
        end = self._word_end(offset)
        word = space + self.text[offset : self._starts[end]]
        ahead = self._spelling.ids(word.upper() if shouted else word) if len(word) <= _LONGEST else ()
        return Seam(begins, offset, end, ahead)

    def _token(self, offset: int) -> int | None:
        """The token that begins at a character; None: it is inside of one."""
        index = bisect_left(self._starts, offset)
        return index if self._starts[index] == offset else None

    def _word_end(self, offset: int) -> int:
        """The first token behind a character that surely is spelt in any context as it is here."""
        last = len(self._starts) - 1
        index = min(last, bisect_right(self._starts, offset))
        while index < last and self._goes_on(self._starts[index]):
            index += 1
        return index

    def _goes_on(self, offset: int) -> bool:
        before, behind = self.text[offset - 1], self.text[offset]
        return not behind.isspace() and before.isalpha() == behind.isalpha()


def _folded(text: str) -> str:
    folded = text.translate(_SAME).lower()
    if len(folded) == len(text):
        return folded
    return "".join(lower if len(lower := char.lower()) == 1 else char for char in text.translate(_SAME))


def _behind_white(text: str, start: int) -> int:
    found = _WHITE.match(text, start)
    return found.end() if found is not None else start
