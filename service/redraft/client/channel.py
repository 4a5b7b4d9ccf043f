"""Addresses and channel options."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

from platformdirs import user_runtime_path

ADDRESS_VARIABLE = "REDRAFT_SERVER"
"""Environment variable that names the server to use."""

# gRPC itself repeats a call only as long as nothing of the response has arrived. RESOURCE_EXHAUSTED is not listed: only
# with RetryInfo is it worth another try, which gRPC does not look at (see retry.py).
_SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{"service": "redraft.v1.EditService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ]
}


def default_socket() -> Path:
    """Where a local server listens unless told otherwise; makes the directory, for this user only.

    Raises PermissionError where somebody else owns that place: whoever listens there would get the documents.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that XDG_RUNTIME_DIR is unset is no news to the user; the fallback is checked
        return user_runtime_path("redraft", appauthor=False, ensure_exists=True) / "redraft.sock"


def default_address() -> str:
    """REDRAFT_SERVER, else the default Unix socket, as a gRPC target."""
    return os.environ.get(ADDRESS_VARIABLE) or f"unix:{default_socket()}"


def channel_options(max_message_bytes: int) -> list[tuple[str, str | int]]:
    """Options of a client's channel."""
    return [
        ("grpc.service_config", json.dumps(_SERVICE_CONFIG)),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.per_rpc_retry_buffer_size", max_message_bytes),  # a request over 256 KiB would not be retried otherwise
        ("grpc.enable_http_proxy", 0),  # the server is on this machine; a proxy cannot reach it
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
