"""Alignment, survival, length and guard on small cases whose answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redraft.drafting.alignment import Alignment
from redraft.drafting.base import EMPTY, MAX_DRAFT, Draft
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.confidence import FAMILIES, SIZE, Confidence, Seen
from redraft.drafting.guard import SHARE, SPARE, Guard
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve, allocate, cost_to_break
from redraft.drafting.lookup import Lookup
from redraft.drafting.planner import Candidate, Planner
from redraft.drafting.replacements import Replacements
from redraft.drafting.survival import Hindsight, SurvivalTable
from redraft.engine.results import Source
from redraft.replay.peers import PromptLookup, SuffixDecoding
from redraft.replay.simulate import play

END = 0
FLAT = CostCurve(((1, 1.0), (201, 2.0)))
STEEP = CostCurve(((1, 1.0), (2, 1.4), (16, 2.0), (64, 4.0), (256, 13.0)))
DOCUMENT = list(range(10, 210))


def planner(curve=FLAT):
    return Planner(Learned.shipped(), curve)


def replay(document, output, curve=FLAT):
    return play(ComposedDrafter(document, END, planner(curve)), document, output, END, curve)


@pytest.mark.parametrize(
    ("output", "at"),
    [
        ([*DOCUMENT[:50], 900, *DOCUMENT[51:70]], 70),  # substitution
        ([*DOCUMENT[:50], 900, 901, 902, *DOCUMENT[50:70]], 70),  # insertion
        ([*DOCUMENT[:50], *DOCUMENT[80:100]], 100),  # deletion
        ([*DOCUMENT[100:150], *DOCUMENT[20:40]], 40),  # a move, backwards
    ],
)
def test_alignment_finds_its_way_back(output, at):
    alignment = Alignment(DOCUMENT)
    for token in output:
        alignment.observe(token)
    best = alignment.places(0)[0]
    assert best.copying
    assert (best.position, best.probability > 0.9) == (at, True)


def test_an_unchanged_document_takes_a_few_passes():
    result = replay(DOCUMENT, DOCUMENT)
    assert len(result.drafted) <= 3
    assert sum(result.accepted) >= len(DOCUMENT) - 2


def test_a_substitution_costs_few_passes():
    output = [*DOCUMENT[:60], 901, 902, *DOCUMENT[62:140], 903, *DOCUMENT[141:]]
    assert len(replay(DOCUMENT, output).drafted) <= 14


tokens = st.lists(st.integers(1, 6), max_size=60)


@settings(max_examples=150)
@given(tokens, tokens, st.sampled_from([FLAT, STEEP]))
def test_any_pair_plays_to_the_end(document, output, curve):
    result = replay(document, output, curve)
    passes = len(result.accepted)
    assert result.output_tokens in (sum(result.accepted) + passes, sum(result.accepted) + passes - 1)
    assert all(a <= d <= MAX_DRAFT for a, d in zip(result.accepted, result.drafted, strict=True))


def test_nothing_in_common_costs_at_most_the_guard():
    output = [1000 + i for i in range(400)]
    result = replay(DOCUMENT, output, STEEP)
    assert result.cost <= result.plain_cost * (1 + SHARE) + SPARE + 1e-9


def test_guard_opens_again_when_hindsight_shows_a_gain():
    guard, costs = Guard(), STEEP.costs(1, MAX_DRAFT)
    while guard.allowed(costs) >= 8:
        guard.settle((1,), 8, costs)
    shut = guard.allowed(costs)
    guard.withheld(tuple(range(20, 40)), costs)
    for token in range(20, 40):
        guard.settle((token,), 0, costs)
    assert guard.allowed(costs) > shut + 8


def test_cost_to_break_agrees_with_brute_force_on_a_stationary_run():
    stay = 0.9
    survival = stay ** np.arange(MAX_DRAFT + 2)
    costs = STEEP.costs(1, MAX_DRAFT)
    best = min(costs[n] / (1 - stay ** (n + 1)) for n in range(MAX_DRAFT))
    assert cost_to_break(survival, costs)[0] == pytest.approx(best, rel=0.02)


def draft(survival, value=1.0):
    chance = np.array(survival, dtype=np.float64)
    chain = tuple(range(len(chance)))
    return Draft(chain, len(chain), Source.DOCUMENT, None, chance, np.full(len(chance), value))


def test_allocation_of_one_edit_is_the_exact_optimum():
    one = draft([0.9, 0.85, 0.8, 0.3, 0.2])
    gains = [float(np.sum(one.survival[:n])) - float(STEEP.costs(1, 5)[n]) for n in range(6)]
    assert allocate([one], 1, STEEP) == [int(np.argmax(gains))]


def test_edits_compete_for_the_pass():
    sure, vague = draft([0.99] * 40, 0.2), draft([0.2, 0.05, 0.01], 0.2)
    lengths = allocate([sure, EMPTY, vague], 3, STEEP)
    assert lengths[0] > 10
    assert lengths[1:] == [0, 0]


def test_hindsight_scores_chains_that_were_never_proposed():
    table = SurvivalTable()
    hindsight = Hindsight(table)
    hindsight.candidate("a", (1, 2, 3, 9))
    hindsight.candidate("b", (1, 2))
    hindsight.candidate("c", (1, 2, 3, 4, 5, 6, 7))
    for emitted in ((1,), (2, 3), (4,)):
        hindsight.observe(emitted)
    learned = dict(table.counts())
    assert learned["a"].failures.sum() == 1
    assert learned["a"].trials.sum() == 4
    assert learned["b"].failures.sum() == 0
    assert "c" not in learned  # the edit's end censors


def test_what_was_learned_survives_a_restart():
    learned, features = Learned.shipped(), seen().features()
    for _ in range(100):
        learned.survival.learn("copy/1/1/1", 3, failed=True)
        learned.confidence.learn(0.5, features, right=True)
    again = Learned.shipped()
    again.restore(json.loads(json.dumps(learned.to_json())))
    assert np.array_equal(again.survival.survival("copy/1/1/1"), learned.survival.survival("copy/1/1/1"))
    expected = learned.confidence.probability(0.5, features)
    assert again.confidence.probability(0.5, features) == pytest.approx(expected, abs=0.01)
    broken = {"survival": {"x": [[1.0], [1.0]]}, "confidence": [0.0] * SIZE}
    for damaged in ({}, broken, {"survival": {}, "confidence": [1]}):
        with pytest.raises((KeyError, ValueError)):
            again.restore(damaged)


def seen(**changes):
    return replace(Seen("copy", 0.7, True, 2, 1.0, seconded=0, often=3, pair=0, gap=1, skipped=1, run=1), **changes)


@given(
    st.sampled_from(FAMILIES), st.floats(0, 1), st.sampled_from([None, True, False]),
    st.integers(0, 99), st.integers(-9999, 9999),
)  # fmt: skip
def test_every_group_has_a_feature_of_its_own(family, probability, looked_up, match, skipped):
    features = seen(
        family=family, probability=probability, looked_up=looked_up, match=match, skipped=skipped, gap=match
    ).features()
    assert len(set(features)) == len(features)
    assert all(0 <= feature < SIZE for feature in features)


def test_confidence_learns_what_tells_right_from_wrong():
    confidence, dice = Confidence(), np.random.default_rng(1)
    for _ in range(3000):
        seconded = bool(dice.integers(2))
        features = seen(looked_up=seconded).features()
        right = dice.random() < (0.8 if seconded else 0.3)
        confidence.learn(confidence.probability(0.5, features), features, right)
    assert confidence.probability(0.5, seen(looked_up=True).features()) == pytest.approx(0.8, abs=0.08)
    assert confidence.probability(0.5, seen(looked_up=False).features()) == pytest.approx(0.3, abs=0.08)
    assert Confidence().probability(0.25, seen().features()) == pytest.approx(0.25)


def test_a_rename_is_proposed_where_the_old_name_comes_again():
    old, new = [501, 502], [601, 602, 603]
    parts = [DOCUMENT[start : start + 20] for start in range(0, 200, 20)]
    document = [token for part in parts for token in (*part, *old)]
    output = [token for part in parts for token in (*part, *new)]
    renamed = replay(document, output)
    assert len(renamed.drafted) <= 16  # ten renames of three tokens: 30 passes without the memory and without lookup
    assert renamed.accepted[-1] > 40  # in the end several renames are gone through at once


def test_a_replacement_that_was_not_repeated_is_given_up():
    table = Learned.shipped().survival
    assert table.survival("swap/3/0/1/1")[1] > 0.5 > table.survival("swap/0/3/1/1")[1]


def test_replacements_are_told_from_where_tokens_were_copied():
    document = [1, 2, 3, 9, 1, 2, 3, 8, 1, 2, 3]
    replacements = Replacements(
        document, {token: [i for i, t in enumerate(document) if t == token] for token in document}
    )
    for token, origin in ((1, 0), (7, None), (3, 2), (9, 3), (1, 4)):
        assert replacements.observe(token, origin) is None
    assert [(position, found.new) for position, found in replacements.sites(5, 11)] == [(5, (7,)), (9, (7,))]
    assert replacements.observe(7, None).repeated
    assert replacements.observe(3, 6) is None
    for token, origin in ((8, 7), (1, 8)):
        replacements.observe(token, origin)
    met = replacements.observe(2, 9)
    assert (met.kind, met.repeated) == ("swap/1/0/0/1", False)


@pytest.mark.parametrize("make", [lambda d: PromptLookup(), lambda d: SuffixDecoding(d)])
def test_peers_play_by_the_same_rules(make):
    output = [*DOCUMENT[:60], 901, 902, *DOCUMENT[62:]]
    result = play(make(DOCUMENT), DOCUMENT, output, END, FLAT)
    assert result.speedup > 3
    assert result.output_tokens == len(output) + 1


def test_drafts_are_shorter_where_edits_share_the_pass():
    """Where a full pass is bound by arithmetic an undrafted token costs as little as a drafted one."""
    bound = planner(CostCurve(((1, 1.0), (8, 1.2), (64, 8.0), (256, 32.0))))
    candidate = Candidate("copy/1/0/4", tuple(range(60)), Source.DOCUMENT, 0, False)  # just found its way back
    alone = bound.best_length(bound.draft(candidate, 0.7, 60))[0]
    bound.share_among(8)
    assert bound.costs[0] == pytest.approx(1.2 / 8)
    assert bound.best_length(bound.draft(candidate, 0.7, 60))[0] < alone


def test_a_repetition_is_drafted_beyond_what_was_written_of_it():
    lookup = Lookup([1, 2, 3])
    lookup.observe([7, 8, 9, 7, 8])
    found = lookup.best()
    assert lookup.is_own(found)
    assert lookup.chain(found, 8) == (9, 7, 8, 9, 7, 8, 9, 7)
    lookup = Lookup([7, 8, 9])
    lookup.observe([4, 7, 8])
    assert lookup.chain(lookup.best(), 8) == (9,)  # the document ends
