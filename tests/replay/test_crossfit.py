"""Each pair is played with a prior from other repositories."""

from __future__ import annotations

import pytest
from redraft.drafting.length import CostCurve
from redraft.replay import crossfit as module
from redraft.replay.crossfit import TokenPair, crossfit, fold_of, summary
from redraft.replay.pairs import Pair

CURVE = CostCurve(((1, 1.0), (201, 2.0)))


def made(count=6):
    document = list(range(10, 90))
    return [
        TokenPair(f"p{n}", n % 2, document, [*document[: 20 + n], 900 + n, *document[21 + n :]]) for n in range(count)
    ]


def test_a_repository_stays_in_one_fold():
    one, other = (Pair("x", "", "", source=f"github:a/b@{revision}:c.py") for revision in ("123", "456"))
    assert fold_of(one) == fold_of(other)
    assert {fold_of(Pair("x", "", "", source=f"github:a/{n}@1:c")) for n in range(40)} == {0, 1}


def test_the_prior_comes_from_the_other_fold(monkeypatch):
    seen, real = [], module.fit
    monkeypatch.setattr(module, "fit", lambda pairs, *rest: seen.append(pairs) or real(pairs, *rest))
    (plays,) = crossfit(made(), 0, [CURVE], None)
    changed = [[max(output) - 900 for _, output in pairs] for pairs in seen]
    assert changed == [[1, 3, 5], [0, 2, 4]]  # the first prior is for the pairs of fold 0
    assert set(plays) == {f"p{n}" for n in range(6)}


def test_the_summary_counts_over_all_pairs():
    (plays,) = crossfit(made(), 0, [CURVE], None)
    total = summary(plays)
    assert total["pairs"] == 6
    assert total["worst"] == pytest.approx(min(one.speedup for one in plays.values()), abs=1e-3)
    assert total["worst"] <= total["geometric_mean"]
