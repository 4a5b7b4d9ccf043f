"""All that is learned of drafts: shipped as a prior, gone on with while serving, kept between servers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from redraft.drafting.agreement import Agreement
from redraft.drafting.confidence import Confidence
from redraft.drafting.survival import Hazards, SurvivalTable, hazards_from_json


class Learned:
    """Survival by kind, confidence in first tokens, how far to believe a draft model; shared by all edits."""

    def __init__(self, prior: Mapping[str, Hazards] | None = None, weights: list[float] | None = None) -> None:
        self.survival = SurvivalTable(prior)
        self.confidence = Confidence(weights)
        self.agreement = Agreement()

    @classmethod
    def shipped(cls) -> Learned:
        """What was fitted on real edits by `python -m redraft.replay.fit`, as package data."""
        text = files("redraft.drafting").joinpath("data/survival.json").read_text(encoding="utf-8")
        return cls.from_prior(json.loads(text))

    @classmethod
    def from_prior(cls, prior: Mapping[str, Any]) -> Learned:
        """What `prior_to_json` gave, with nothing learned beyond it."""
        return cls(hazards_from_json(prior["survival"]), list(prior["confidence"]))

    def prior_to_json(self) -> dict[str, Any]:
        """What this began with, in the form that is shipped."""
        return {"survival": self.survival.prior_to_json(), "confidence": self._weights()}

    def _weights(self) -> list[float]:
        return [round(weight, 4) for weight in self.confidence.weights]

    def to_json(self) -> dict[str, Any]:
        """What was learned, for the server to save."""
        return {
            "survival": self.survival.to_json(),
            "confidence": self._weights(),
            "agreement": self.agreement.to_json(),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take back what `to_json` gave. Raises ValueError, TypeError or KeyError if it is of another shape."""
        confidence = Confidence([float(weight) for weight in saved["confidence"]])
        agreement = Agreement()
        if "agreement" in saved:  # earlier versions knew of none
            agreement.restore(saved["agreement"])
        self.survival.restore(saved["survival"])
        self.agreement = agreement
        self.confidence = confidence
