"""What can go wrong between a client and a server, beside the domain's own exceptions."""

from __future__ import annotations

from redraft.errors import RedraftError


class ConnectionFailed(RedraftError):
    """No server answers at the address, or the connection broke."""

    reason = "CONNECTION_FAILED"


class DeadlineExceeded(RedraftError):
    """The call's timeout passed."""

    reason = "DEADLINE_EXCEEDED"


class CallCancelled(RedraftError):
    """The call was cancelled."""

    reason = "CANCELLED"


class MessageTooLarge(RedraftError):
    """A message over the size limit of the server or the client; the same request cannot succeed later."""

    reason = "MESSAGE_TOO_LARGE"


class ProtocolMismatch(RedraftError):
    """The server sent, or asked for, something that this version does not understand."""

    reason = "PROTOCOL_MISMATCH"


class RemoteFault(RedraftError):
    """A fault of the server; `metadata["request_id"]` finds it in the server's log."""

    reason = "INTERNAL"
