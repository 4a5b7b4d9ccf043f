"""Each peer's rule, on cases small enough to know the answer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redraft.drafting.base import MAX_DRAFT, Verdict
from redraft.drafting.length import CostCurve
from redraft.replay.peers import LineResync, NGram, PromptLookup, SuffixDecoding, TokenResync
from redraft.replay.simulate import View, play

END, BREAK = 0, 9
CURVE = CostCurve(((1, 1.0), (201, 2.0)))


def drafted(peer, document, output, limit=MAX_DRAFT):
    """What the peer proposes after `output`, which it saw emitted token by token."""
    view = View(list(document), END)
    for token in output:
        peer.propose(view, limit)
        view.output.append(token)
        peer.observe(Verdict((token,), 0))
    return list(peer.propose(view, limit).tokens)


@pytest.mark.parametrize(
    ("document", "output", "expected"),
    [
        ([1, 2, 3, 4, 1, 2, 5], [1, 2], [3, 4, 1, 2, 5, 1, 2]),  # the leftmost of two, over the border and to the end
        ([1, 2, 3, 2, 4], [7, 2], [3, 2, 4, 7, 2]),  # no 2-gram: the leftmost 1-gram
        ([3, 1, 2, 1, 8], [2, 1], [8, 2, 1]),  # a 2-gram further right before a 1-gram further left
        ([1, 2, 3], [7], []),
        ([1, 2, 3, 2], [], [3, 2]),  # its rule knows no border: the document's end is looked up, too
        ([1, 2, 3], [7, 7, 7], [7]),  # an occurrence may overlap what is looked up
        ([], [5, 6, 5], [6, 5]),
        ([], [], []),
    ],
)
def test_prompt_lookup(document, output, expected):
    assert drafted(PromptLookup(), document, output) == expected


def test_prompt_lookup_drafts_ten():
    assert drafted(PromptLookup(), range(10, 60), [10, 11]) == list(range(12, 22))
    assert drafted(PromptLookup(), range(10, 60), [10, 11], limit=3) == [12, 13, 14]


@pytest.mark.parametrize(
    ("document", "output", "expected"),
    [
        ([2, 3, 8, 1, 2, 3, 7], [1, 2, 3], [7, 1, 2, 3]),  # the longest, not the leftmost
        ([1, 2, 3, 8, 1, 2, 3, 7], [1, 2, 3], [8, 1, 2, 3]),  # the earliest of the longest
        ([9, 1, 2, 3, 4, 5, 6, 8, 1, 2, 3, 4, 5, 6], [8, 1, 2, 3, 4, 5], [6, 8, 1, 2]),  # 5 tokens are the longest
        ([1, 2, 3], [7], []),
    ],
)
def test_ngram(document, output, expected):
    assert drafted(NGram(length=4), document, output) == expected


def test_ngram_always_drafts_as_many():
    assert len(drafted(NGram(), range(10, 90), [10])) == 32
    assert len(drafted(NGram(length=16), range(10, 90), [10])) == 16


@pytest.mark.parametrize(
    ("document", "output", "expected"),
    [
        (range(10, 90), [20], [21, 22]),  # one token matched, two drafted
        (range(10, 90), [5, 20, 21, 22], [23, 24, 25, 26, 27, 28]),
        ([1, 2, 3, 8, 1, 2, 3, 7], [1, 2, 3], [7, 1, 2, 3]),  # the most recent of the longest, to the end
        ([1, 2, 3, 8, 2, 3, 7], [1, 2, 3], [8, 2, 3, 7, 1, 2]),  # the longest, not the most recent
        ([1, 2, 3, 8], [3], [8, 3]),  # the document before the output is no part of the suffix
        (range(10, 90), [], []),
        (range(10, 90), [5], []),
    ],
)
def test_suffix_decoding(document, output, expected):
    assert drafted(SuffixDecoding(list(document), 2), document, output) == expected


@pytest.mark.parametrize(("factor", "matched", "length"), [(2, 3, 6), (4, 3, 12), (2, 40, 48), (4, 40, 64)])
def test_suffix_decoding_drafts_in_proportion(factor, matched, length):
    document = list(range(10, 210))
    peer = SuffixDecoding(document, factor)
    assert drafted(peer, document, document[:matched]) == document[matched : matched + length]


LINES = [1, 2, BREAK, 3, 4, BREAK, 5, 6, 7, BREAK, 3, 4, BREAK, 8, BREAK]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ([], [*LINES, END]),
        ([1], [*LINES[1:], END]),
        ([1, 5], []),  # lost
        ([1, 5, 6, 7, BREAK], []),  # the end of a line is not a whole line
        ([1, 5, BREAK, 3, 4, BREAK], [*LINES[6:], END]),
        ([1, 5, BREAK, 5, 6, 7, BREAK, 20, BREAK, 3, 4, BREAK], [*LINES[13:], END]),  # the next, not the first
        ([*LINES[:10], 20, BREAK, 1, 2, BREAK], []),  # it lies behind us
        ([1, 5, BREAK, 3, 4], []),  # not before the line has ended
        (LINES, [END]),
    ],
)  # fmt: skip
def test_line_resync(output, expected):
    assert drafted(LineResync(LINES, END, {BREAK}), LINES, output) == expected


def test_line_resync_drafts_sixty_four():
    assert len(drafted(LineResync(range(100, 300), END, {BREAK}), range(100, 300), [])) == 64


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (range(100, 110), range(110, 140)),
        ([*range(100, 110), 7, *range(112, 118)], []),  # six are not enough
        ([*range(100, 110), 7, *range(112, 119)], range(119, 140)),
        ([7, *range(120, 127), 7, *range(101, 108)], []),  # they lie behind us
        ([7, *range(120, 127)], range(127, 140)),
    ],
)
def test_token_resync(output, expected):
    document = list(range(100, 140))
    ending = [*expected, END] if expected else []
    assert drafted(TokenResync(document, END), document, output) == ending


def test_token_resync_drafts_the_whole_rest():
    assert drafted(TokenResync(range(100, 900), END), range(100, 900), []) == list(range(100, 356))


def scan(text, sizes, length):
    """The n-gram rules as they are told, by looking through the whole text."""
    for size in sizes:
        for start in range(len(text) - size):
            if text[start : start + size] == text[-size:]:
                return text[start + size : start + size + length]
    return []


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 3), max_size=12), st.lists(st.integers(1, 3), max_size=20))
def test_the_index_finds_what_a_scan_finds(document, output):
    for peer, sizes, length in ((PromptLookup(), (2, 1), 10), (NGram(), (5, 4, 3, 2, 1), 32)):
        assert drafted(peer, document, output) == scan([*document, *output], sizes, length)


PEERS = {
    "prompt lookup": lambda document: PromptLookup(),
    "ngram": lambda document: NGram(),
    "suffix": lambda document: SuffixDecoding(document),
    "line": lambda document: LineResync(document, END, {BREAK}),
    "token": lambda document: TokenResync(document, END),
}


@pytest.mark.parametrize("make", PEERS.values(), ids=PEERS)
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), max_size=40), st.lists(st.integers(1, 9), max_size=60))
def test_any_pair_can_be_played(make, document, output):
    result = play(make(document), document, output, END, CURVE)
    assert result.output_tokens == len(output) + 1
    bonuses = result.output_tokens - sum(result.accepted)
    assert len(result.drafted) - 1 <= bonuses <= len(result.drafted)
