"""A draft model changes when tokens come, never which."""

from __future__ import annotations

import json
import queue
from dataclasses import replace

import pytest
import tiny_models
import torch
from redraft.bench.random_model import byte_tokenizer
from redraft.drafting.length import CostCurve
from redraft.drafting.model import EarlyExit, SmallModel, TranslatedModel
from redraft.engine.drafts import load_draft_model, measure_depths, sample_ids
from redraft.engine.prompt import Prompter
from redraft.engine.request import Acceptance, Drafting, DraftMode, EditRequest, Sampling
from redraft.engine.results import Source
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.script import Scripts
from redraft.errors import InvalidOption, ModelRefused
from redraft.model.cost import MeasuredCost
from redraft.model.loading import LoadOptions
from runs import collect, run, services
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

AUTO, OFF = Drafting(), Drafting(DraftMode.OFF)
REJECTION = Drafting(acceptance=Acceptance.REJECTION)
FLAT = MeasuredCost(((1, 1.0), (257, 1.5)), 0.001, 0.0)
CHEAP = CostCurve(((1, 0.01), (257, 0.02)))
DOCUMENT = "A text of which nothing comes back."


def other(model):
    """The same weights, a little shaken: it agrees now and then."""
    with torch.no_grad():
        generator = torch.Generator().manual_seed(3)
        for parameter in model.target.model.parameters():
            parameter += 0.02 * parameter.std() * torch.randn(parameter.shape, generator=generator).double()
    return model


def words(tokenizer):
    """The byte tokenizer with some longer tokens, so that the same text has other ids."""
    specification = json.loads(tokenizer.backend_tokenizer.to_str())
    vocabulary, merges = specification["model"]["vocab"], specification["model"]["merges"]
    for pair in ("Ġ a", "t h", "e r", "Ã ł", "i n"):
        left, right = pair.split()
        merges.append([left, right])
        vocabulary[left + right] = len(vocabulary)
    backend = Tokenizer.from_str(json.dumps(specification))
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", unk_token="<unk>")
    fast.chat_template = tokenizer.chat_template
    return fast


def same_weights(target, prompter, cost):
    return SmallModel(tiny_models.loaded().target, CHEAP)


def shaken(target, prompter, cost):
    return SmallModel(other(tiny_models.loaded()).target, CHEAP)


def early(target, prompter, cost):
    return EarlyExit(target, CHEAP, 2)


def translated(target, prompter, cost):
    return TranslatedModel(
        tiny_models.loaded().target, CHEAP, Prompter(words(byte_tokenizer())), prompter, tiny_models.END
    )


@pytest.fixture
def serve():
    with services() as start:
        yield lambda draft, **limits: start(limits=SchedulerLimits(prefill_tokens=64, **limits), cost=FLAT, draft=draft)


def edit(drafting=AUTO, **sampling):
    return EditRequest(DOCUMENT, "do it", sampling=Sampling(max_output_tokens=60, **sampling), drafting=drafting)


@pytest.mark.parametrize("draft", [same_weights, shaken, early, translated])
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_text_is_the_targets_own(serve, draft, temperature):
    service = serve(draft)
    proposed = 0
    for seed in range(10):
        sampling = {"temperature": temperature, "seed": seed, "top_k": 20, "top_p": 0.95}
        _, text, finished = run(service, edit(**sampling))
        _, alone, _ = run(service, edit(OFF, **sampling))
        assert text == alone
        proposed += finished.stats.accepted.get(Source.DRAFT_MODEL, 0) + finished.stats.rejected
    assert proposed > 0


def test_a_model_that_thinks_alike_is_accepted(serve):
    service = serve(same_weights)
    for temperature in (0.0, 1.0):  # with the same noise even its samples coincide
        _, _, finished = run(service, edit(temperature=temperature, seed=5))
        assert finished.stats.accepted[Source.DRAFT_MODEL] > 30
        assert finished.stats.passes < 20
        assert 0 < finished.stats.draft_model_time <= finished.stats.draft_time


def test_slots_of_the_draft_model_are_free_again(serve):
    service = serve(shaken)
    waiting = []
    for number in range(60):
        events = queue.SimpleQueue()
        handle = service.submit(edit(temperature=1.0, seed=number), events.put)
        waiting.append(events)
        if number % 3 == 0:
            handle.cancel()
    for events in waiting:
        collect(events)
    pool = service._draft_model.target.slots
    pool.check()
    assert pool.running == 0


def test_several_edits_are_drafted_together(serve):
    service = serve(same_weights, max_running=4)
    queues = [queue.SimpleQueue() for _ in range(4)]
    requests = [edit(temperature=1.0, seed=number) for number in range(4)]
    for request, events in zip(requests, queues, strict=True):
        service.submit(request, events.put)
    together = [collect(events)[1] for events in queues]
    assert together == [run(service, request)[1] for request in requests]


def test_document_only_asks_no_model(serve):
    _, _, finished = run(serve(same_weights), edit(Drafting(DraftMode.DOCUMENT)))
    assert Source.DRAFT_MODEL not in finished.stats.accepted
    assert finished.stats.draft_model_time == 0


def test_a_dear_model_is_not_asked(serve):
    dear = CostCurve(((1, 2.0), (257, 4.0)))
    service = serve(lambda target, prompter, cost: SmallModel(tiny_models.loaded().target, dear))
    assert Source.DRAFT_MODEL not in run(service, edit())[2].stats.accepted


def test_rejection_needs_a_model_with_the_same_tokenizer(serve):
    with pytest.raises(InvalidOption):
        run(serve(None), edit(REJECTION, temperature=1.0))
    with pytest.raises(InvalidOption):
        run(serve(translated), edit(REJECTION, temperature=1.0))


def test_rejection_accepts_what_is_alike_and_runs_to_the_end(serve):
    service = serve(same_weights)
    _, text, finished = run(service, edit(REJECTION, temperature=1.0, seed=3))
    assert finished.stats.accepted[Source.DRAFT_MODEL] > 20
    assert finished.stats.output_tokens == 60
    greedy = run(service, edit(REJECTION, temperature=0.0))[1]
    assert greedy == run(service, edit(OFF, temperature=0.0))[1]
    shaken_text = run(serve(shaken), edit(REJECTION, temperature=1.0, seed=3))[1]
    assert text
    assert shaken_text


def test_the_model_is_named_with_its_memory(serve):
    info = serve(same_weights).info()
    assert info.draft_model == "tiny"
    assert info.draft_model_bytes > 8 * info.parameters
    assert serve(early).info().draft_model == "the first 2 layers"
    assert serve(early).info().draft_model_bytes == 0
    assert serve(None).info().draft_model == ""


def test_depths_are_measured():
    model = tiny_models.loaded()
    prompter = Prompter(model.tokenizer)
    depths = measure_depths(model.target, sample_ids(prompter))
    assert [depth.layers for depth in depths] == [1, 2]
    assert all(0 <= depth.agreement <= 1 and depth.cost > 0 for depth in depths)
    assert model.target.slots.running == 0
    with torch.no_grad():  # a last layer that adds nothing: two layers say what three say
        last = model.target.model.model.layers[2]
        last.mlp.down_proj.weight.zero_()
        last.self_attn.o_proj.weight.zero_()
    assert measure_depths(model.target, sample_ids(prompter))[1].agreement == 1.0


@pytest.fixture
def saved(tmp_path):
    """Saves a tiny model with a tokenizer as a folder that can be loaded."""

    def save(tokenizer, name):
        tiny_models.build("llama", torch.float32).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        return str(tmp_path / name)

    return save


def test_a_draft_model_is_loaded_by_its_name(saved):
    model = tiny_models.loaded()
    prompter = Prompter(model.tokenizer)
    dear = MeasuredCost(((1, 1.0), (257, 2.0)), 10.0, 0.0)

    def loaded(name):
        return load_draft_model(name, LoadOptions(), model.target, prompter, dear)

    alike = byte_tokenizer()
    alike.chat_template = None  # it reads the target's own prompt
    small = loaded(saved(alike, "alike"))
    assert isinstance(small, SmallModel)
    assert 0 < small.costs.costs(1, 0)[0] < 0.1  # against ten seconds a pass
    assert isinstance(loaded(saved(words(byte_tokenizer()), "words")), TranslatedModel)
    mute = words(byte_tokenizer())
    mute.chat_template = None
    with pytest.raises(ModelRefused, match="chat template"):
        loaded(saved(mute, "mute"))
    with pytest.raises(ModelRefused, match="no such folder"):
        loaded("/nowhere")
    early_exit = loaded("early-exit")
    assert early_exit is None or early_exit.layers in (1, 2)


def test_a_text_too_long_for_the_draft_model_goes_on_without_it(serve):
    """Its context or its arena may be smaller than the target's; the edit must not notice."""
    for context, arena in ((2048, 256), (300, 4096)):
        small = tiny_models.loaded(arena_tokens=arena)
        small.target._spec = replace(small.target.spec, context_length=context)
        service = serve(lambda target, prompter, cost, small=small: SmallModel(small.target, CHEAP))
        _, text, finished = run(service, edit())
        assert text == run(service, edit(OFF))[1]
        assert finished.stats.output_tokens == 60
        assert Source.DRAFT_MODEL not in finished.stats.accepted


def test_ids_that_the_target_does_not_know_are_never_drafted(serve):
    """Models of one family pad the same vocabulary to different widths."""
    model = tiny_models.loaded()
    with torch.no_grad():
        head = model.target.model.lm_head
        head.weight[tiny_models.VOCAB - 1] = 1e3 * head.weight.abs().max()  # the padding shouts, now and then
    wide = serve(lambda target, prompter, cost: SmallModel(model.target, CHEAP, tiny_models.VOCAB - 1))
    proposals = []
    step = wide._draft_model.step
    wide._draft_model.step = lambda *args: proposals.extend(found := step(*args)) or found
    text = run(wide, edit())[1]
    assert text == run(wide, edit(OFF))[1]
    tokens = [token for one in proposals if one is not None for token in one.tokens]
    assert tokens
    assert tiny_models.VOCAB - 1 not in tokens


def test_a_script_is_kept_by_the_rejection_rule(serve):
    service = serve(same_weights)
    rewrite = "Another text, of which the draft model knows nothing."
    service.scripts = Scripts({DOCUMENT: rewrite})
    assert run(service, edit(REJECTION, temperature=1.0, seed=1))[1] == rewrite
