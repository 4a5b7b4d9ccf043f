"""How often is a draft model right, by its own confidence and by what the document would put in the same place?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from redraft.drafting.base import Floats

_BORDERS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
_SIZE = len(_BORDERS) + 1
_WEIGHT = 6.0  # outcomes that the first guess counts for


class Agreement:
    """Counts of right and wrong tokens by two probabilities, in buckets, over a first guess; learned online.

    document: P(the document's next token is right) as the alignment sees it; 0 where it proposes nothing.
    model: the draft model's probability of its token.
    """

    def __init__(self) -> None:
        self._right = {name: np.zeros((_SIZE, _SIZE)) for name in ("same", "other", "document")}
        self._seen = {name: np.zeros((_SIZE, _SIZE)) for name in ("same", "other", "document")}

    def right(self, document: float, model: float, same: bool) -> float:
        """P(the model's token is right); same: it is also what the document would put there."""
        guess = 1.0 - (1.0 - document) * (1.0 - model) if same else model * (1.0 - document)
        return self._estimate("same" if same else "other", document, model, guess)

    def document_right(self, document: float, model: float) -> float:
        """P(the document's token is right) although the model holds another one for probable."""
        against = document * (1.0 - model)
        return self._estimate("document", document, model, against / max(1e-9, against + 1.0 - document))

    def helps(self, document: float) -> float:
        """P(the model's token will be right and the document's wrong), before the model was asked."""
        row = _bucket(document)
        right, seen = self._right["other"][row].sum(), self._seen["other"][row].sum() + self._seen["same"][row].sum()
        return float((right + _WEIGHT * 0.4 * (1.0 - document)) / (seen + _WEIGHT))

    def learn(self, document: float, model: float, same: bool, right: bool, document_right: bool) -> None:
        """Take in what came of a token that the model proposed."""
        self._count("same" if same else "other", document, model, right)
        if not same:
            self._count("document", document, model, document_right)

    def to_json(self) -> dict[str, list[list[list[float]]]]:
        """Counts, for the server to save."""
        return {name: [self._right[name].tolist(), self._seen[name].tolist()] for name in self._right}

    def restore(self, saved: Mapping[str, list[list[list[float]]]]) -> None:
        """Take back what `to_json` gave. Raises ValueError or KeyError if it is of another shape."""
        for name in self._right:
            right, seen = (np.array(rows, dtype=np.float64) for rows in saved[name])
            if right.shape != (_SIZE, _SIZE) or seen.shape != right.shape:
                raise ValueError(f"counts of a draft model have {right.shape}, not {(_SIZE, _SIZE)}")
            self._right[name], self._seen[name] = right, seen

    def _estimate(self, name: str, document: float, model: float, guess: float) -> float:
        where = _bucket(document), _bucket(model)
        right: Floats = self._right[name]
        return float((right[where] + _WEIGHT * guess) / (self._seen[name][where] + _WEIGHT))

    def _count(self, name: str, document: float, model: float, right: bool) -> None:
        where = _bucket(document), _bucket(model)
        self._right[name][where] += right
        self._seen[name][where] += 1


def _bucket(probability: float) -> int:
    return bisect_right(_BORDERS, probability)
