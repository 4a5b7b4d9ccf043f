"""Speculative sampling by rejection gives the target's distribution, whatever the draft model's is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from redraft.engine.accept import accept
from redraft.engine.rejection import RejectionChooser, draw
from redraft.engine.sampling import History, SamplingParameters, filtered
from scipy.stats import chisquare

VOCAB, SEEDS = 6, 4000
NO_END = ()
PLAIN = SamplingParameters(temperature=1.0)
FILTERED = SamplingParameters(temperature=0.8, top_k=4, top_p=0.8)


class Toy:
    """A model over six tokens whose logits depend on the token before."""

    def __init__(self, seed, scale):
        self._logits = scale * torch.randn(VOCAB + 1, VOCAB, generator=torch.Generator().manual_seed(seed)).double()

    def logits(self, before):
        return self._logits[before]

    def probabilities(self, before, parameters):
        return filtered(self._logits[before][None], parameters)[0].softmax(-1)


def emitted(target, draft, parameters, bridge=None):
    """The first two tokens of an output; bridge: a fixed second draft token behind the drawn one."""
    chain, distributions, before = [], [], VOCAB
    for position in range(1 if bridge is not None else 2):
        token, distribution = draw(draft.logits(before), parameters, position)
        chain.append(token)
        distributions.append(distribution)
        before = token
    if bridge is not None:
        chain.append(bridge)
    logits = torch.stack([target.logits(token) for token in (VOCAB, *chain)])
    first = accept(chain, logits, RejectionChooser(parameters, 0, History(()), distributions), NO_END).emitted
    if len(first) > 1:
        return first[:2]
    logits = target.logits(first[0])[None]  # another pass, without a draft
    return first[0], accept([], logits, RejectionChooser(parameters, 1, History(()), []), NO_END).emitted[0]


@pytest.mark.parametrize("parameters", [PLAIN, FILTERED], ids=["plain", "filtered"])
@pytest.mark.parametrize("draft", ["same", "near", "far"])
@pytest.mark.parametrize("bridge", [None, 2], ids=["drawn", "bridged"])
def test_the_first_two_tokens_have_the_targets_distribution(parameters, draft, bridge):
    target = Toy(1, 1.0)
    other = {"same": target, "near": Toy(1, 0.6), "far": Toy(2, 2.0)}[draft]
    seen = Counter(emitted(target, other, replace(parameters, seed=seed), bridge) for seed in range(SEEDS))
    first = target.probabilities(VOCAB, parameters)
    exact = {
        (a, b): float(first[a] * target.probabilities(a, parameters)[b]) for a, b in product(range(VOCAB), repeat=2)
    }
    assert all(exact[pair] > 0 for pair in seen)
    expected = np.array([SEEDS * chance for chance in exact.values() if chance > 0])
    observed = np.array([seen[pair] for pair, chance in exact.items() if chance > 0])
    big = expected > 5
    if not big.all():
        observed, expected = (np.append(counts[big], counts[~big].sum()) for counts in (observed, expected))
    assert chisquare(observed, expected).pvalue > 1e-3


def test_a_draft_with_the_targets_own_distribution_is_always_accepted():
    target = Toy(3, 1.0)
    for seed in range(50):
        parameters = replace(PLAIN, seed=seed)
        token, distribution = draw(target.logits(VOCAB), parameters, 0)
        logits = torch.stack([target.logits(VOCAB), target.logits(token)])
        assert accept([token], logits, RejectionChooser(parameters, 0, History(()), [distribution]), ()).accepted == 1


def test_a_rejected_token_is_never_drawn_again():
    target, draft = Toy(4, 3.0), Toy(5, 3.0)
    rejected = 0
    for seed in range(200):
        parameters = replace(PLAIN, seed=seed)
        token, distribution = draw(draft.logits(VOCAB), parameters, 0)
        logits = torch.stack([target.logits(VOCAB), target.logits(token)])
        verdict = accept([token], logits, RejectionChooser(parameters, 0, History(()), [distribution]), ())
        if not verdict.accepted:
            rejected += 1
            assert verdict.emitted[0] != token
    assert rejected > 50


def test_penalties_count_the_drawn_tokens_before():
    parameters = SamplingParameters(temperature=1.0, frequency_penalty=1e4)
    target = Toy(6, 1.0)
    for seed in range(40):
        options = replace(parameters, seed=seed)
        token, distribution = draw(target.logits(VOCAB), options, 0)
        logits = torch.stack([target.logits(VOCAB), target.logits(token)])
        verdict = accept([token], logits, RejectionChooser(options, 0, History(()), [distribution]), ())
        if verdict.accepted:
            assert verdict.emitted[1] != token
