"""Draft models: a small one with the target's tokenizer, one with another, or the target's own first layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from redraft.drafting.base import GapFill
from redraft.drafting.length import CostCurve
from redraft.engine.prompt import Prompter
from redraft.engine.rejection import draw
from redraft.engine.request import EditRequest
from redraft.engine.sampling import SamplingParameters, choose_rows
from redraft.model.base import PackedRow
from redraft.model.kv import Slot
from redraft.model.runner import TorchTarget
from redraft.prefix import common_prefix

_READ = 512  # tokens of a prompt that one step reads
_GAPS = 0.03  # tokens of an ordinary rewrite that the document does not give, as a share: what a prompt is read for


class ReadEdit(Protocol):
    """What a draft model may see of an edit."""

    @property
    def request(self) -> EditRequest: ...

    @property
    def tokens(self) -> Sequence[int]:
        """Prompt and output so far, as the target spells them."""

    @property
    def output(self) -> Sequence[int]: ...

    @property
    def output_length(self) -> int: ...

    @property
    def parameters(self) -> SamplingParameters: ...

    @property
    def capacity(self) -> int:
        """The most tokens that prompt and output can have."""

    @property
    def slot(self) -> Slot | None:
        """The edit's slot of the target."""

    @property
    def rejects(self) -> bool:
        """Whether the draft model's tokens are accepted by the rejection rule."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one step proposed for one edit; no token: none is finished yet.

    probability: of the first token; cost: of the step, in units of a one-token pass of the target; reading: the prompt
    is not read to its end.
    """

    tokens: tuple[int, ...]
    probability: float
    cost: float
    reading: bool = False


@dataclass(slots=True, eq=False)
class Reader:
    """How far a draft model has read one edit."""

    edit: ReadEdit
    slot: Slot | None = None
    agreed: int = 0  # tokens of the slot that are the edit's for good
    distributions: list[torch.Tensor] = field(default_factory=list)  # of this pass's tokens, where they are needed
    prompt: Sequence[int] = ()  # in the draft model's own tokens, if they are others
    unfinished: list[int] = field(default_factory=list)  # own tokens of a word that may go on
    doubt: float = 1.0  # probability of the unfinished tokens


@dataclass(frozen=True, slots=True)
class _Row:
    reader: Reader
    packed: PackedRow
    completes: bool


class DraftModel(ABC):
    """Proposes a little at a time, for several edits at once. One reader an edit."""

    shares_tokenizer = True

    def __init__(self, target: TorchTarget, costs: CostCurve, width: int | None = None) -> None:
        """target: the model that is run; costs: of its passes, in units of a one-token pass of the edits' target;
        width: ids that the edits' target has logits for: sizes of one family pad the same vocabulary differently."""
        self.target = target
        self.costs = costs
        self._width = width

    @property
    def name(self) -> str:
        """For people."""
        return self.target.spec.name

    @property
    def memory(self) -> int:
        """Bytes that it takes besides the target: weights, keys and values."""
        return self.target.memory

    def open(self, edit: ReadEdit) -> Reader:
        """A reader for an edit that begins."""
        return Reader(edit)

    def step(self, readers: Sequence[Reader], ahead: Sequence[Sequence[int]]) -> list[Step | None]:
        """Go on behind each edit's tokens and what was proposed ahead of them. None: it cannot."""
        rows = [self._row(reader, list(chain)) for reader, chain in zip(readers, ahead, strict=True)]
        runnable = [row for row in rows if row is not None]
        if not runnable:
            return [None] * len(rows)
        logits = self._forward([row.packed for row in runnable])[:, : self._width]
        cost = self._cost(sum(len(row.packed.tokens) for row in runnable)) / len(runnable)
        parts = iter(logits.split([int(row.completes) for row in runnable]))
        steps: list[Step | None] = []
        for row, chain in zip(rows, ahead, strict=True):
            if row is None:
                steps.append(None)
                continue
            part = next(parts)
            row.packed.slot.extend(row.packed.tokens)
            steps.append(
                self._chosen(row.reader, part, len(chain), cost) if row.completes else Step((), 0.0, cost, True)
            )
        return steps

    @abstractmethod
    def step_cost(self, reader: Reader) -> tuple[float, float]:
        """What the reader's next step costs by itself, and how much of it the step is to be judged by."""

    @abstractmethod
    def rest(self, reader: Reader) -> None:
        """The pass's draft is settled: the target comes next."""

    def close(self, reader: Reader) -> None:
        """The edit is over."""
        if reader.slot is not None:
            self.target.slots.release(reader.slot)
            reader.slot = None

    @abstractmethod
    def _row(self, reader: Reader, chain: list[int]) -> _Row | None:
        """The reader's part of the next forward."""

    def _forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        return self.target.forward(rows)

    def _cost(self, tokens: int) -> float:
        return float(self.costs.costs(max(1, tokens), 0)[0])

    def _chosen(self, reader: Reader, logits: torch.Tensor, ahead: int, cost: float) -> Step:
        """logits: [1, vocab]. Drawn with the target's own noise, so that the two coincide as often as they can."""
        parameters, position = reader.edit.parameters, reader.edit.output_length + ahead
        if reader.edit.rejects:
            return self._drawn(reader, logits, ahead, cost)
        (token,) = choose_rows(logits, parameters, ((parameters.seed, position),)).tokens
        return Step((token,), _probability(logits, token, parameters.temperature), cost)

    def _drawn(self, reader: Reader, logits: torch.Tensor, ahead: int, cost: float) -> Step:
        """As `_chosen`, with noise of its own, and the distribution kept for the rejection rule."""
        parameters, position = reader.edit.parameters, reader.edit.output_length + ahead
        token, distribution = draw(logits[0], parameters, position)
        del reader.distributions[ahead:]
        reader.distributions.append(distribution)
        return Step((token,), float(distribution[token]), cost)

    def _read_row(self, reader: Reader, wanted: list[int], settled: int, capacity: int) -> _Row | None:
        """The next chunk of `wanted` that the reader's own slot does not hold; its first `settled` will not change.

        capacity: tokens that the slot should have room for. None: the text is too long for the model, or its room is
        taken.
        """
        most = min(self.target.spec.context_length, self.target.slots.arena_tokens)
        if reader.slot is None and len(wanted) <= most:
            reader.slot = self.target.slots.acquire(wanted, min(capacity, most), reader.edit.request.principal)
        if reader.slot is None or len(wanted) > reader.slot.capacity:
            return None
        slot = reader.slot
        known = min(reader.agreed, len(wanted) - 1)  # the last one is run again, so that there are logits
        agreed = known + common_prefix(slot.tokens[known:], wanted[known:-1])
        slot.crop(agreed)
        reader.agreed = min(agreed, settled)
        chunk = wanted[agreed : agreed + _READ]
        completes = agreed + len(chunk) == len(wanted)
        return _Row(reader, PackedRow(slot, chunk, len(chunk) - completes), completes)

    def _reading_cost(self, reader: Reader, tokens: int) -> tuple[float, float]:
        """What a step costs whose reader has `tokens` to read, and its share if they are a prompt."""
        held = reader.slot.length if reader.slot is not None else 0
        behind = max(1, tokens - held)
        cost = self._cost(min(behind, _READ))
        if behind <= _READ and held:
            return cost, cost
        steps = max(1.0, _GAPS * (reader.edit.capacity - reader.edit.output_length) / 2)
        return cost, self._cost(1) + self._cost(behind) / steps


class SmallModel(DraftModel):
    """A small model with the target's tokenizer."""

    def step_cost(self, reader: Reader) -> tuple[float, float]:
        """See `DraftModel.step_cost`."""
        return self._reading_cost(reader, len(reader.edit.tokens))

    def rest(self, reader: Reader) -> None:
        """See `DraftModel.rest`; what was proposed in vain is seen at the next step."""

    def _row(self, reader: Reader, chain: list[int]) -> _Row | None:
        tokens = reader.edit.tokens
        return self._read_row(reader, [*tokens, *chain], len(tokens), reader.edit.capacity)


class EarlyExit(DraftModel):
    """The target's own first layers: nothing to read, no memory; the pass that verifies overwrites what they wrote."""

    def __init__(self, target: TorchTarget, costs: CostCurve, layers: int) -> None:
        """layers: how many are run."""
        super().__init__(target, costs)
        self.layers = layers

    @property
    def name(self) -> str:
        """See `DraftModel.name`."""
        return f"the first {self.layers} layers"

    @property
    def memory(self) -> int:
        """See `DraftModel.memory`: none."""
        return 0

    def step_cost(self, reader: Reader) -> tuple[float, float]:
        """See `DraftModel.step_cost`."""
        return self._cost(1), self._cost(1)

    def rest(self, reader: Reader) -> None:
        """See `DraftModel.rest`: the target's slot holds what it held."""
        if reader.edit.slot is not None and reader.agreed:
            reader.edit.slot.crop(reader.agreed)
            reader.agreed = 0

    def _row(self, reader: Reader, chain: list[int]) -> _Row | None:
        slot = reader.edit.slot
        pending = [*reader.edit.tokens, *chain][slot.length :] if slot is not None else []
        if slot is None or len(pending) != 1:
            return None
        reader.agreed = reader.agreed or slot.length
        return _Row(reader, PackedRow(slot, pending, 0), True)

    def _forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        return self.target.forward_early(rows, self.layers)


class TranslatedModel(DraftModel):
    """A small model with another tokenizer: it goes on with the text, and each word that it finishes is tokenised again
    as the target spells it (universal assisted generation). It drafts greedily: no noise is shared."""

    shares_tokenizer = False

    def __init__(self, target: TorchTarget, costs: CostCurve, own: Prompter, targets: Prompter, end_token: int) -> None:
        """own, targets: prompters of the draft model and of the target; end_token: the target's."""
        super().__init__(target, costs)
        self._own = own
        self._targets = targets
        self._end = end_token

    def open(self, edit: ReadEdit) -> Reader:
        """See `DraftModel.open`."""
        return Reader(edit, prompt=self._own.build(edit.request, lambda text: None).ids)

    def step_cost(self, reader: Reader) -> tuple[float, float]:
        """See `DraftModel.step_cost`; the output's length is about the same in both spellings."""
        return self._reading_cost(reader, len(reader.prompt) + reader.edit.output_length)

    def rest(self, reader: Reader) -> None:
        """See `DraftModel.rest`."""
        reader.unfinished.clear()
        reader.doubt = 1.0

    def _row(self, reader: Reader, chain: list[int]) -> _Row | None:
        text = self._targets.decoder().whole([*reader.edit.output, *chain])
        if text.endswith("\ufffd"):
            return None  # it ends inside a character
        wanted = [*reader.prompt, *self._own.document(text).ids, *reader.unfinished]
        rest = reader.edit.capacity - len(reader.edit.tokens)
        return self._read_row(reader, wanted, len(reader.prompt), len(wanted) + 2 * rest)

    def _chosen(self, reader: Reader, logits: torch.Tensor, ahead: int, cost: float) -> Step:
        token = int(logits[0].argmax())
        probability = _probability(logits, token, 0.0)
        if token in self.target.spec.end_tokens:
            finished, doubt = self._finished(reader), reader.doubt
            self.rest(reader)
            return Step((*finished, self._end), doubt if finished else probability, cost)
        begins = self._own.vocabulary.bytes_of(token)[:1].isspace()
        finished, doubt = (self._finished(reader), reader.doubt) if begins else ((), 1.0)
        if begins:
            self.rest(reader)
        reader.unfinished.append(token)
        reader.doubt *= probability
        return Step(finished, doubt, cost)

    def _finished(self, reader: Reader) -> tuple[int, ...]:
        """The unfinished word in the target's tokens."""
        word = b"".join(map(self._own.vocabulary.bytes_of, reader.unfinished)).decode("utf-8", "replace")
        return tuple(self._targets.vocabulary.encode_after("", word).ids) if word else ()


@dataclass(frozen=True, slots=True)
class Asking:
    """An edit whose draft a model may go on with."""

    gap: GapFill
    reader: Reader


def fill(asking: Iterable[Asking], model: DraftModel, patient: bool = False) -> None:
    """Let the model go on with several edits' drafts, all in the same forwards, for as long as each wants more.

    patient: read a prompt to its end, however long that takes; else a chunk of it a pass.
    """
    left = everyone = list(asking)
    while left := [one for one in left if one.gap.wants_more(*model.step_cost(one.reader))]:
        steps = model.step([one.reader for one in left], [one.gap.tokens for one in left])
        going_on: list[Asking] = []
        for one, step in zip(left, steps, strict=True):
            if step is not None:
                one.gap.take(step.tokens, step.probability, step.cost)
                if patient or not step.reading:
                    going_on.append(one)
        left = going_on
    for one in everyone:
        model.rest(one.reader)


def _probability(logits: torch.Tensor, token: int, temperature: float) -> float:
    scores = logits[0].double() / (temperature or 1.0)
    return float(torch.exp(scores[token] - torch.logsumexp(scores, -1)))
