"""Replay with a draft model: it reads the pair's prompt and is run for real; the target stays a cost curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from redraft.drafting.base import Draft, DraftView, GapFill, Verdict
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.length import CostCurve
from redraft.drafting.model import Asking, DraftModel, Reader, SmallModel, fill
from redraft.engine.prompt import Prompter
from redraft.engine.request import EditRequest
from redraft.engine.sampling import SamplingParameters
from redraft.model.base import PackedRow
from redraft.model.kv import Slot
from redraft.model.runner import TorchTarget
from redraft.replay.pairs import Pair

_DEFAULT_INSTRUCTION = "Improve the text."


@dataclass(slots=True)
class PlayedEdit:
    """Implements `ReadEdit` for a pair that is played."""

    request: EditRequest
    prompt: Sequence[int]
    capacity: int
    output: list[int] = field(default_factory=list)
    parameters: SamplingParameters = field(default_factory=SamplingParameters)
    slot: Slot | None = None
    rejects: bool = False

    @property
    def tokens(self) -> Sequence[int]:
        return [*self.prompt, *self.output]

    @property
    def output_length(self) -> int:
        return len(self.output)


class OwnLayers(SmallModel):
    """Early exit as replay can play it: the model in the target's place, its first layers run over a slot of its own.
    What it reads was computed by the target's passes and costs nothing."""

    def __init__(self, target: TorchTarget, curve: CostCurve, layers: int) -> None:
        """curve: of whole passes; layers: how many are run."""
        super().__init__(target, curve.scaled(layers / target.layers))
        self.layers = layers

    def step_cost(self, reader: Reader) -> tuple[float, float]:
        """See `DraftModel.step_cost`."""
        return self._cost(1), self._cost(1)

    def _cost(self, tokens: int) -> float:
        return super()._cost(1)

    def _forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        return self.target.forward_early(rows, self.layers)


@dataclass(frozen=True, slots=True)
class Fill:
    """A draft model, and how pairs become prompts for it."""

    model: DraftModel
    prompter: Prompter

    def edit(self, pair: Pair) -> PlayedEdit:
        """The edit that a pair stands for, with as much room as the model has."""
        request = EditRequest(pair.before, pair.instruction or _DEFAULT_INSTRUCTION)
        prompt = self.prompter.build(request, lambda text: None)
        room = min(self.model.target.spec.context_length, self.model.target.slots.arena_tokens)
        # As a server would admit it, but never less than the known rewrite takes.
        output = max(len(prompt.document.ids) * 3 // 2 + 256, len(self.prompter.document(pair.after).ids) + 1)
        return PlayedEdit(request, prompt.ids, min(room, len(prompt.ids) + output))


class WithModel:
    """Implements `Drafter`: ours, with a draft model that fills gaps."""

    gap: GapFill | None = None

    def __init__(self, drafter: ComposedDrafter, model: Fill, pair: Pair) -> None:
        self._drafter = drafter
        self._model = model.model
        self._edit = model.edit(pair)
        self._reader = self._model.open(self._edit)

    @property
    def origins(self) -> Sequence[int | None]:
        """See `Drafter.origins`."""
        return self._drafter.origins

    def propose(self, view: DraftView, limit: int) -> Draft:
        """See `Drafter.propose`."""
        draft = self._drafter.propose(view, limit)
        gap = self._drafter.gap
        if gap is None:
            return draft
        self._edit.output[:] = view.output
        fill([Asking(gap, self._reader)], self._model, patient=True)
        return gap.close()

    def observe(self, verdict: Verdict) -> None:
        """See `Drafter.observe`."""
        self._drafter.observe(verdict)
        if verdict.emitted[-1] in self._model.target.spec.end_tokens:
            self._model.close(self._reader)
