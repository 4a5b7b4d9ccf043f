"""When an overloaded server is asked again."""

from __future__ import annotations

import time
from dataclasses import dataclass

from redraft.errors import Overloaded


@dataclass(slots=True)
class RetryBudget:
    """Counts one edit's retries. `deadline` is in seconds of time.monotonic(), None: no deadline."""

    left: int
    deadline: float | None

    @classmethod
    def start(cls, retries: int, timeout: float | None) -> RetryBudget:
        """The budget of an edit that begins now."""
        return cls(retries, None if timeout is None else time.monotonic() + timeout)

    def remaining(self) -> float | None:
        """Seconds until the deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def pause(self, error: Overloaded) -> float:
        """Seconds to wait before the next try; raises the error if there is none, or no time for it."""
        remaining = self.remaining()
        if self.left <= 0 or (remaining is not None and remaining <= error.retry_after):
            raise error
        self.left -= 1
        return error.retry_after
