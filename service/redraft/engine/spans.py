"""Document x output -> kept and moved spans, text edits, coverage. Pure text; offsets are code points."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rapidfuzz.distance import LCSseq

from redraft.engine.request import Range
from redraft.engine.results import Source, Span, TextEdit

# Words, white space (a line break alone) and single other characters. Scripts that are written without spaces are
# cut into characters, else one changed character would cost a whole sentence.
_PIECES = re.compile(r"[^\W\u0e00-\u0eff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff]+|\r?\n|[^\S\n]+|.", re.DOTALL)
_WORD = re.compile(r"\w")

# A difference of n x m pieces takes n * m / 64 words of memory; beyond this the block is compared by lines only.
_LARGEST_TABLE = 400_000_000
_MOVED_CHARACTERS = 20
_SHINGLE = 7  # pieces: about four words with their spaces
_SOLID_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Match:
    """document[document : document + length] == output[output : output + length]."""

    document: int
    output: int
    length: int
    moved: bool = False

    @property
    def document_end(self) -> int:
        return self.document + self.length

    @property
    def output_end(self) -> int:
        return self.output + self.length


def align(document: str, output: str) -> list[Match]:
    """Kept and moved text, in output order; the matches that are not moved are in document order too.

    A longest common subsequence (rapidfuzz's bit-parallel one, Hyyrö 2004) of lines, then of words inside the
    changed blocks; then whatever of the rest stands elsewhere in the unmatched document counts as moved.
    """
    kept = list(_without_crumbs(_merge(_aligned(document, output)), document, output))
    return sorted([*kept, *_moved(document, output, kept)], key=lambda match: match.output)


def final_spans(
    matches: Sequence[Match],
    output_length: int,
    token_ends: Sequence[int],
    sources: Sequence[Source],
    shift: int = 0,
) -> tuple[Span, ...]:
    """Spans that tile the output: maximal runs of one source and one match (or none).

    token_ends: where each emitted token ends in the output; sources: who proposed it. `shift` is where the
    rewritten text begins in the whole document.
    """
    return tuple(_joined(_atoms(matches, output_length, token_ends, sources, shift)))


def text_edits(
    document: str,
    output: str,
    complete: bool,
    selection: Range | None = None,
    matches: Sequence[Match] | None = None,
) -> tuple[TextEdit, ...]:
    """Edits that turn the whole document into the one with `output` in place of the selection (or of everything).

    An output that was cut replaces the document only up to where it had come: the tail stays.
    matches: the alignment of the rewritten text and the output, if it is known already.
    """
    start = selection.start if selection else 0
    text = document[selection.start : selection.end] if selection else document
    found = align(text, output) if matches is None else matches
    if not complete:
        text = text[: aligned_position(text, output, found)]
        found = align(text, output)
    return tuple(_replacements([match for match in found if not match.moved], text, output, start))


def apply_edits(document: str, edits: Sequence[TextEdit]) -> str:
    """The document with non-overlapping edits, in document order, applied."""
    parts: list[str] = []
    position = 0
    for edit in edits:
        parts += (document[position : edit.range.start], edit.text)
        position = edit.range.end
    return "".join(parts) + document[position:]


def aligned_position(document: str, output: str, matches: Sequence[Match] | None = None) -> int:
    """How far in the document a cut output has come; in doubt less, so that no text of the user's is lost.

    The end of the last kept run that is long enough not to be chance.
    """
    if document.startswith(output):
        return len(output)
    found = align(document, output) if matches is None else matches
    solid = [match for match in found if not match.moved and match.length >= _SOLID_CHARACTERS]
    return max((match.document_end for match in solid), default=0)


def kept_tokens(matches: Sequence[Match], token_ends: Sequence[int]) -> int:
    """Tokens with text that lies wholly in kept or moved text."""
    borders = [(match.output, match.output_end) for match in _touching(matches)]
    count, index = 0, 0
    for start, end in pairwise([0, *token_ends]):
        while index < len(borders) and borders[index][1] < end:
            index += 1
        count += start < end and index < len(borders) and borders[index][0] <= start
    return count


def oracle_coverage(document: Sequence[int], output: Sequence[int]) -> float:
    """LCS(document, output) / output tokens: the most that any draft from the document in order could give."""
    return LCSseq.similarity(document, output) / len(output) if output else 0.0


def _aligned(document: str, output: str) -> Iterator[Match]:
    """Matches in order, not merged: line by line first, then word by word inside changed blocks."""
    lines = document.splitlines(keepends=True), output.splitlines(keepends=True)
    starts = _starts(lines[0]), _starts(lines[1])
    for equal, (i1, i2), (j1, j2) in _blocks(*lines):
        base = starts[0][i1], starts[1][j1]
        if equal:
            yield Match(*base, starts[0][i2] - base[0])
        else:
            yield from _aligned_words(document[base[0] : starts[0][i2]], output[base[1] : starts[1][j2]], base)


def _aligned_words(document: str, output: str, base: tuple[int, int]) -> Iterator[Match]:
    pieces = _PIECES.findall(document), _PIECES.findall(output)
    if len(pieces[0]) * len(pieces[1]) > _LARGEST_TABLE:
        return
    starts = _starts(pieces[0]), _starts(pieces[1])
    for equal, (i1, i2), (j1, _) in _blocks(*pieces):
        if equal:
            yield Match(base[0] + starts[0][i1], base[1] + starts[1][j1], starts[0][i2] - starts[0][i1])


def _blocks(a: list[str], b: list[str]) -> Iterator[tuple[bool, tuple[int, int], tuple[int, int]]]:
    """Equal and changed blocks of two lists; a deletion and an insertion side by side are one changed block."""
    changed: list[int] | None = None
    for op in LCSseq.opcodes(a, b):
        if op.tag == "equal":
            if changed:
                yield False, (changed[0], changed[1]), (changed[2], changed[3])
            changed = None
            yield True, (op.src_start, op.src_end), (op.dest_start, op.dest_end)
        else:
            first = changed or [op.src_start, 0, op.dest_start, 0]
            changed = [first[0], op.src_end, first[2], op.dest_end]
    if changed:
        yield False, (changed[0], changed[1]), (changed[2], changed[3])


def _starts(pieces: list[str]) -> list[int]:
    return [0, *accumulate(map(len, pieces))]


def _merge(matches: Iterator[Match]) -> Iterator[Match]:
    """Join matches that touch on both sides."""
    last: Match | None = None
    for match in matches:
        if last and last.document_end == match.document and last.output_end == match.output:
            last = Match(last.document, last.output, last.length + match.length)
            continue
        if last:
            yield last
        last = match
    if last:
        yield last


def _without_crumbs(matches: Iterator[Match], document: str, output: str) -> Iterator[Match]:
    """Drop lone spaces and signs between two changes: a person reads the change as one."""
    for match in matches:
        text = output[match.output : match.output_end]
        at_edge = match.document == 0 == match.output or (
            match.document_end == len(document) and match.output_end == len(output)
        )
        if at_edge or len(text) > 2 or _WORD.search(text):
            yield match


def _moved(document: str, output: str, kept: list[Match]) -> Iterator[Match]:
    """Unmatched output that stands in the unmatched document elsewhere, found by shingles, in output order."""
    free_document = _complement([(match.document, match.document_end) for match in kept], len(document))
    free_output = _complement([(match.output, match.output_end) for match in kept], len(output))
    index = _shingles(document, free_document)
    taken: list[tuple[int, int]] = []
    for start, end in free_output:
        if end - start >= _MOVED_CHARACTERS and index:
            yield from _moved_in(document, output, (start, end), index, taken)


def _complement(intervals: list[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    edges = [0, *(edge for interval in intervals for edge in interval), length]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def _shingles(text: str, intervals: list[tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Every run of `_SHINGLE` pieces in the intervals -> (where it begins, where its interval ends)."""
    found: dict[str, tuple[int, int]] = {}
    for start, end in intervals:
        pieces = _PIECES.findall(text, start, end)
        starts = [start + offset for offset in _starts(pieces)]
        for i in range(len(pieces) - _SHINGLE + 1):
            found.setdefault(text[starts[i] : starts[i + _SHINGLE]], (starts[i], end))
    return found


def _moved_in(
    document: str,
    output: str,
    interval: tuple[int, int],
    index: dict[str, tuple[int, int]],
    taken: list[tuple[int, int]],
) -> Iterator[Match]:
    pieces = _PIECES.findall(output, *interval)
    starts = [interval[0] + offset for offset in _starts(pieces)]
    i = 0
    while i + _SHINGLE <= len(pieces):
        place = index.get(output[starts[i] : starts[i + _SHINGLE]])
        j = _extent(document, place, pieces, i) if place else i
        match = Match(place[0], starts[i], starts[j] - starts[i], moved=True) if place and j > i else None
        if match and match.length >= _MOVED_CHARACTERS and _is_free(match, taken):
            taken.append((match.document, match.document_end))
            yield match
            i = j
        else:
            i += 1


def _extent(document: str, place: tuple[int, int], pieces: list[str], first: int) -> int:
    """One past the last piece that still equals the document from `place` on."""
    position, limit = place
    index = first
    while index < len(pieces) and position + len(pieces[index]) <= limit:
        if not document.startswith(pieces[index], position):
            break
        position += len(pieces[index])
        index += 1
    return index


def _is_free(match: Match, taken: list[tuple[int, int]]) -> bool:
    return all(match.document_end <= start or end <= match.document for start, end in taken)


def _touching(matches: Sequence[Match]) -> Iterator[Match]:
    """Join matches that touch in the output, wherever they lie in the document."""
    last: Match | None = None
    for match in matches:
        if last and last.output_end == match.output:
            last = Match(last.document, last.output, last.length + match.length)
            continue
        if last:
            yield last
        last = match
    if last:
        yield last


def _replacements(matches: list[Match], document: str, output: str, shift: int) -> Iterator[TextEdit]:
    """What lies between the matches, as edits."""
    end = Match(len(document), len(output), 0)
    position = (0, 0)
    for match in [*matches, end]:
        if position != (match.document, match.output):
            where = Range(shift + position[0], shift + match.document)
            yield TextEdit(where, output[position[1] : match.output])
        position = (match.document_end, match.output_end)


def _atoms(
    matches: Sequence[Match], length: int, token_ends: Sequence[int], sources: Sequence[Source], shift: int
) -> Iterator[Span]:
    """Cut the output at every token and match border."""
    borders = {0, length, *token_ends}
    borders.update(edge for match in matches for edge in (match.output, match.output_end))
    token, index = 0, 0
    for start, end in pairwise(sorted(border for border in borders if border <= length)):
        while token < len(token_ends) - 1 and token_ends[token] <= start:
            token += 1
        while index < len(matches) and matches[index].output_end <= start:
            index += 1
        match = matches[index] if index < len(matches) and matches[index].output <= start else None
        source = sources[token] if sources else Source.TARGET
        yield Span(Range(start, end), _document_range(match, start, end, shift), source, bool(match and match.moved))


def _document_range(match: Match | None, start: int, end: int, shift: int) -> Range | None:
    if match is None:
        return None
    offset = shift + match.document - match.output
    return Range(start + offset, end + offset)


def _joined(spans: Iterator[Span]) -> Iterator[Span]:
    """Join neighbours that continue each other on both sides."""
    last: Span | None = None
    for span in spans:
        if last is not None and _continues(last, span):
            document = Range(last.document.start, span.document.end) if last.document and span.document else None
            last = Span(Range(last.output.start, span.output.end), document, span.source, span.moved)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _continues(a: Span, b: Span) -> bool:
    if a.source is not b.source or a.moved is not b.moved or (a.document is None) is not (b.document is None):
        return False
    return a.document is None or b.document is None or a.document.end == b.document.start


def provisional_spans(
    document: str, pieces: Sequence[tuple[str, Source, Range | None]], start: int, shift: int = 0
) -> tuple[Span, ...]:
    """Spans of one streamed piece: (text, source, where it seems to lie in the document) a token, from output `start`.

    A document range is only reported where the text there is equal.
    """
    return tuple(_joined(_provisional(document, pieces, start, shift)))


def _provisional(
    document: str, pieces: Sequence[tuple[str, Source, Range | None]], start: int, shift: int
) -> Iterator[Span]:
    for text, source, place in pieces:
        if not text:
            continue
        equal = place is not None and document[place.start : place.end] == text
        kept = Range(place.start + shift, place.end + shift) if place is not None and equal else None
        yield Span(Range(start, start + len(text)), kept, source)
        start += len(text)
