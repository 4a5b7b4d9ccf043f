"""The wire's enums and the domain's, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from redraft.engine.request import Acceptance, DraftMode, OffsetEncoding
from redraft.engine.results import FinishReason, Source
from redraft.v1 import edit_pb2 as pb

Domain = TypeVar("Domain", bound=Enum)
Wire = TypeVar("Wire", bound=int)


class UnknownValue(ValueError):
    """A number that this version's contract does not list for an enum; proto3 lets it through."""

    def __init__(self, name: str, value: int) -> None:
        super().__init__(f"{name}: unknown value {value}")
        self.name = name
        self.value = value


@dataclass(frozen=True)
class EnumTable(Generic[Domain, Wire]):
    """One enum's pairs; `unspecified` is what the wire's zero means, None: it has no meaning."""

    name: str
    wire: Mapping[Domain, Wire]
    unspecified: Domain | None = None

    def to_wire(self, value: Domain) -> Wire:
        """The wire's number of a domain value."""
        return self.wire[value]

    def from_wire(self, number: int) -> Domain:
        """The domain value of a number; raises UnknownValue."""
        if number == 0 and self.unspecified is not None:
            return self.unspecified
        for value, wire in self.wire.items():
            if wire == number:
                return value
        raise UnknownValue(self.name, number)


OFFSET_ENCODING = EnumTable(
    "offset_encoding",
    {
        OffsetEncoding.UTF8: pb.OFFSET_ENCODING_UTF8,
        OffsetEncoding.UTF16: pb.OFFSET_ENCODING_UTF16,
        OffsetEncoding.CODE_POINTS: pb.OFFSET_ENCODING_CODE_POINTS,
    },
    unspecified=OffsetEncoding.UTF8,
)

DRAFT_MODE = EnumTable(
    "mode",
    {
        DraftMode.AUTO: pb.DRAFT_MODE_AUTO,
        DraftMode.DOCUMENT: pb.DRAFT_MODE_DOCUMENT,
        DraftMode.OFF: pb.DRAFT_MODE_OFF,
    },
    unspecified=DraftMode.AUTO,
)

ACCEPTANCE = EnumTable(
    "acceptance",
    {Acceptance.COUPLED: pb.ACCEPTANCE_COUPLED, Acceptance.REJECTION: pb.ACCEPTANCE_REJECTION},
    unspecified=Acceptance.COUPLED,
)

SOURCE = EnumTable(
    "source",
    {
        Source.DOCUMENT: pb.SOURCE_DOCUMENT,
        Source.REFERENCE: pb.SOURCE_REFERENCE,
        Source.SELF_COPY: pb.SOURCE_SELF_COPY,
        Source.DRAFT_MODEL: pb.SOURCE_DRAFT_MODEL,
        Source.TARGET: pb.SOURCE_TARGET,
    },
)

FINISH_REASON = EnumTable(
    "reason",
    {
        FinishReason.END: pb.FINISH_REASON_END,
        FinishReason.STOP: pb.FINISH_REASON_STOP,
        FinishReason.LENGTH: pb.FINISH_REASON_LENGTH,
        FinishReason.CANCELLED: pb.FINISH_REASON_CANCELLED,
        FinishReason.DEADLINE: pb.FINISH_REASON_DEADLINE,
    },
)
