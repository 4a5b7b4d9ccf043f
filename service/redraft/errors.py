"""The domain's exceptions. `rpc/status.py` maps each to a gRPC status; `reason` is part of the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class RedraftError(Exception):
    """Base of every error a caller can meet. `reason` is stable, `metadata` holds the facts as strings."""

    reason: ClassVar[str] = "INTERNAL"

    def __init__(self, message: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.metadata: dict[str, str] = dict(metadata or {})


class MalformedRequest(RedraftError):
    """Bytes that are not the promised message: a broken encoding, invalid UTF-8, a lone surrogate."""

    reason = "MALFORMED_REQUEST"


class EmptyDocument(RedraftError):
    """There is nothing to rewrite."""

    reason = "EMPTY_DOCUMENT"

    def __init__(self) -> None:
        super().__init__("the document is empty")


class InvalidRange(RedraftError):
    """A selection outside the document, reversed, empty, or inside a code point."""

    reason = "INVALID_RANGE"


class InvalidOption(RedraftError):
    """An option that is out of range; `metadata["option"]` names it."""

    reason = "INVALID_OPTION"

    def __init__(self, option: str, message: str) -> None:
        super().__init__(f"{option}: {message}", {"option": option})


class DocumentTooLong(RedraftError):
    """Prompt plus room for the document's own length does not fit the context or the slot budget."""

    reason = "DOCUMENT_TOO_LONG"

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(
            f"the edit needs {tokens} tokens (prompt and an output as long as the document); the limit is {limit}",
            {"tokens": str(tokens), "limit": str(limit)},
        )


class UnknownModel(RedraftError):
    """The request names a model that this process does not serve."""

    reason = "UNKNOWN_MODEL"

    def __init__(self, name: str, served: str) -> None:
        super().__init__(f"model {name!r} is not served here; served: {served!r}", {"model": name, "served": served})


class Unauthenticated(RedraftError):
    """No valid credential."""

    reason = "UNAUTHENTICATED"


class Overloaded(RedraftError):
    """The queue is full; `retry_after` (seconds) says when trying again makes sense."""

    reason = "OVERLOADED"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, {"retry_after_s": f"{retry_after:.3f}"})
        self.retry_after = retry_after


class Draining(RedraftError):
    """The server is shutting down and takes no new edit."""

    reason = "DRAINING"


class ModelLoading(RedraftError):
    """The model is not ready yet."""

    reason = "MODEL_LOADING"


class ModelRefused(RedraftError):
    """A model that cannot be served correctly here; raised at load, so it never reaches a client as a status."""

    reason = "MODEL_REFUSED"
