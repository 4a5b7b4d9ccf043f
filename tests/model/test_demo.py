"""The demo model on real documents: redraft's text is the one that transformers' own greedy decoding writes."""

from __future__ import annotations

import queue
from pathlib import Path

import pytest
import torch
from redraft.engine.request import Drafting, DraftMode, EditRequest, Sampling
from redraft.engine.results import Failed, Finished
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService
from redraft.model import adapter
from redraft.model.loading import LoadOptions, load, load_plain

ROOT = Path(__file__).resolve().parents[2]
TOKENS = 32
NEAR_TIE = 1e-3  # logits

pytestmark = pytest.mark.demo


def documents():
    """Ten passages of the repository's own files: prose, Markdown, code, a contract, an e-mail."""
    places = [
        ("examples/email.txt", 0), ("LICENSE", 600), ("LICENSE", 5000), ("README.md", 0), ("README.md", 1500),
        ("CONTRIBUTING.md", 0), ("service/redraft/engine/spans.py", 0), ("service/redraft/model/kv.py", 1200),
        ("proto/redraft/v1/edit.proto", 0), ("pyproject.toml", 0),
    ]  # fmt: skip
    return [(ROOT / name).read_text(encoding="utf-8")[start : start + 700] for name, start in places]


@pytest.fixture(scope="module")
def loaded():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("REDRAFT_CACHE_DIR")  # the conversion is shared with `make run`
        yield load(LoadOptions())


@pytest.fixture(scope="module")
def plain(loaded):
    """The same weights without anything of ours, out of the cache that `loaded` has put them into."""
    return load_plain(LoadOptions())


def run_all(loaded, mode):
    """(prompt ids, output ids) of every document, all edits at once."""
    service = EngineService(loaded, SchedulerLimits())
    service.start()
    sampling = Sampling(temperature=0.0, max_output_tokens=TOKENS)
    queues = [queue.SimpleQueue() for _ in documents()]
    handles = [
        service.submit(EditRequest(text, "Correct the spelling.", sampling=sampling, drafting=Drafting(mode)), q.put)
        for text, q in zip(documents(), queues, strict=True)
    ]
    for events in queues:
        while not isinstance(event := events.get(timeout=300), Finished):
            assert not isinstance(event, Failed), event
    service.stop()
    return [(handle.sequence.prompt.ids, handle.sequence.output) for handle in handles]


def test_greedy_text_is_that_of_generate(loaded, plain):
    drafted, undrafted = run_all(loaded, DraftMode.AUTO), run_all(loaded, DraftMode.OFF)
    same = 0
    for (prompt, output), (_, alone) in zip(drafted, undrafted, strict=True):
        expected = generated(plain, prompt)
        for written in (output, alone):
            assert written == expected or strays_at_a_near_tie(plain, prompt, expected, written)
            same += written == expected
    assert same >= 18  # of 20: a near tie is rare


def generated(model, prompt):
    with torch.inference_mode(), adapter.stock_attention(model):
        ids = torch.tensor([prompt])
        output = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS, do_sample=False)
    return output[0, len(prompt) :].tolist()


def strays_at_a_near_tie(model, prompt, expected, written):
    at = next(i for i, (a, b) in enumerate(zip(expected, written, strict=False)) if a != b)
    with torch.inference_mode(), adapter.stock_attention(model):
        logits = adapter.stock_logits(model, torch.tensor([[*prompt, *expected[:at]]]))[-1]
    return abs(float(logits[expected[at]] - logits[written[at]])) < NEAR_TIE
