"""Every contender really emits the script; timings are not looked at."""

from __future__ import annotations

import pytest
import tiny_models
from redraft.bench.contenders import Contenders, measure
from redraft.bench.overhead import measure_overhead
from redraft.bench.unrelated import unrelated
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.replay.pairs import Pair
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


@pytest.fixture
def running():
    model = tiny_models.loaded()
    service = EngineService(model, SchedulerLimits())
    service.start()
    yield service, model.target
    service.stop()


def test_all_contenders_emit_the_rewrite(running):
    service, target = running
    pair = Pair("p", "one two three four five six", "one two 3 four five six seven")
    ticks = []
    row = measure(Contenders(service, target.model, pair, "x"), pair, 2, lambda: ticks.append(1))
    assert row.output_tokens == len(pair.after) + 1
    assert len(ticks) == 2 * len(row.timings)
    assert all(timing.total > 0 for timing in row.timings.values())
    assert row.best_lookup in row.timings


def test_a_contender_that_strays_is_an_error(running, monkeypatch):
    service, target = running
    contenders = Contenders(service, target.model, Pair("p", "one two", "one 2"), "x")
    monkeypatch.setattr(contenders, "script", [*contenders.script, 7])
    with pytest.raises(RuntimeError, match="did not emit"):
        contenders.names()["redraft"]()


def test_overhead_is_measured_for_one_and_eight_rows(running):
    results = measure_overhead(*running, "a short document")
    assert [(result.rows, result.sampled) for result in results] == [(1, False), (1, True), (8, False), (8, True)]
    assert all(result.outside > 0 for result in results)


def test_free_contenders_write_what_greedy_decoding_does(running):
    service, target = running
    pair = Pair("p", "one two three four five six", "one two 3 four five six seven")
    contenders = Contenders.free(service, target.model, pair, "x")
    row = measure(contenders, pair, 1, lambda: None)
    assert row.output_tokens == len(contenders.script)
    assert contenders.script != [*service._prompter.document(pair.after).ids, tiny_models.END]
    assert row.strayed == 0  # float64: no near ties


def test_an_unrelated_output_has_no_token_of_the_document_and_none_twice():
    words = {word: index for index, word in enumerate(["<unk>", "alpha", "beta", "gamma", "delta", "omega"])}
    backend = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
    made = unrelated(Pair("p", "alpha beta alpha", "x y z"), tokenizer)
    assert sorted(made.after.split()) == ["delta", "gamma", "omega"]
    with pytest.raises(ValueError, match="3 words"):
        unrelated(Pair("p", "alpha beta alpha", "x y z u"), tokenizer)
