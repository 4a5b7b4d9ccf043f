"""Soft equality on a vocabulary of whole words: sync is kept over changed white space, case and line ends."""

from __future__ import annotations

import re
import textwrap

import pytest
from redraft.drafting.alignment import Alignment
from redraft.drafting.base import Verdict
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.drafting.soft import Seam, SoftText, Spelling
from redraft.replay.simulate import View, play

FLAT = CostCurve(((1, 1.0), (201, 2.0)))
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECE = re.compile(r"\n+| *\w+|[^\w\s]|\s+")
PROSE = " ".join(
    f"{LETTERS[i % 26]}{LETTERS[(i * 7 + 3) % 26]}{LETTERS[(i * i + i // 26) % 26] * (i % 9)}{LETTERS[i // 26]}"
    for i in range(260)
)


class Words:
    """Whole words, with and without a leading space and in three cases, are tokens; id 0 ends an output."""

    def __init__(self, *texts: str) -> None:
        pieces = {piece for text in texts for piece in PIECE.findall(text)}
        bare = {piece.strip() for piece in pieces if piece.strip()}
        cases = {case for word in bare for case in (word, word.capitalize(), word.upper())}
        known = {"\n", " ", *pieces, *cases, *(f" {word}" for word in cases)}
        self.texts = ["", *sorted(known)]
        self.ids = {text: token for token, text in enumerate(self.texts) if text}
        self.spelling = Spelling(self.texts)

    def encode(self, text: str) -> list[int]:
        return [self.ids[piece] for piece in PIECE.findall(text)]


def passes(document: str, output: str) -> int:
    words = Words(document, output)
    drafter = ComposedDrafter(words.encode(document), 0, Planner(Learned.shipped(), FLAT), spelling=words.spelling)
    return len(play(drafter, words.encode(document), words.encode(output), 0, FLAT).drafted)


@pytest.mark.parametrize(
    ("document", "output", "goes_on"),
    [
        ("the cat sat on the mat at noon", "the cat sat on the\nmat", " at"),
        ("the cat sat on the\nmat at noon", "the cat sat on the mat", " at"),
        ("the cat sat on the mat at noon", "the cat sat on The", " mat"),
        ("the cat sat on the mat at noon", "the CAT", " sat"),
        ("say “yes” to the cat", 'say "', "yes"),
        ("the cat\n  sat on the mat", "the cat\n    sat", " on"),
    ],
)
def test_the_place_behind_a_soft_change_is_known(document, output, goes_on):
    words = Words(document, output, goes_on)
    ids = words.encode(document)
    alignment = Alignment(ids, spelling=words.spelling)
    for token in words.encode(output):
        alignment.observe(token)
    (place,) = alignment.places(0)
    assert (place.copying, place.lead, words.texts[ids[place.position]]) == (True, (), goes_on)
    assert place.probability > 0.99
    assert alignment.breaks == 0


@pytest.mark.parametrize(
    ("document", "output", "proposed"),
    [
        ("the cat sat on the mat at noon", "the cat sat on the\n", "mat at noon"),
        ("the cat sat on the mat at noon", "the cat\n\n", "sat on the mat at noon"),
        ("the cat sat on the\nmat at noon", "the cat sat on the mat", " at noon"),
    ],
)
def test_behind_another_gap_the_document_is_proposed_spelt_anew(document, output, proposed):
    words = Words(document, output)
    drafter = ComposedDrafter(words.encode(document), 0, Planner(Learned.shipped(), FLAT), spelling=words.spelling)
    drafter.observe(Verdict(tuple(words.encode(output)), 0))
    draft = drafter.propose(View(words.encode(document), 0), 256)
    assert "".join(words.texts[token] for token in draft.candidate) == proposed
    assert draft.candidate[-1] == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [(60, 72), (72, 60), (72, None), (None, 72)],
    ids=["wider", "narrower", "unwrapped", "wrapped"],
)
def test_rewrapped_prose_is_copied_nearly_as_fast_as_unchanged_prose(before, after):
    document, output = (textwrap.fill(PROSE, width) if width else PROSE for width in (before, after))
    assert passes(document, output) <= passes(document, document) + 12


def test_a_single_line_break_put_in_does_not_make_others_expected_for_long():
    words = PROSE.split(" ")
    output = " ".join(words[:20]) + "\n" + " ".join(words[20:])
    assert passes(PROSE, output) <= passes(PROSE, PROSE) + 5


def test_a_copy_inside_a_document_is_still_one_comparison():
    words = Words(PROSE)
    alignment = Alignment(words.encode(PROSE), spelling=words.spelling)
    tokens = tuple(words.encode(PROSE))
    alignment.observe(tokens[0])
    assert alignment.advance(tokens[1:]) == len(tokens) - 1


def test_a_seam_inside_a_token_is_spelt_by_pairs_in_the_order_of_their_ids():
    texts = ["", *"abcdefghijklmnopqrstuvwxyz", " ", "\n", "lo", "low", "re", "ref", " ref", " a"]
    ids = {text: token for token, text in enumerate(texts)}
    soft = SoftText([ids["a"], ids[" ref"], ids["low"], ids[" a"]], Spelling(texts))
    seam = soft.follow(1, ids["\n"])
    assert seam == Seam(begins=1, offset=2, position=3, ahead=(ids["ref"], ids["low"]))
    assert soft.follow(seam, ids["ref"]) == 2


def test_other_words_are_not_softly_equal():
    words = Words("the cat sat", "the dog catsat")
    soft = SoftText(words.encode("the cat sat"), words.spelling)
    assert soft.follow(1, words.ids[" dog"]) is None
    assert soft.follow(1, words.ids[" catsat"]) is None


def test_a_fence_around_the_output_is_closed_before_the_end():
    words = Words(PROSE, "```\n")
    words.ids["```"] = len(words.texts)
    spelling = Spelling([*words.texts, "```"])
    document, fence = words.encode(PROSE), (words.ids["```"], words.ids["\n"])
    output = [*fence, *document, *reversed(fence)]
    drafter = ComposedDrafter(document, 0, Planner(Learned.shipped(), FLAT), spelling=spelling)
    result = play(drafter, document, output, 0, FLAT)
    assert result.accepted[-1] > 3
    assert sum(result.accepted) >= len(document) - 3
