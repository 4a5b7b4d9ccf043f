"""How long a pass takes where it runs: on the host, or on a device that works on its own."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol

import torch


class Clock(Protocol):
    """Times the block that it is entered for."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def seconds(self) -> float:
        """Length of the last block; of device work only once it is done."""


class HostClock:
    """For work that is done when the block ends."""

    def __init__(self) -> None:
        self._began = self._ended = 0.0

    def __enter__(self) -> None:
        self._began = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._ended = time.perf_counter()

    def seconds(self) -> float:
        return self._ended - self._began


class DeviceClock:
    """For work that is only queued within the block: two events in the stream cost no synchronisation."""

    def __init__(self) -> None:
        self._began = torch.cuda.Event(enable_timing=True)
        self._ended = torch.cuda.Event(enable_timing=True)

    def __enter__(self) -> None:
        self._began.record()

    def __exit__(self, *_: object) -> None:
        self._ended.record()

    def seconds(self) -> float:
        return float(self._began.elapsed_time(self._ended)) / 1000.0
