"""Checks a request's texts and options, the same for local and remote callers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from redraft.drafting.base import MAX_DRAFT
from redraft.engine.offsets import require_encodable
from redraft.engine.request import Drafting, EditRequest, Range, Sampling
from redraft.errors import EmptyDocument, InvalidOption, InvalidRange

MAX_OUTPUT_TOKENS = 1 << 20
"""Largest `max_output_tokens` a request may ask for; more than the context leaves is clamped later."""

MAX_STOP_STRINGS = 16
"""Most stop strings of one request."""

MAX_SEED = (1 << 63) - 1
"""Largest seed."""

MAX_PENALTY = 2.0
"""Largest presence and frequency penalty, in either direction."""


def validate(request: EditRequest) -> None:
    """Check everything that can be judged without a model.

    Raises EmptyDocument, InvalidRange, InvalidOption or MalformedRequest (a lone surrogate in any text).
    """
    for name, text in _texts(request):
        require_encodable(text, name)
    if not request.document:
        raise EmptyDocument
    if not request.instruction.strip():
        raise InvalidOption("instruction", "must not be blank")
    if request.selection is not None:
        _check_selection(request.selection, len(request.document))
    _check_sampling(request.sampling)
    _check_drafting(request.drafting)


def _texts(request: EditRequest) -> Iterator[tuple[str, str]]:
    yield "document", request.document
    yield "instruction", request.instruction
    yield "document_version", request.document_version
    yield "model", request.model
    yield "client_request_id", request.client_request_id
    if request.prediction is not None:
        yield "prediction", request.prediction
    yield from (("references", text) for text in request.references)
    yield from (("stop", text) for text in request.sampling.stop)
    for turn in request.turns:
        yield from (("turns", text) for text in (turn.document, turn.instruction, turn.output))


def _check_selection(selection: Range, length: int) -> None:
    if not 0 <= selection.start < selection.end <= length:
        raise InvalidRange(
            f"the selection [{selection.start}, {selection.end}) must be a non-empty part of the document's "
            f"{length} code points"
        )


def _check_sampling(sampling: Sampling) -> None:
    _check_number("temperature", sampling.temperature, 0.0, math.inf)
    _check_number("top_p", sampling.top_p, 0.0, 1.0, above=True)
    _check_number("top_k", sampling.top_k, 0, (1 << 31) - 1)
    _check_number("seed", sampling.seed, 0, MAX_SEED)
    _check_number("repetition_penalty", sampling.repetition_penalty, 0.0, math.inf, above=True)
    _check_number("presence_penalty", sampling.presence_penalty, -MAX_PENALTY, MAX_PENALTY)
    _check_number("frequency_penalty", sampling.frequency_penalty, -MAX_PENALTY, MAX_PENALTY)
    _check_number("max_output_tokens", sampling.max_output_tokens, 1, MAX_OUTPUT_TOKENS)
    _check_stop(sampling.stop)


def _check_stop(stop: tuple[str, ...]) -> None:
    if len(stop) > MAX_STOP_STRINGS:
        raise InvalidOption("stop", f"at most {MAX_STOP_STRINGS} strings, not {len(stop)}")
    if not all(stop):
        raise InvalidOption("stop", "a stop string must not be empty")


def _check_drafting(drafting: Drafting) -> None:
    _check_number("limit", drafting.limit, 1, MAX_DRAFT)


def _check_number(option: str, value: float | None, low: float, high: float, *, above: bool = False) -> None:
    """Require a finite value in [low, high], or in (low, high] with `above`; None is unset."""
    if value is None:
        return
    if not math.isfinite(value):
        raise InvalidOption(option, f"must be finite, not {value}")
    if not low <= value <= high or (above and value == low):
        raise InvalidOption(option, f"must be {_interval(low, high, above)}, not {value}")


def _interval(low: float, high: float, above: bool) -> str:
    lower = f"above {low:g}" if above else f"at least {low:g}"
    return lower if math.isinf(high) else f"{lower} and at most {high}"
