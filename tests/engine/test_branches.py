"""A draft with a branch: two first tokens verified in one pass, and the text that the target writes alone."""

from __future__ import annotations

import queue
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import tiny_models
from redraft.drafting.base import EMPTY, Draft, NoDraft
from redraft.engine import service as service_module
from redraft.engine.request import Drafting, DraftMode, EditRequest, Sampling
from redraft.engine.results import Source
from redraft.engine.scheduler import Scheduler, SchedulerLimits
from redraft.engine.script import Scripts
from redraft.model.cost import MeasuredCost
from redraft.model.kv import SlotPool
from runs import collect, run, services

OFF = Drafting(DraftMode.OFF)
FLAT = MeasuredCost(((1, 1.0), (257, 1.2)), 0.001, 0.0)
PROMPTS = ["abc def ghi", "another text", "a third one, which is longer", "x"]


def chain(tokens, source=Source.DOCUMENT):
    ones = np.ones(len(tokens))
    return Draft(tuple(tokens), len(tokens), source, None, ones, ones, fixed=True)


class Branching(NoDraft):
    """Knows the true output; of each pass's two chains one is right for a while, or none is."""

    def __init__(self, truths, won):
        self.truths, self.won, self.turn = truths, won, 0

    def propose(self, view, limit):
        truth = self.truths[tuple(view.document)]
        place = len(view.output)
        if limit < 3 or place >= len(truth):
            return EMPTY
        self.turn += 1
        right = self.turn % 5
        good = [*truth[place : place + 1 + right], 9, 9][:limit]
        wrong, other = ([(truth[place] + step) % 250 + 3, 7, 8, 9][:limit] for step in (1, 2))
        main, branch = [(wrong, good), (good, wrong), (wrong, other)][self.turn % 3]
        return replace(chain(main), branch=chain(branch, Source.REFERENCE))

    def observe(self, verdict):
        self.won.append(verdict.accepted)


@pytest.fixture
def serve():
    with services() as start:
        yield lambda arena=20_000: start(tiny_models.loaded(arena_tokens=arena), cost=FLAT)


def known(service, seed):
    """The requests, what the target writes alone, and the same as ids by document."""
    sampling = Sampling(temperature=0.8, seed=seed, max_output_tokens=80)
    requests = [EditRequest(text, "x", sampling=sampling) for text in PROMPTS]
    texts, truths = [], {}
    for request in requests:
        events = queue.SimpleQueue()
        handle = service.submit(replace(request, drafting=OFF), events.put)
        texts.append(collect(events)[1])
        truths[tuple(handle.sequence.document)] = list(handle.sequence.output)
    return requests, texts, truths


@pytest.mark.parametrize("seed", range(4))
def test_branches_leave_the_text_alone(serve, monkeypatch, seed):
    service, won = serve(), []
    requests, texts, truths = known(service, seed)
    monkeypatch.setattr(service_module, "ComposedDrafter", lambda *_, **__: Branching(truths, won))
    for request, text in zip(requests, texts, strict=True):
        _, branched, finished = run(service, request)
        assert branched == text
        assert finished.stats.accepted[Source.REFERENCE] > 5
        assert finished.stats.accepted[Source.DOCUMENT] > 5
        assert finished.stats.rejected == finished.stats.drafted - sum(finished.stats.accepted.values())
    assert set(won) >= {0, 1, 2, 3, 4, 5}


def test_branches_of_several_edits_share_a_pass(serve, monkeypatch):
    service = serve()
    requests, texts, truths = known(service, 9)
    monkeypatch.setattr(service_module, "ComposedDrafter", lambda *_, **__: Branching(truths, []))
    queues = [queue.SimpleQueue() for _ in requests]
    for request, events in zip(requests, queues, strict=True):
        service.submit(request, events.put)
    assert [collect(events)[1] for events in queues] == texts


def test_without_room_for_a_shadow_there_is_no_branch(serve, monkeypatch):
    service = serve(arena=2000)  # one edit with its room takes more than half
    text = "word " * 120
    sampling = Sampling(temperature=0.0, max_output_tokens=200)
    request = EditRequest(text, "x", sampling=sampling)
    events = queue.SimpleQueue()
    handle = service.submit(replace(request, drafting=OFF), events.put)
    alone = collect(events)[1]
    truths = {tuple(handle.sequence.document): list(handle.sequence.output)}
    monkeypatch.setattr(service_module, "ComposedDrafter", lambda *_, **__: Branching(truths, []))
    _, branched, finished = run(service, request)
    assert branched == alone
    assert Source.REFERENCE not in finished.stats.accepted


def test_our_own_drafter_branches_where_passes_are_flat(serve, monkeypatch):
    """Words that go on in several ways: the output takes now this one, now that one."""
    service, rows = serve(), []
    forward = service._target.forward
    monkeypatch.setattr(service._target, "forward", lambda packed: rows.append(len(packed)) or forward(packed))
    first, second = "the green house by the sea. ", "the green garden of my aunt. "
    document = (first + second) * 3
    rewrite = first * 2 + second + "And " + second * 2 + first + second
    service.scripts = Scripts({document: rewrite})
    _, text, finished = run(service, EditRequest(document, "x"))
    assert text == rewrite
    assert max(rows) == 2  # one edit, two chains
    assert finished.stats.passes < 60


def test_a_shadow_gives_way_to_a_waiting_edit():
    """There is room for two: one edit and its shadow, until another edit waits."""
    pool = SlotPool(100, lambda source, destination, count: None)
    scheduler = Scheduler(SchedulerLimits(), pool)
    running, waiting = (SimpleNamespace(tokens=[1, 2], capacity=50, slot=None, shadow=None) for _ in range(2))
    for one in (running, waiting):
        one.request = SimpleNamespace(principal="")
    scheduler.add(running)
    assert scheduler.admit() == [running]
    running.shadow = pool.fork(running.slot)
    assert running.shadow is not None
    scheduler.add(waiting)
    assert scheduler.admit() == [waiting]
    assert running.shadow is None
    pool.check()
