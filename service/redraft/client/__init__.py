"""Clients of redraft: async and sync over gRPC, and in the process. Imports neither torch nor transformers."""

from redraft.client.base import EditClient
from redraft.client.channel import default_address, default_socket
from redraft.client.errors import (
    CallCancelled,
    ConnectionFailed,
    DeadlineExceeded,
    MessageTooLarge,
    ProtocolMismatch,
    RemoteFault,
)
from redraft.client.local import LocalClient
from redraft.client.remote import AsyncClient, Client
from redraft.client.result import EditResult, collect, collect_async
from redraft.rpc.events import StreamEvent

__all__ = [
    "AsyncClient",
    "CallCancelled",
    "Client",
    "ConnectionFailed",
    "DeadlineExceeded",
    "EditClient",
    "EditResult",
    "LocalClient",
    "MessageTooLarge",
    "ProtocolMismatch",
    "RemoteFault",
    "StreamEvent",
    "collect",
    "collect_async",
    "default_address",
    "default_socket",
]
