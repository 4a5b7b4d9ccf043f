"""Remembers which ids spelt an output, so that a follow-up finds them in the cache."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

_MOST_TOKENS = 200_000


class EmittedTexts:
    """(principal, text) -> the ids that were emitted for it; least recently used go first. Thread-safe.

    The same text can be tokenised in other ways than the model wrote it; a conversation that splices the emitted ids
    continues exactly what the slot holds.
    """

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[str, str], tuple[int, ...]] = OrderedDict()
        self._tokens = 0
        self._lock = threading.Lock()

    def remember(self, principal: str, text: str, ids: Sequence[int]) -> None:
        """Note an output's ids, without its end token."""
        with self._lock:
            self._tokens += len(ids) - len(self._texts.pop((principal, text), ()))
            self._texts[principal, text] = tuple(ids)
            while self._tokens > _MOST_TOKENS:
                self._tokens -= len(self._texts.popitem(last=False)[1])

    def ids(self, principal: str, text: str) -> tuple[int, ...] | None:
        """The ids of an output of this principal, or None."""
        with self._lock:
            found = self._texts.get((principal, text))
            if found is not None:
                self._texts.move_to_end((principal, text))
            return found
