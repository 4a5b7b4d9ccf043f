"""Spans, edits, offsets and shaping for any document and output."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redraft.engine.offsets import OffsetCounter, OffsetMap, require_encodable
from redraft.engine.request import OffsetEncoding, Range
from redraft.engine.results import Source
from redraft.engine.shaping import OutputShaper
from redraft.engine.spans import align, aligned_position, apply_edits, final_spans, kept_tokens, text_edits
from redraft.errors import InvalidRange, MalformedRequest

WORDS = [
    "the",
    "cat",
    " ",
    " ",
    "\n",
    "\r\n",
    ".",
    "👋🏽",
    "e\u0301",
    "שלום",
    "漢字",
    "\0",
    "Hello",
    "world ",
    "```",
    "Here is:",
]
texts = st.lists(st.sampled_from(WORDS), max_size=60).map("".join)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
documents = st.one_of(texts, anything)


@given(documents, documents)
def test_edits_give_the_output_and_spans_tile_it(document, output):
    assert apply_edits(document, text_edits(document, output, True)) == output
    matches = align(document, output)
    spans = final_spans(matches, len(output), [len(output)], [Source.TARGET])
    assert "".join(output[s.output.start : s.output.end] for s in spans) == output
    for span in spans:
        if span.document is not None:
            kept = document[span.document.start : span.document.end]
            assert kept == output[span.output.start : span.output.end]


@given(documents, documents)
def test_a_cut_output_keeps_the_tail(document, output):
    position = aligned_position(document, output)
    assert apply_edits(document, text_edits(document, output, False)) == output + document[position:]


@given(documents, documents, st.data())
def test_selection_edits_touch_the_selection_only(document, output, data):
    start = data.draw(st.integers(0, len(document)))
    end = data.draw(st.integers(start, len(document)))
    edits = text_edits(document, output, True, Range(start, end))
    assert apply_edits(document, edits) == document[:start] + output + document[end:]


def test_everything_kept_counts_every_token():
    text = "one two three"
    assert kept_tokens(align(text, text), [3, 7, 13]) == 3
    assert kept_tokens(align(text, "one zwei three"), [3, 8, 14]) == 2


def test_a_moved_paragraph_is_found():
    a, b = "The first paragraph is about cats and dogs.\n", "The second one tells of trains and their drivers.\n"
    assert [match.moved for match in align(a + b, b + a)].count(True) == 1


@given(anything, st.sampled_from(OffsetEncoding))
def test_offsets_go_there_and_back(text, encoding):
    offsets = OffsetMap(text, encoding)
    sizes = {OffsetEncoding.UTF8: "utf-8", OffsetEncoding.UTF16: "utf-16-le", OffsetEncoding.CODE_POINTS: "utf-32-le"}
    unit = {OffsetEncoding.UTF8: 1, OffsetEncoding.UTF16: 2, OffsetEncoding.CODE_POINTS: 4}[encoding]
    for index in range(len(text) + 1):
        units = offsets.from_code_point(index)
        assert units == len(text[:index].encode(sizes[encoding])) // unit
        assert offsets.to_code_point(units) == index


def test_offsets_inside_and_outside_are_refused():
    for offset in (-1, 1, 2, 3, 5):
        with pytest.raises(InvalidRange):
            OffsetMap("😀", OffsetEncoding.UTF8).to_code_point(offset)
    with pytest.raises(MalformedRequest):
        require_encodable("a\ud800", "document")


@given(st.lists(anything, max_size=6), st.sampled_from(OffsetEncoding))
def test_a_growing_text_counts_like_the_whole(pieces, encoding):
    counter, whole, position = OffsetCounter(encoding), OffsetMap("".join(pieces), encoding), 0
    for piece in pieces:
        window = counter.append(piece)
        position += len(piece)
        assert window.from_code_point(position) == whole.from_code_point(position)


def shape(document, text, cuts, **options):
    shaper = OutputShaper(document, options["stop"], options["unwrap"], options["frame"])
    released = []
    edges = [0, *sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
    for start, end in itertools.pairwise(edges):
        released += shaper.feed(text[start:end])
        if shaper.stop_string:
            break
    released += shaper.finish(options["complete"])
    output = "".join(piece.text for piece in released)
    assert shaper.token_ends[-1] == len(output)
    return output, shaper.shaping, shaper.stop_string


@given(
    documents,
    documents,
    st.lists(st.integers(0, 200), max_size=12),
    st.lists(st.sampled_from(["the", "he", "cat.", "\n\n", "``"]), max_size=2),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_shaping_does_not_depend_on_how_the_text_is_cut(document, text, cuts, stop, unwrap, frame, complete):
    options = {"stop": tuple(stop), "unwrap": unwrap, "frame": frame, "complete": complete}
    assert shape(document, text, cuts, **options) == shape(document, text, [], **options)


PLAIN = {"stop": (), "unwrap": True, "frame": True, "complete": True}


@pytest.mark.parametrize(
    ("document", "text", "expected"),
    [
        ("Hello.\n", "```\nHello!\n```", "Hello!\n"),
        ("Hello.\n", "Here is the rewritten text:\n\nHello!", "Hello!\n"),
        ("Hello", "Sure! Here it is:\n```text\nHi\n``` ", "Hi"),
        ("```\na\n```\n", "```\nb\n```\n", "```\nb\n```\n"),
        ("Here is it:\n\nfoo", "Here is it:\n\nbar", "Here is it:\n\nbar"),
        ("a\r\nb\r\n", "a\nc", "a\r\nc\r\n"),
        ("  x\n\n", "y", "  y\n\n"),
    ],
)
def test_wrappers_go_and_the_frame_stays(document, text, expected):
    assert shape(document, text, [], **PLAIN)[0] == expected


def test_stop_string_across_pieces_ends_the_output():
    options = {"stop": ("END",), "unwrap": False, "frame": False, "complete": True}
    assert shape("x", "abc END def", [5, 6], **options)[::2] == ("abc ", "END")
