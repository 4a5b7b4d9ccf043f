"""The engine on a thread of its own: takes requests in and calls back with events."""

from __future__ import annotations

import hashlib
import secrets
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from traceback import format_tb

import structlog

from redraft.drafting.base import MAX_DRAFT, NoDraft
from redraft.drafting.classes import classes_of
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.model import DraftModel
from redraft.drafting.planner import Planner
from redraft.drafting.soft import Spelling
from redraft.engine.cost import LiveCost
from redraft.engine.drafts import load_draft_model
from redraft.engine.engine import Engine
from redraft.engine.memory import EmittedTexts
from redraft.engine.prompt import Prompt, Prompter
from redraft.engine.request import Acceptance, DraftMode, EditRequest
from redraft.engine.results import EditEvent, ModelInfo
from redraft.engine.sampling import SamplingParameters
from redraft.engine.scheduler import Scheduler, SchedulerLimits
from redraft.engine.script import Scripts
from redraft.engine.sequence import Limits, Sequence
from redraft.engine.shaping import OutputShaper
from redraft.engine.validation import validate
from redraft.errors import DocumentTooLong, Draining, InvalidOption, ModelRefused, RedraftError, UnknownModel
from redraft.model.base import ModelSpec, Target
from redraft.model.cache import cache_directory, read_json, write_json
from redraft.model.cost import MeasuredCost, measured_cost, save_cost
from redraft.model.loading import DEMO, LoadedModel, LoadOptions, load
from redraft.model.runner import TorchTarget
from redraft.model.selfcheck import self_check
from redraft.replay.pairs import Pair, read_pairs

_log = structlog.get_logger(__name__)
_SPARE_OUTPUT = 256


@dataclass(frozen=True, slots=True)
class EditHandle:
    """A submitted edit."""

    sequence: Sequence

    @property
    def request_id(self) -> str:
        return self.sequence.request_id

    def cancel(self) -> None:
        """End the edit within one step."""
        self.sequence.cancelled = True


class EngineService:
    """Admits edits from any thread; one thread steps the engine."""

    def __init__(
        self,
        model: LoadedModel,
        limits: SchedulerLimits,
        template: str | None = None,
        scripts: Scripts | None = None,
        survival: Path | None = None,
        cost: MeasuredCost | None = None,
        draft: Callable[[TorchTarget, Prompter, MeasuredCost], DraftModel | None] | None = None,
    ) -> None:
        """Checks the model against transformers' own forward.

        cost: the cost curve, corrected while serving; None: measured here, or taken from the cache.
        draft: gives the draft model that fills gaps, for this target, its prompts and costs.
        survival: where what is learned of drafts is kept between servers; None: not at all.
        """
        self.scripts = scripts
        self._prompter = Prompter(model.tokenizer, template)
        self._target = model.target
        self._defaults = _model_defaults(model)
        self_check(model.target)
        self._cost = LiveCost(cost or measured_cost(model.target))
        self._draft_model = draft(model.target, self._prompter, self._cost.measured) if draft is not None else None
        scheduler = Scheduler(limits, model.target.slots)
        texts = self._prompter.vocabulary.texts()
        self._spelling = Spelling(texts)
        self._planner = Planner(Learned.shipped(), self._cost.curve, classes_of(texts))
        self._survival_file = survival
        self._restore_survival()
        self._emitted = EmittedTexts()
        self._engine = Engine(model.target, scheduler, self._planner, self._cost, self._emitted, self._draft_model)
        self._inbox: list[Sequence] = []
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="redraft-engine", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread after the current step; running edits fail with DRAINING."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()
        self._save_learned()

    def submit(
        self, request: EditRequest, emit: Callable[[EditEvent], None], deadline: float | None = None
    ) -> EditHandle:
        """See `rpc.backend.Backend.submit`."""
        validate(request)
        self._check_served(request)
        sequence = self._sequence(request, emit, deadline)
        with self._wake:
            if self._stopping:
                raise Draining("the engine is stopping")
            self._engine.scheduler.check_room(arriving=len(self._inbox))
            self._inbox.append(sequence)
            self._wake.notify()
        return EditHandle(sequence)

    def info(self) -> ModelInfo:
        """Facts about the model that is served."""
        spec = self._target.spec
        return ModelInfo(
            name=spec.name,
            version=metadata.version("redraft"),
            context_length=spec.context_length,
            max_output_tokens=spec.context_length,
            max_draft_tokens=MAX_DRAFT,
            max_concurrent_edits=self._engine.scheduler.limits.max_running,
            device=spec.device,
            dtype=spec.dtype,
            parameters=spec.parameters,
            demo=spec.demo,
            scripted=self.scripts is not None,
            adapter=spec.adapter,
            draft_model=self._draft_model.name if self._draft_model is not None else "",
            draft_model_bytes=self._draft_model.memory if self._draft_model is not None else 0,
        )

    def forced_ids(self, request: EditRequest) -> tuple[list[int], tuple[int, ...]]:
        """Prompt and scripted output of a request, for comparisons; raises InvalidOption without a script for it."""
        script = self._script(request, self._target.spec.end_tokens[0])
        if script is None:
            raise InvalidOption("document", "there is no script")
        return self._prompter.build(request, lambda text: None).ids, script

    @contextmanager
    def observed(self, target: Target) -> Iterator[None]:
        """Run on another target over the same slots for a while, to time it. Only while no edit runs."""
        usual, self._engine.target = self._engine.target, target
        try:
            yield
        finally:
            self._engine.target = usual

    def forget_cache(self) -> None:
        """Drop what idle slots hold, so that the next edit starts cold. Only while no edit runs."""
        for slot in self._target.slots.slots:
            if not slot.running:
                self._target.slots.discard(slot)

    def _restore_survival(self) -> None:
        """Go on learning where the last server stopped; a damaged file is like none."""
        saved = read_json(self._survival_file) if self._survival_file else None
        try:
            if saved is not None:
                self._planner.learned.restore(saved if isinstance(saved, dict) else {})
        except (KeyError, TypeError, ValueError):
            _log.warning("survival_file_ignored", path=str(self._survival_file))

    def _save_learned(self) -> None:
        """What serving taught of costs and of drafts, for the next start."""
        save_cost(self._target, self._cost.measured)
        if self._survival_file is None:
            return
        try:
            write_json(self._survival_file, self._planner.learned.to_json())
        except OSError as error:
            _log.warning("survival_not_saved", error=type(error).__name__)

    def _check_served(self, request: EditRequest) -> None:
        if request.model and request.model != self._target.spec.name:
            raise UnknownModel(request.model, self._target.spec.name)
        if request.drafting.acceptance is Acceptance.REJECTION and not self._rejects:
            raise InvalidOption(
                "acceptance", "rejection is for tokens of a draft model with the target's tokenizer: there is none"
            )

    @property
    def _rejects(self) -> bool:
        """Whether tokens can be accepted by the rejection rule."""
        return self._draft_model is not None and self._draft_model.shares_tokenizer

    def _sequence(self, request: EditRequest, emit: Callable[[EditEvent], None], deadline: float | None) -> Sequence:
        prompt = self._prompt(request)
        limits = self._limits(request, prompt)
        text = request.prediction
        document = prompt.document.ids if text is None else self._prompter.document(text).ids
        end = self._target.spec.end_tokens[0]
        off = request.drafting.mode is DraftMode.OFF
        references = [self._prompter.document(text).ids for text in request.references if text]
        parameters, named = self._parameters(request)
        return Sequence(
            request_id=uuid.uuid4().hex,
            request=request,
            prompt=prompt,
            parameters=parameters,
            defaults_from_model=named,
            limits=limits,
            drafter=NoDraft() if off else self._drafter(document, references, request, parameters.temperature),
            shaper=OutputShaper(request.target_text, request.sampling.stop, request.unwrap, request.preserve_frame),
            decoder=self._prompter.decoder(),
            emit=emit,
            draft_document=document,
            references=references,
            end_token=end,
            script=self._script(request, end),
            deadline=deadline,
        )

    def _script(self, request: EditRequest, end: int) -> tuple[int, ...] | None:
        if self.scripts is None:
            return None
        return (*self._prompter.document(self.scripts.rewrite(request.target_text)).ids, end)

    def _drafter(
        self, document: list[int], references: list[list[int]], request: EditRequest, temperature: float
    ) -> ComposedDrafter:
        others = request.drafting.mode is DraftMode.AUTO
        return ComposedDrafter(
            document,
            self._target.spec.end_tokens[0],
            self._planner,
            references if others else (),
            own_text=others,
            has_model=others and self._draft_model is not None,
            drawn=request.drafting.rejects(temperature),
            spelling=self._spelling,
        )

    @property
    def _room(self) -> int:
        """Tokens that one edit may take, prompt and output together."""
        return min(self._target.spec.context_length, self._target.slots.arena_tokens)

    def _prompt(self, request: EditRequest) -> Prompt:
        """The prompt; around a selection only as much of the document as leaves room for its rewrite."""

        def emitted(text: str) -> tuple[int, ...] | None:
            return self._emitted.ids(request.principal, text)

        prompt = self._prompter.build(request, emitted)
        own = len(prompt.document.ids)
        excess = len(prompt.ids) + own + own // 2 + _SPARE_OUTPUT - self._room
        if request.selection is None or excess <= 0:
            return prompt
        shown = self._prompter.trimmed(request.document, request.selection, excess)
        return self._prompter.build(request, emitted, shown)

    def _limits(self, request: EditRequest, prompt: Prompt) -> Limits:
        room = self._room
        own, used = len(prompt.document.ids), len(prompt.ids)
        if used + own > room:
            raise DocumentTooLong(used + own, room)
        asked = request.sampling.max_output_tokens or own + own // 2 + _SPARE_OUTPUT
        most = min(asked, room - used)
        limit = 0 if request.drafting.mode is DraftMode.OFF else request.drafting.limit or MAX_DRAFT
        return Limits(most, most < asked, limit)

    def _parameters(self, request: EditRequest) -> tuple[SamplingParameters, tuple[str, ...]]:
        """Options of the request, else of the model's generation config (named in the result), else neutral."""
        asked = request.sampling
        names = ("temperature", "top_p", "top_k", "repetition_penalty")
        silent = [name for name in names if getattr(asked, name) is None]
        named = tuple(name for name in silent if name in self._defaults)
        given = {name: getattr(asked, name) for name in names if name not in silent}
        values = {name: self._defaults[name] for name in named} | given
        return (
            SamplingParameters(
                temperature=float(values.get("temperature", 0.0)),
                top_p=float(values.get("top_p", 1.0)),
                top_k=int(values.get("top_k", 0)),
                repetition_penalty=float(values.get("repetition_penalty", 1.0)),
                presence_penalty=asked.presence_penalty or 0.0,
                frequency_penalty=asked.frequency_penalty or 0.0,
                seed=asked.seed if asked.seed is not None else secrets.randbits(63),
            ),
            named,
        )

    def _run(self) -> None:
        while self._take_in():
            try:
                self._engine.step()
            except Exception as error:
                # Neither the message nor the cause goes further: both might quote a document.
                _log.error("engine_step_failed", error=type(error).__name__, trace=format_tb(error.__traceback__))
                self._engine.fail_all(RedraftError("the engine failed in a step; its log says where"))
        self._engine.fail_all(Draining("the server stopped"))

    def _take_in(self) -> bool:
        """Wait for work; False when the service stops."""
        with self._wake:
            while not self._inbox and not self._engine.scheduler.has_work and not self._stopping:
                self._wake.wait()
            for sequence in self._inbox:
                self._engine.scheduler.add(sequence)
            self._inbox.clear()
            return not self._stopping


def _model_defaults(model: LoadedModel) -> Mapping[str, float]:
    """Sampling options that the model's own generation config sets; greedy unless it says that it samples."""
    config = model.generation_config
    names = ["repetition_penalty", *(("temperature", "top_p", "top_k") if config.do_sample else ())]
    values = {name: getattr(config, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def survival_file(spec: ModelSpec) -> Path:
    """Where a server keeps what it learned of drafts' survival with this model."""
    key = hashlib.sha256(f"{spec.name} {spec.adapter} {spec.parameters}".encode()).hexdigest()[:16]
    return cache_directory() / "survival" / f"{key}.json"


SCRIPTED = "scripted:"
"""`scripted:PAIRS.jsonl[,MODEL]`: emit the pairs' rewrites at the cost of MODEL's passes (the demo's by default)."""


def load_service(
    options: LoadOptions,
    limits: SchedulerLimits | None = None,
    template: str | None = None,
    draft_model: str | None = None,
) -> EngineService:
    """Load a model, check and measure it, and start its engine; draft_model: see `load_draft_model`."""
    scripts = None
    if options.model.startswith(SCRIPTED):
        pairs, _, model = options.model.removeprefix(SCRIPTED).partition(",")
        scripts = Scripts.of(_read_scripts(Path(pairs)))
        options = replace(options, model=model or DEMO)
    loaded = load(options)
    # What a scripted model shows is not how the model behaves.
    survival = survival_file(loaded.target.spec) if scripts is None else None
    draft = partial(load_draft_model, draft_model, options) if draft_model else None
    service = EngineService(loaded, limits or SchedulerLimits(), template, scripts, survival, draft=draft)
    service.start()
    return service


def _read_scripts(path: Path) -> list[Pair]:
    try:
        return list(read_pairs(path))
    except (OSError, ValueError) as error:
        raise ModelRefused(f"cannot read scripted pairs: {error}") from error
