"""Log lines go to standard error: standard output is the command's result."""

from __future__ import annotations

import sys

import structlog


def log_to_stderr() -> None:
    """Called once by each command that runs an engine or a server."""
    # Looked up at every line: the stream may be replaced while the process runs.
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
