"""The engine: one step plans, drafts, runs one forward, accepts and emits, for all running edits at once."""

from __future__ import annotations

import time
from collections.abc import Sequence as Seq
from dataclasses import replace

import torch

from redraft.drafting.base import EMPTY, MISLED, Draft, Verdict
from redraft.drafting.length import allocate
from redraft.drafting.model import Asking, DraftModel, fill
from redraft.drafting.planner import Planner
from redraft.engine import spans
from redraft.engine.accept import Acceptance, Choose, accept
from redraft.engine.cost import LiveCost
from redraft.engine.memory import EmittedTexts
from redraft.engine.rejection import RejectionChooser
from redraft.engine.request import DraftMode
from redraft.engine.results import Delta, Failed, Finished, FinishReason, Source, Started
from redraft.engine.sampling import Choices, choose, choose_rows
from redraft.engine.scheduler import Portion, Scheduler, next_tokens
from redraft.engine.sequence import Interrupt, Sequence
from redraft.engine.stats import statistics
from redraft.model.base import PackedRow, Target

_INTERRUPTS = {Interrupt.CANCEL: FinishReason.CANCELLED, Interrupt.DEADLINE: FinishReason.DEADLINE}
# Differences of logits that another rounding could have turned round; scores are logits over the temperature.
_NEAR_TIE = {"float64": 1e-9, "float32": 1e-3}
_FORESEEN = 24  # draft tokens whose places are looked at behind a wrong one
_NEAR_TIE_HALF = 0.25  # bfloat16 and float16 logits


class Engine:
    """Runs edits on one target. Not thread-safe: one thread owns it."""

    def __init__(
        self,
        target: Target,
        scheduler: Scheduler,
        planner: Planner,
        cost: LiveCost,
        emitted: EmittedTexts,
        draft_model: DraftModel | None = None,
    ) -> None:
        """planner: what the edits' drafters weigh drafts with; emitted: where outputs' ids are kept for follow-ups."""
        self.target = target
        self.scheduler = scheduler
        self._planner = planner
        self._cost = cost
        self._emitted = emitted
        self._draft_model = draft_model
        self._tolerance = _NEAR_TIE.get(target.spec.dtype, _NEAR_TIE_HALF)

    def step(self) -> None:
        """One pass: every running edit moves on."""
        for sequence in self.scheduler.interrupted():
            self._finish(sequence, _INTERRUPTS[sequence.interrupted() or Interrupt.CANCEL])
        for sequence in self.scheduler.admit():
            self._start(sequence)
        portions = self.scheduler.plan()
        if not portions:
            return
        drafts = self._drafts(portions)
        rows = [_row(portion, draft) for portion, draft in zip(portions, drafts, strict=True)]
        branched = [index for index, draft in enumerate(drafts) if draft.extra]
        rows += [_branch_row(portions[index], drafts[index]) for index in branched]
        logits = self.target.forward(rows)
        context = rows[0].slot.length
        parts = logits.split([len(row.tokens) - row.logits_from for row in rows])
        parts, others = parts[: len(portions)], parts[len(portions) :]
        branches = dict(zip(branched, others, strict=True))
        singles = _single_choices(portions, parts)
        for index, (portion, draft, part) in enumerate(zip(portions, drafts, parts, strict=True)):
            if portion.completes:
                self._verify(portion, draft, part, singles.get(id(portion)), branches.get(index))
            else:
                portion.sequence.held_slot.extend(next_tokens(portion))
                portion.sequence.tally.prefill_passes += 1
        if len(rows) == 1 and rows[0].logits_from == 0:
            self._learn_cost(len(rows[0].tokens), context)

    def fail_all(self, error: Exception) -> None:
        """End every edit, running or waiting, with an error; what their slots hold is not trusted any more."""
        for sequence in self.scheduler.discard_all():
            self._close_reader(sequence)
            sequence.emit(Failed(error))

    def _learn_cost(self, queries: int, context: int) -> None:
        """Correct the cost curve by a pass that one edit had to itself, all its positions looked at."""
        if self._cost.observe(queries, context, self.target.last_seconds()):
            self._planner.curve = self._cost.curve

    def _start(self, sequence: Sequence) -> None:
        sequence.timeline.admitted = time.perf_counter()
        sequence.tally.cached_tokens = sequence.held_slot.length
        sequence.emit(self._started(sequence))

    def _drafts(self, portions: Seq[Portion]) -> list[Draft]:
        """A draft for each portion; lengths are settled over all edits, since they share the pass."""
        began = time.perf_counter()
        self._planner.share_among(sum(portion.completes for portion in portions))
        drafts = [
            portion.sequence.drafter.propose(portion.sequence, portion.sequence.draft_room)
            if portion.completes and portion.sequence.draft_room > 0
            else EMPTY
            for portion in portions
        ]
        drafts = self._filled(portions, drafts)
        drafts = [self._with_shadow(portion, draft) for portion, draft in zip(portions, drafts, strict=True)]
        base = sum(portion.count for portion in portions) + sum(draft.extra for draft in drafts)
        lengths = allocate(drafts, base, self._planner.curve)
        spent = (time.perf_counter() - began) / len(portions)
        for portion in portions:
            portion.sequence.timeline.drafting += spent
        return [draft.cut(length) for draft, length in zip(drafts, lengths, strict=True)]

    def _with_shadow(self, portion: Portion, draft: Draft) -> Draft:
        """The draft, its branch left out if there is nowhere to verify it."""
        sequence = portion.sequence
        if not draft.extra:
            return draft
        if portion.count > 1:
            return replace(draft, branch=None)  # the rest of a prompt would be run twice
        if sequence.shadow is None:
            sequence.shadow = self.target.slots.fork(sequence.held_slot)
        if sequence.shadow is None:
            return replace(draft, branch=None)
        self.target.slots.follow(sequence.shadow, sequence.held_slot)
        return draft

    def _filled(self, portions: Seq[Portion], drafts: list[Draft]) -> list[Draft]:
        """The drafts with what the draft model adds to them, where it is worth asking."""
        if self._draft_model is None:
            return drafts
        began = time.perf_counter()
        asking = {index: found for index, portion in enumerate(portions) if (found := self._asking(portion))}
        fill(asking.values(), self._draft_model)
        spent = (time.perf_counter() - began) / max(1, len(asking))
        for index, one in asking.items():
            drafts[index] = one.gap.close()
            portions[index].sequence.timeline.draft_model += spent
        return drafts

    def _asking(self, portion: Portion) -> Asking | None:
        sequence = portion.sequence
        gap = sequence.drafter.gap if portion.completes and sequence.draft_room > 0 else None
        if gap is None or self._draft_model is None:
            return None
        sequence.reader = sequence.reader or self._draft_model.open(sequence)
        return Asking(gap, sequence.reader)

    def _close_reader(self, sequence: Sequence) -> None:
        if sequence.reader is not None and self._draft_model is not None:
            self._draft_model.close(sequence.reader)
            sequence.reader = None

    def _verify(
        self,
        portion: Portion,
        draft: Draft,
        logits: torch.Tensor,
        single: Choices | None,
        branch_logits: torch.Tensor | None,
    ) -> None:
        """Take in a pass of one edit; branch_logits: those of the draft's branch, if it was verified, too."""
        sequence, nodes = portion.sequence, draft.nodes
        pending = next_tokens(portion)
        ends = self.target.spec.end_tokens
        verdict = accept(draft.tokens, logits, _chooser(sequence, draft, single), ends)
        preferred = _preferred(sequence, draft, verdict, logits)
        proposed = nodes - (branch_logits is not None)  # its last token run once more is no proposal
        sequence.tally.drafted += proposed
        if draft.branch is not None and branch_logits is not None and draft.branch.tokens[0] == verdict.emitted[0]:
            draft, preferred = draft.branch, ()
            verdict = accept(draft.tokens, branch_logits, _chooser(sequence, draft, None), ends)
            self._take_over(sequence, [*pending, *draft.tokens[: verdict.accepted]])
        else:
            sequence.held_slot.extend([*pending, *draft.tokens[: verdict.accepted]])
        self._count(sequence, draft, verdict)
        sequence.tokens.extend(verdict.emitted)
        if sequence.parameters.penalises:
            sequence.history.append(verdict.emitted)
        sequence.drafter.observe(Verdict(verdict.emitted, verdict.accepted, preferred, nodes))
        self._emit(sequence, proposed, verdict)

    def _take_over(self, sequence: Sequence, tokens: list[int]) -> None:
        """The branch was right: its keys and values become the edit's own."""
        if sequence.shadow is not None:
            sequence.shadow.extend(tokens)
            self.target.slots.follow(sequence.held_slot, sequence.shadow)

    def _count(self, sequence: Sequence, draft: Draft, verdict: Acceptance) -> None:
        tally = sequence.tally
        tally.passes += 1
        sources = draft.sources(verdict.accepted)
        for source in sources:
            tally.accepted[source] = tally.accepted.get(source, 0) + 1
        tolerance = self._tolerance / (sequence.parameters.temperature or 1.0)
        tally.near_ties += sum(margin < tolerance for margin in verdict.margins)
        sequence.sources += [*sources, *[Source.TARGET] * (len(verdict.emitted) - verdict.accepted)]
        sequence.timeline.first_token = sequence.timeline.first_token or time.perf_counter()

    def _emit(self, sequence: Sequence, proposed: int, verdict: Acceptance) -> None:
        """Text of what was emitted, then the end if this was it."""
        first = sequence.output_length - len(verdict.emitted)
        pieces = []
        for index, token in enumerate(verdict.emitted):
            for piece in sequence.shaper.feed(sequence.decoder.feed(token)):
                place = sequence.place_of(piece.token - first) if piece.token >= first else None
                pieces.append((piece.text, sequence.sources[piece.token], place))
            if sequence.shaper.stop_string:
                sequence.forget_after(first + index + 1)
                break
        text = "".join(piece[0] for piece in pieces)
        shift = sequence.request.selection.start if sequence.request.selection else 0
        found = spans.provisional_spans(sequence.request.target_text, pieces, sequence.text_length, shift)
        sequence.release(text)
        sequence.emit(Delta(text, found, proposed, verdict.accepted))
        reason = _end_reason(sequence, verdict)
        if reason is not None:
            self._finish(sequence, reason)

    def _finish(self, sequence: Sequence, reason: FinishReason) -> None:
        complete = reason in (FinishReason.END, FinishReason.STOP)
        rest = [] if sequence.shaper.stop_string else sequence.shaper.finish_with(sequence.decoder.flush(), complete)
        text = "".join(piece.text for piece in rest)
        if text:
            pieces = [(piece.text, sequence.source_of(piece.token), None) for piece in rest]
            sequence.emit(Delta(text, spans.provisional_spans("", pieces, sequence.text_length), 0, 0))
            sequence.release(text)
        self._remember(sequence)
        self._close_reader(sequence)
        self.scheduler.remove(sequence)
        sequence.emit(self._finished(sequence, reason, complete))

    def _remember(self, sequence: Sequence) -> None:
        ids = [token for token in sequence.output if token not in self.target.spec.end_tokens]
        text = "".join(sequence.text)
        if ids and text == sequence.decoder.whole(ids):  # what shaping changed is not what the slot holds
            self._emitted.remember(sequence.request.principal, text, ids)

    def _finished(self, sequence: Sequence, reason: FinishReason, complete: bool) -> Finished:
        request, output = sequence.request, "".join(sequence.text)
        matches = spans.align(request.target_text, output)
        ends = sequence.shaper.token_ends
        shift = request.selection.start if request.selection else 0
        return Finished(
            reason=reason,
            complete=complete,
            edits=spans.text_edits(request.document, output, complete, request.selection, matches),
            spans=spans.final_spans(matches, len(output), ends, sequence.sources, shift),
            shaping=sequence.shaper.shaping,
            stats=statistics(sequence, spans.kept_tokens(matches, ends), self._cost.measured),
            stop_string=sequence.shaper.stop_string,
        )

    def _started(self, sequence: Sequence) -> Started:
        request, parameters, limits = sequence.request, sequence.parameters, sequence.limits
        return Started(
            request_id=sequence.request_id,
            client_request_id=request.client_request_id,
            document_version=request.document_version,
            model=self.target.spec.name,
            scripted=sequence.script is not None,
            prompt_tokens=len(sequence.prompt.ids),
            cached_tokens=sequence.tally.cached_tokens,
            context_length=self.target.spec.context_length,
            max_output_tokens=limits.max_output_tokens,
            max_output_clamped=limits.clamped,
            seed=parameters.seed,
            temperature=parameters.temperature,
            top_p=parameters.top_p,
            top_k=parameters.top_k,
            repetition_penalty=parameters.repetition_penalty,
            defaults_from_model=sequence.defaults_from_model,
            context_trimmed=sequence.prompt.shown,
            draft_ignored=_draft_ignored(sequence),
            offset_encoding=request.offset_encoding,
        )


class _Chooser:
    """The target's choices for one edit; a script, if there is one, overrides them at their full cost."""

    def __init__(self, sequence: Sequence, single: Choices | None) -> None:
        """single: the choice of a pass without a draft, if it was made together with other edits' already."""
        self._sequence = sequence
        self._single = single
        self._position = sequence.output_length

    def __call__(self, logits: torch.Tensor, offset: int, ahead: Seq[int]) -> Choices:
        sequence, position = self._sequence, self._position + offset
        found = self._single or choose(logits, sequence.parameters, position, sequence.history, ahead, offset)
        if sequence.script is None:
            return found
        forced = list(sequence.script[position : position + len(found.tokens)])
        forced += [sequence.end_token] * (len(found.tokens) - len(forced))
        return Choices(forced, found.margins, found.runners_up)


def _chooser(sequence: Sequence, draft: Draft, single: Choices | None) -> Choose:
    drawn = draft.source is Source.DRAFT_MODEL and sequence.rejects and sequence.script is None
    if drawn and sequence.reader is not None:
        known = sequence.reader.distributions[: draft.lead]
        return RejectionChooser(sequence.parameters, sequence.output_length, sequence.history, known)
    return _Chooser(sequence, single)


def _single_choices(portions: Seq[Portion], parts: Seq[torch.Tensor]) -> dict[int, Choices]:
    """Choices of the edits that carry no draft and no penalty, made together: by id of their portion.

    A row's choice depends on its own logits, seed and position alone, so it is the one that it would get by itself.
    """
    groups: dict[tuple[float, float, int], list[int]] = {}
    for index, (portion, part) in enumerate(zip(portions, parts, strict=True)):
        options = portion.sequence.parameters
        if portion.completes and len(part) == 1 and not options.penalises:
            groups.setdefault((options.temperature, options.top_p, options.top_k), []).append(index)
    made: dict[int, Choices] = {}
    for members in (group for group in groups.values() if len(group) > 1):
        owners = [portions[index].sequence for index in members]
        counters = tuple((owner.parameters.seed, owner.output_length) for owner in owners)
        found = choose_rows(torch.cat([parts[index] for index in members]), owners[0].parameters, counters)
        for row, index in enumerate(members):
            one = slice(row, row + 1)
            made[id(portions[index])] = Choices(found.tokens[one], found.margins[one], found.runners_up[one])
    return made


def _row(portion: Portion, draft: Draft) -> PackedRow:
    tokens = next_tokens(portion)
    first = len(tokens) - 1 if portion.completes else len(tokens)
    return PackedRow(portion.sequence.held_slot, [*tokens, *draft.tokens], first)


def _preferred(sequence: Sequence, draft: Draft, verdict: Acceptance, logits: torch.Tensor) -> tuple[int, ...]:
    """See `Verdict.preferred`; a script prefers nothing, and only copies of the document are looked at."""
    first = verdict.accepted + MISLED
    if sequence.script is not None or draft.origin is None or draft.length <= first or verdict.ended:
        return ()
    return tuple(logits[first : min(draft.length, first + _FORESEEN)].argmax(-1).tolist())


def _branch_row(portion: Portion, draft: Draft) -> PackedRow:
    """The branch behind the edit's last token, in its shadow."""
    sequence = portion.sequence
    if sequence.shadow is None or draft.branch is None:
        raise RuntimeError("a branch is verified in a shadow")
    return PackedRow(sequence.shadow, [*next_tokens(portion), *draft.branch.tokens], 0)


def _draft_ignored(sequence: Sequence) -> str:
    """Why the document, or the references, will not be drafted from; empty: they will."""
    request, limits = sequence.request, sequence.limits
    if not limits.draft_limit:
        return "drafting is off"
    if limits.max_output_tokens < 2:
        return "an output of one token leaves no room for a draft"
    if request.prediction is not None:
        return "the prediction replaces the document as draft"
    if request.references and request.drafting.mode is DraftMode.DOCUMENT:
        return "the mode is document only: the references are not drafted from"
    return ""


def _end_reason(sequence: Sequence, verdict: Acceptance) -> FinishReason | None:
    if sequence.shaper.stop_string:
        return FinishReason.STOP
    if verdict.ended:
        return FinishReason.END
    return FinishReason.LENGTH if sequence.remaining <= 0 else None
