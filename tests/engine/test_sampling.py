"""Sampling against transformers' processors and exact distributions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from redraft.engine.accept import accept
from redraft.engine.gumbel import best_perturbed
from redraft.engine.noise import BLOCK, BlockNoise
from redraft.engine.sampling import History, SamplingParameters, choose, process
from scipy.stats import chisquare, kstest
from transformers import RepetitionPenaltyLogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

NOTHING = History([])


@pytest.mark.parametrize("vocab", [50, 200, 5000])
@pytest.mark.parametrize("top_p", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("top_k", [0, 1, 50])
def test_filters_equal_transformers(vocab, top_p, top_k):
    logits = torch.randn(8, vocab, dtype=torch.float64, generator=torch.Generator().manual_seed(vocab)) * 4
    expected = TopKLogitsWarper(top_k)(None, logits) if top_k else logits
    expected = TopPLogitsWarper(top_p)(None, expected)
    assert torch.equal(process(logits, SamplingParameters(1.0, top_p, top_k), NOTHING, ()), expected)


def test_repetition_penalty_counts_prompt_output_and_accepted_draft():
    logits = torch.randn(3, 60, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    history = History([4, 5])
    history.append([6])
    ours = process(logits, SamplingParameters(repetition_penalty=1.3), history, [7, 8])
    for row in range(3):
        seen = torch.tensor([[4, 5, 6, *[7, 8][:row]]])
        theirs = RepetitionPenaltyLogitsProcessor(1.3)(seen, logits[row : row + 1].clone())
        assert torch.allclose(ours[row], theirs[0])


def test_presence_and_frequency_count_the_output_only():
    history = History([4])
    history.append([6, 6])
    parameters = SamplingParameters(presence_penalty=0.5, frequency_penalty=0.25)
    scores = process(torch.zeros(2, 10), parameters, history, [7])
    assert scores[0].tolist() == [0, 0, 0, 0, 0, 0, -1.0, 0, 0, 0]
    assert scores[1].tolist() == [0, 0, 0, 0, 0, 0, -1.0, -0.75, 0, 0]


def test_greedy_is_argmax_with_its_margin():
    logits = torch.randn(32, 1000, generator=torch.Generator().manual_seed(2))
    choices = choose(logits, SamplingParameters(), 0, NOTHING, ())
    best, ids = logits.topk(2)
    assert choices.tokens == ids[:, 0].tolist()
    assert choices.runners_up == ids[:, 1].tolist()
    assert choices.margins == pytest.approx((best[:, 0] - best[:, 1]).tolist(), abs=1e-6)


def test_noise_is_standard_gumbel_and_independent_of_the_lookup():
    noise = BlockNoise(tuple((11, row) for row in range(64)), torch.device("cpu"))
    largest = noise.all_blocks(8)
    blocks = torch.arange(8).expand(64, -1)
    values = noise.tokens(blocks, largest)
    assert torch.equal(values.amax(-1), largest)
    assert kstest(values.flatten().numpy(), "gumbel_r").pvalue > 1e-3
    assert torch.equal(noise.tokens(blocks[:, 3:4], largest[:, 3:4])[:, 0], values[:, 3])


@pytest.mark.parametrize("vocab", [30, 300])
def test_choices_follow_the_softmax(vocab):
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(1, vocab, dtype=torch.float64, generator=generator) * 1.5
    counts = np.zeros(vocab)
    for seed in range(20):
        for token in choose(logits.expand(500, -1), SamplingParameters(0.8, seed=seed), 0, NOTHING, ()).tokens:
            counts[token] += 1
    expected = torch.softmax(logits[0] / 0.8, -1).numpy() * counts.sum()
    big = expected >= 5
    observed = np.append(counts[big], counts[~big].sum())
    assert chisquare(observed, np.append(expected[big], expected[~big].sum())).pvalue > 1e-3


@pytest.mark.parametrize("draft", ["none", "right", "wrong", "random"])
def test_first_two_tokens_are_jointly_exact_whatever_the_draft(draft):
    """Chi-square of the joint distribution over consecutive seeds, with top-k and top-p."""
    vocab, generator = 6, torch.Generator().manual_seed(5)
    first = torch.randn(vocab, dtype=torch.float64, generator=generator)
    second = torch.randn(vocab, vocab, dtype=torch.float64, generator=generator)
    random = np.random.default_rng(9)
    counts = np.zeros((vocab, vocab))
    for seed in range(6000):
        counts[_two_tokens(first, second, SamplingParameters(0.9, 0.95, 5, seed=seed), draft, random)] += 1
    parameters = SamplingParameters(0.9, 0.95, 5)
    p = torch.softmax(process(first[None], parameters, NOTHING, ()), -1)[0]
    q = torch.softmax(process(second, parameters, NOTHING, ()), -1)
    expected = (p[:, None] * q).numpy() * counts.sum()
    possible = expected > 0
    assert counts[~possible].sum() == 0
    assert chisquare(counts[possible], expected[possible]).pvalue > 1e-3


def _two_tokens(first, second, parameters, kind, random):
    def alone(logits, position):
        return choose(logits[None], parameters, position, NOTHING, ()).tokens[0]

    truth = alone(first, 0)
    guess = {"none": None, "right": truth, "wrong": (truth + 1) % 6, "random": int(random.integers(6))}[kind]
    if guess is None:
        return truth, alone(second[truth], 1)
    rows = torch.stack([first, second[guess]])

    def chooser(logits, offset, ahead):
        return choose(logits, parameters, offset, NOTHING, ahead)

    emitted = accept([guess], rows, chooser, ()).emitted
    return (emitted[0], emitted[1]) if len(emitted) == 2 else (emitted[0], alone(second[emitted[0]], 1))


@pytest.mark.parametrize(("top_p", "top_k"), [(0.9, 0), (0.99, 0), (0.5, 7), (1.0, 3), (1.0, 4000), (0.999, 200)])
@pytest.mark.parametrize("spread", [0.3, 6.0])  # flat: the likeliest blocks do not suffice
def test_the_short_way_through_the_filters_is_the_long_one(top_p, top_k, spread):
    logits = torch.randn(12, 6001, dtype=torch.float64, generator=torch.Generator().manual_seed(8)) * spread
    parameters = SamplingParameters(0.8, top_p, top_k, seed=21)
    noise = BlockNoise(tuple((21, 5 + row) for row in range(12)), logits.device)
    expected = best_perturbed(process(logits, parameters, NOTHING, ()), noise, 1)
    choices = choose(logits, parameters, 5, NOTHING, ())
    assert choices.tokens == expected.ids.flatten().tolist()
    assert min(choices.margins) > 0


def test_a_choice_at_the_edge_of_top_p_is_a_near_tie():
    logits = torch.log(torch.tensor([[0.4, 0.3, 0.2, 0.1]], dtype=torch.float64))
    for seed in range(40):
        # The third id is kept while 0.7 < top_p, and left out from there on: only then its place in the order matters.
        at_edge = choose(logits, SamplingParameters(1.0, 0.7 + 1e-7, seed=seed), 0, NOTHING, ())
        beside = choose(logits, SamplingParameters(1.0, 0.8, seed=seed), 0, NOTHING, ())
        assert at_edge.tokens == beside.tokens
        assert (at_edge.margins[0] < 1e-6) == (at_edge.tokens == [2] or beside.margins[0] < 1e-6)


def test_vocabulary_that_is_no_multiple_of_a_block():
    logits = torch.full((1, BLOCK + 1), -5.0)
    logits[0, BLOCK] = 5.0
    assert choose(logits, SamplingParameters(), 0, NOTHING, ()).tokens == [BLOCK]
    assert choose(logits, SamplingParameters(0.01, seed=1), 0, NOTHING, ()).tokens == [BLOCK]
