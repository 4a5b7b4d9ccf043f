"""The cost curve is corrected by the passes that are run, whatever the machine's pace."""

from __future__ import annotations

import numpy as np
import pytest
from redraft.engine.cost import LiveCost
from redraft.model.cost import MeasuredCost

MEASURED = MeasuredCost(((1, 1.0), (8, 1.5), (64, 4.0), (257, 12.0)), 0.01, 0.0)


def serve(truth, pace=lambda step: 1.0, passes=4000):
    """A LiveCost that has seen passes of all sizes, each as long as `truth` says times the pace of the moment."""
    live, dice = LiveCost(MEASURED), np.random.default_rng(3)
    for step in range(passes):
        queries = int(dice.choice([1, 1, 3, 8, 20, 64, 150, 257]))
        cost = np.interp(queries, *zip(*truth, strict=True))
        live.observe(queries, 0, 0.01 * cost * pace(step) * dice.lognormal(0.0, 0.05))
    return live


def test_what_costs_as_measured_stays_as_it_is():
    assert serve(MEASURED.points).curve.points == MEASURED.points


def test_a_size_that_costs_more_is_learned():
    truth = ((1, 1.0), (8, 3.0), (64, 6.0), (257, 12.0))
    learned = dict(serve(truth).curve.points)
    assert learned == pytest.approx(dict(truth), rel=0.15)


def test_a_machine_that_is_slow_now_and_then_does_not_bend_the_curve():
    live = serve(MEASURED.points, pace=lambda step: 2.5 if step // 300 % 2 else 1.0)
    assert dict(live.curve.points) == pytest.approx(dict(MEASURED.points), rel=0.15)


def test_a_slower_machine_is_estimated_with():
    live = serve(MEASURED.points, pace=lambda step: 2.0)
    assert live.measured.seconds(1, 0) == pytest.approx(0.02, rel=0.15)
    assert live.measured.points == live.curve.points


def test_one_interrupted_pass_moves_little():
    live = LiveCost(MEASURED)
    for _ in range(64):
        live.observe(8, 0, 0.015)
    live.observe(8, 0, 100.0)
    for _ in range(63):
        live.observe(1, 0, 0.01)
    assert dict(live.curve.points)[8] == pytest.approx(1.5, rel=0.1)
