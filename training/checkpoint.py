"""A run's state on disk: a folder that is replaced by renames, so that a crash leaves the old or the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

_STATE = "state.pt"


@dataclass(slots=True)
class Progress:
    """How far a run is, over all its sittings."""

    step: int = 0
    index: int = 0  # of the next example
    tokens: int = 0  # ids that went through the model
    answer_tokens: int = 0
    seconds: float = 0.0


class Checkpoint:
    """The last checkpoint of a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkpoint"
        self._old, self._new = folder / "checkpoint.old", folder / "checkpoint.new"

    def save(self, progress: Progress, optimizer: torch.optim.Optimizer, save_adapter: Callable[[Path], None]) -> None:
        """Replace the checkpoint."""
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir(parents=True)
        save_adapter(self._new)
        torch.save({"progress": asdict(progress), "optimizer": optimizer.state_dict()}, self._new / _STATE)
        os.sync()
        shutil.rmtree(self._old, ignore_errors=True)
        if self.folder.exists():
            self.folder.rename(self._old)
        self._new.rename(self.folder)
        shutil.rmtree(self._old, ignore_errors=True)

    def restore(self, optimizer: torch.optim.Optimizer, load_adapter: Callable[[Path], None]) -> Progress | None:
        """Go on from the checkpoint; None if there is none."""
        folder = self.folder if self.folder.exists() else self._old
        if not folder.exists():
            return None
        state: dict[str, Any] = torch.load(folder / _STATE, weights_only=True)
        load_adapter(folder)
        optimizer.load_state_dict(state["optimizer"])
        return Progress(**state["progress"])
