"""A draft model is asked where it may be right and the document wrong; the document goes on where they meet again."""

from __future__ import annotations

import pytest
from redraft.drafting.agreement import Agreement
from redraft.drafting.base import MAX_DRAFT, Verdict
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.engine.results import Source
from redraft.replay.simulate import View

END = 0
DOCUMENT = list(range(10, 90))
FLAT = CostCurve(((1, 1.0), (257, 2.0)))
CHEAP = (0.02, 0.02)


def drafter(output, document=DOCUMENT, **options):
    """One that has seen `output`, and its view."""
    made = ComposedDrafter(document, END, Planner(Learned.shipped(), FLAT), has_model=True, **options)
    view = View(document, END)
    for token in output:
        made.propose(view, MAX_DRAFT)
        view.output.append(token)
        made.observe(Verdict((token,), 0))
    return made, view


def asked(made, view, answers, probability=0.9, limit=MAX_DRAFT):
    """The draft after a model that would go on with `answers`, and how many of them it was asked for."""
    made.propose(view, limit)
    given = 0
    for token in answers:
        if not made.gap.wants_more(*CHEAP):
            break
        made.gap.take((token,), probability, CHEAP[0])
        given += 1
    return made.gap.close(), given


def test_nothing_is_asked_inside_a_sure_copy():
    made, view = drafter(DOCUMENT[:40])
    draft, given = asked(made, view, [700])
    assert given == 0
    assert draft.source is Source.DOCUMENT
    assert draft.tokens == (*DOCUMENT[40:], END)[: draft.length]


def test_a_gap_is_filled_and_bridged():
    """… 29 [701 702] 32 33 …: the model knows the words, the document what comes behind them."""
    made, view = drafter([*DOCUMENT[:20], 700])
    draft, given = asked(made, view, [701, 702, *range(32, 70)])
    assert 3 <= given < 15  # once it is back in the document it is not asked any more
    assert draft.candidate[:4] == (701, 702, 32, 33)
    assert draft.candidate[4:40] == tuple(range(34, 70))
    assert draft.source is Source.DRAFT_MODEL
    assert draft.bridge == given
    assert draft.length > draft.bridge
    assert draft.sources(draft.length)[given - 1 : given + 1] == [Source.DRAFT_MODEL, Source.DOCUMENT]
    assert draft.cost == pytest.approx(0.02 * given)


def test_a_dear_model_is_not_asked_and_a_guarded_edit_neither():
    made, view = drafter([*DOCUMENT[:20], 700])
    made.propose(view, MAX_DRAFT)
    assert made.gap.wants_more(*CHEAP)
    assert not made.gap.wants_more(0.9, 0.9)
    assert not made.gap.wants_more(50.0, 0.02)  # more than the edit may lose


def test_the_model_stops_at_the_end_and_at_the_limit():
    made, view = drafter([*DOCUMENT[:20], 700])
    draft, given = asked(made, view, [701, END, 703])
    assert given == 2
    assert draft.tokens == (701, END)
    made, view = drafter([*DOCUMENT[:20], 700])
    draft, given = asked(made, view, range(700, 720), limit=3)
    assert given == 3
    assert draft.length <= 3


def test_an_agreeing_model_makes_the_documents_own_draft_surer():
    made, view = drafter([*DOCUMENT[:20], 700])
    alone = made.propose(view, MAX_DRAFT)
    guess = made.gap.expected.token
    draft, given = asked(made, view, [guess])
    assert given == 1
    assert draft.source is Source.DOCUMENT
    assert draft.survival[0] > alone.survival[0]
    assert draft.candidate == alone.candidate


def test_a_contradicting_model_is_believed_when_it_was_right_before():
    learned = Agreement()
    before = learned.right(0.3, 0.9, same=False)
    for _ in range(50):
        learned.learn(0.3, 0.9, same=False, right=False, document_right=True)
    assert learned.right(0.3, 0.9, same=False) < before / 3
    assert learned.document_right(0.3, 0.9) > 0.8
    assert learned.helps(0.3) < 0.1


def test_outcomes_are_learned_as_far_as_they_are_known():
    made, view = drafter([*DOCUMENT[:20], 700])
    asked(made, view, [701, 702, 703])
    agreement = made._planner.learned.agreement
    made.observe(Verdict((701, 999), 1, drafted=3))
    seen = sum(seen.sum() for seen in (agreement._seen["same"], agreement._seen["other"]))
    assert seen == 2  # 703 was proposed behind a token that turned out wrong


def test_drawn_tokens_are_all_proposed():
    made, view = drafter([*DOCUMENT[:20], 700], drawn=True)
    draft, given = asked(made, view, [701, 702, 32], probability=0.01)
    assert draft.lead == given
    assert draft.source is Source.DRAFT_MODEL


def test_what_a_draft_model_taught_is_kept():
    learned = Learned.shipped()
    learned.agreement.learn(0.5, 0.5, same=True, right=True, document_right=True)
    other = Learned.shipped()
    other.restore(learned.to_json())
    assert other.agreement.to_json() == learned.agreement.to_json()
    with pytest.raises(ValueError, match="draft model"):
        Agreement().restore({name: [[[1.0]], [[1.0]]] for name in ("same", "other", "document")})


def test_a_pass_without_a_proposal_teaches_nothing_again():
    made, view = drafter([*DOCUMENT[:20], 700])
    asked(made, view, [701])
    made.observe(Verdict((701,), 1, drafted=1))
    learned = made._planner.learned
    before = learned.agreement.to_json(), list(learned.confidence.weights)
    made.observe(Verdict((702,), 0))  # the last token of an output may have no room for a draft
    assert (learned.agreement.to_json(), list(learned.confidence.weights)) == before
