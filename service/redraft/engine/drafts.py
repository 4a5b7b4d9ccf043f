"""The draft model of a server: loaded, measured, or found not to be worth it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

import structlog
import torch

from redraft.drafting.length import CostCurve
from redraft.drafting.model import DraftModel, EarlyExit, SmallModel, TranslatedModel
from redraft.engine.prompt import Prompter
from redraft.engine.vocabulary import Vocabulary
from redraft.errors import ModelRefused
from redraft.model.base import PackedRow
from redraft.model.cost import MeasuredCost, measured_cost
from redraft.model.loading import LoadedModel, LoadOptions, load
from redraft.model.runner import TorchTarget
from redraft.model.selfcheck import self_check

_log = structlog.get_logger(__name__)

EARLY_EXIT = "early-exit"
_DEPTHS = 8  # depths that are tried
_ROUNDS = 8
_SAMPLE = 256  # tokens of the sample that they are judged by


@dataclass(frozen=True, slots=True)
class Depth:
    """An early exit as measured. agreement: share of places where it chooses what the whole target would choose;
    cost: of one token, in units of the target's one-token pass."""

    layers: int
    agreement: float
    cost: float

    @property
    def gain(self) -> float:
        """Passes that a draft token of it saves."""
        return self.agreement - self.cost


def load_draft_model(
    name: str, options: LoadOptions, target: TorchTarget, prompter: Prompter, cost: MeasuredCost
) -> DraftModel | None:
    """The draft model called `name` for a target with these costs; options: those that the target was loaded with.

    `early-exit` is the target's own first layers, at the depth that pays most here; None: none does. Raises
    ModelRefused for a model that cannot be loaded.
    """
    if name == EARLY_EXIT:
        return _early_exit(target, prompter, cost)
    small = load(replace(options, model=name, adapter=None, kv_bytes=None))
    self_check(small.target)
    measured = measured_cost(small.target)
    relative = CostCurve(measured.points).scaled(measured.one_token_seconds / cost.one_token_seconds)
    return as_draft_model(small, relative, prompter, target.spec.end_tokens[0], target.spec.vocab_size)


def as_draft_model(
    small: LoadedModel, costs: CostCurve, prompter: Prompter, end_token: int, width: int | None = None
) -> SmallModel | TranslatedModel:
    """A loaded model as the draft model of a target with this prompter and end token.

    width: see `DraftModel`. Raises ModelRefused for a model that needs a prompt of its own and has no chat template.
    """
    if Vocabulary(small.tokenizer).same_as(prompter.vocabulary):
        return SmallModel(small.target, costs, width)
    try:
        own = Prompter(small.tokenizer)
    except ModelRefused as error:
        raise ModelRefused(f"the draft model {small.target.spec.name}: {error}") from error
    return TranslatedModel(small.target, costs, own, prompter, end_token)


def _early_exit(target: TorchTarget, prompter: Prompter, cost: MeasuredCost) -> EarlyExit | None:
    depths = measure_depths(target, sample_ids(prompter))
    best = max(depths, key=lambda depth: depth.gain, default=None)
    if best is None or best.gain <= 0:
        _log.warning("early_exit_does_not_pay", agreement=best.agreement if best else 0.0)
        return None
    _log.info("early_exit", layers=best.layers, agreement=round(best.agreement, 3), cost=round(best.cost, 3))
    return EarlyExit(target, CostCurve(cost.points).scaled(best.cost), best.layers)


def sample_ids(prompter: Prompter) -> list[int]:
    """The sample text that depths are judged by."""
    text = files("redraft.engine").joinpath("data/sample.txt").read_text(encoding="utf-8")
    return prompter.document(text).ids[:_SAMPLE]


def measure_depths(target: TorchTarget, sample: list[int]) -> list[Depth]:
    """How often each of some depths agrees with the whole target on a sample text, and what it costs."""
    slot = target.slots.acquire([*sample, 0], len(sample) + 1, "depth")
    if slot is None:
        raise RuntimeError("depths are measured before any edit runs")
    slot.crop(0)
    try:
        row = PackedRow(slot, sample, 0)
        chosen = target.forward([row]).argmax(-1)
        depths = range(step := max(1, target.layers // _DEPTHS), target.layers, step)
        *seconds, whole = _seconds(target, PackedRow(slot, sample[:1], 0), [*depths, target.layers])
        return [
            Depth(
                layers, float((target.forward_early([row], layers).argmax(-1) == chosen).float().mean()), spent / whole
            )
            for layers, spent in zip(depths, seconds, strict=True)
        ]
    finally:
        target.slots.discard(slot)


def _seconds(target: TorchTarget, row: PackedRow, depths: Sequence[int]) -> list[float]:
    """Least time at each depth: what else runs on the machine only adds. In rounds, so that it adds to all of them."""
    least = [math.inf] * len(depths)
    for _ in range(_ROUNDS):
        for index, layers in enumerate(depths):
            began = time.perf_counter()
            if target.forward_early([row], layers).is_cuda:
                torch.cuda.synchronize()
            least[index] = min(least[index], time.perf_counter() - began)
    return least
