"""What the engine needs from a target model, as narrow types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    from redraft.model.kv import Slot, SlotPool


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Facts about a loaded model that never change while it is served."""

    name: str
    context_length: int  # tokens, prompt and output together
    vocab_size: int  # width of the logits
    end_tokens: tuple[int, ...]  # ids that end an output; the first is the one drafters propose
    device: str
    dtype: str
    parameters: int
    demo: bool = False
    adapter: str = ""  # name of the LoRA that was merged in


@dataclass(frozen=True, slots=True)
class PackedRow:
    """One edit's part of a pass.

    The row's tokens take positions slot.length .. slot.length + len(tokens) - 1; their keys and values are written
    there. Logits are returned for tokens[logits_from:] (logits_from == len(tokens): none).
    The forward does not change slot.length: the engine commits what was accepted with `Slot.extend`.
    """

    slot: Slot
    tokens: Sequence[int]
    logits_from: int


class Target(Protocol):
    """A model that verifies packed rows of several edits in one forward."""

    @property
    def spec(self) -> ModelSpec: ...

    @property
    def slots(self) -> SlotPool: ...

    def forward(self, rows: Sequence[PackedRow]) -> torch.Tensor:
        """Run one pass.

        Returns logits[sum of wanted positions, vocab_size] in row order, in the model's dtype, on its device.
        """

    def last_seconds(self) -> float:
        """How long the last forward took on the device. Only after its logits have been read."""
