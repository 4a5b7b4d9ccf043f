"""Contenders on one prompt: each writes what the model wants (free), or is made to emit a given rewrite (forced)."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from redraft.engine.request import Drafting, DraftMode, EditRequest, Sampling
from redraft.engine.results import EditEvent, Failed, Finished
from redraft.engine.script import Scripts
from redraft.engine.service import EngineService
from redraft.model import adapter
from redraft.replay.pairs import Pair

LOOKUPS = (5, 10, 20)
CONTENDERS = len(LOOKUPS) + 4
_FREE_ROOM = 64  # tokens that a free rewrite may be longer than the pair's


@dataclass(frozen=True, slots=True)
class Timing:
    """One run: seconds to the first token, and from there to the end."""

    prefill: float
    decode: float

    @property
    def total(self) -> float:
        return self.prefill + self.decode


class _Force(LogitsProcessor):
    """Lets only the script's token through, at transformers' usual cost of a processor."""

    def __init__(self, prompt: int, script: list[int]) -> None:
        self._prompt = prompt
        self._script = script

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        # Assisted generation scores a draft's positions one by one, each with the tokens before it.
        position = min(input_ids.shape[1] - self._prompt, len(self._script) - 1)
        scores[:, self._script[position]] = torch.finfo(scores.dtype).max
        return scores


class _Clock(BaseStreamer):
    """Notes when the first tokens come; what is put before them is the prompt."""

    def __init__(self) -> None:
        self._puts = 0
        self.first = 0.0

    def put(self, value: torch.Tensor) -> None:
        self._puts += 1
        if self._puts == 2:
            self.first = time.perf_counter()

    def end(self) -> None:
        """Nothing is held."""


class Contenders:
    """One model, run greedily by transformers and by redraft in turn."""

    def __init__(self, service: EngineService, model: PreTrainedModel, pair: Pair, instruction: str) -> None:
        """All are made to emit the pair's rewrite: measures speed on realistic edits, whatever the model's skill."""
        service.scripts = Scripts.of([pair])
        self._service = service
        self._model = model
        self._request = EditRequest(pair.before, instruction, sampling=Sampling(temperature=0.0))
        self.prompt, script = service.forced_ids(self._request)
        self.script = list(script)
        self.forced = True
        self.strayed = 0  # runs of free contenders that wrote something else, which near ties allow

    @classmethod
    def free(cls, service: EngineService, model: PreTrainedModel, pair: Pair, instruction: str) -> Contenders:
        """All write what the model wants; the script is what transformers' greedy decoding wrote."""
        contenders = cls(service, model, pair, instruction)
        service.scripts, contenders.forced = None, False
        most = len(contenders.script) + _FREE_ROOM
        with _sdpa(model):
            contenders.script = contenders._generated(None, None, most)
        return contenders

    def names(self) -> dict[str, Callable[[], Timing]]:
        """The contenders; `limit` is one teacher-forced pass over prompt and output."""
        lookups = {f"lookup {n}": lambda n=n: self._generate(n) for n in LOOKUPS}
        return {
            "greedy": lambda: self._generate(None),
            **lookups,
            "limit": self._limit,
            "undrafted": lambda: self._redraft(DraftMode.OFF),
            "redraft": lambda: self._redraft(DraftMode.AUTO),
        }

    def drafts_against_none(self, drafts_first: bool) -> float:
        """Time without drafts / time with them, one run of each, one right after the other."""
        order = (DraftMode.AUTO, DraftMode.OFF) if drafts_first else (DraftMode.OFF, DraftMode.AUTO)
        spent = {mode: self._redraft(mode).total for mode in order}
        return spent[DraftMode.OFF] / spent[DraftMode.AUTO]

    def _generate(self, lookup: int | None) -> Timing:
        clock = _Clock()
        with _sdpa(self._model):
            start = time.perf_counter()
            output = self._generated(lookup, clock, len(self.script))
            end = time.perf_counter()
        self._check(output, "transformers")
        return Timing(clock.first - start, end - clock.first)

    @torch.inference_mode()
    def _generated(self, lookup: int | None, clock: _Clock | None, most: int) -> list[int]:
        """What transformers writes."""
        ids = torch.tensor([self.prompt], device=self._model.device)
        processors = LogitsProcessorList([_Force(len(self.prompt), self.script)] if self.forced else [])
        output = self._model.generate(  # type: ignore[operator]  # a method that the stubs type as a tensor
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=most,
            do_sample=False,
            repetition_penalty=1.0,
            logits_processor=processors,
            prompt_lookup_num_tokens=lookup,
            streamer=clock,
        )
        written: list[int] = output[0, len(self.prompt) :].tolist()
        return written

    def _check(self, output: list[int], who: str) -> None:
        """A forced contender emits the script. A free one may leave it at a near tie, and is timed on what it wrote."""
        if self.forced and output != self.script:
            raise RuntimeError(f"{who} did not emit the script")
        self.strayed += output != self.script

    @torch.inference_mode()
    def _limit(self) -> Timing:
        ids = torch.tensor([[*self.prompt, *self.script]], device=self._model.device)
        with _sdpa(self._model):
            start = time.perf_counter()
            self._model(ids, use_cache=False).logits.argmax(-1)
            return Timing(time.perf_counter() - start, 0.0)

    def _redraft(self, mode: DraftMode) -> Timing:
        self._service.forget_cache()
        events: queue.SimpleQueue[EditEvent] = queue.SimpleQueue()
        request = EditRequest(
            self._request.document,
            self._request.instruction,
            sampling=Sampling(temperature=0.0, repetition_penalty=1.0, max_output_tokens=len(self.script)),
            drafting=Drafting(mode),
        )
        handle = self._service.submit(request, events.put)
        while not isinstance(event := events.get(), Finished):
            if isinstance(event, Failed):
                raise event.error
        self._check(handle.sequence.output, "redraft")
        stats = event.stats
        return Timing(stats.time_to_first_token, stats.decode_time)


@contextmanager
def _sdpa(model: PreTrainedModel) -> Iterator[None]:
    model.set_attn_implementation("sdpa")
    try:
        yield
    finally:
        model.set_attn_implementation(adapter.ATTENTION)


@dataclass(frozen=True, slots=True)
class Row:
    """Medians of one document's runs, by contender."""

    id: str
    prompt_tokens: int
    output_tokens: int
    timings: dict[str, Timing]
    strayed: int = 0

    def ratio(self, slower: str, faster: str, part: str = "total") -> float:
        return float(getattr(self.timings[slower], part) / max(1e-9, getattr(self.timings[faster], part)))

    @property
    def best_lookup(self) -> str:
        return min((f"lookup {n}" for n in LOOKUPS), key=lambda name: self.timings[name].total)


def measure(contenders: Contenders, pair: Pair, repeats: int, tick: Callable[[], None]) -> Row:
    """Interleaved runs of every contender."""
    runs: dict[str, list[Timing]] = {name: [] for name in contenders.names()}
    for _ in range(repeats):
        for name, run in contenders.names().items():
            runs[name].append(run())
            tick()
    timings = {
        name: Timing(median(t.prefill for t in times), median(t.decode for t in times)) for name, times in runs.items()
    }
    return Row(pair.id, len(contenders.prompt), len(contenders.script), timings, contenders.strayed)
