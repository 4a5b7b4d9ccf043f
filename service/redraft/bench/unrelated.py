"""Outputs that share no token with the document and repeat nothing: the worst case for every draft."""

from __future__ import annotations

import random
import re

from transformers import PreTrainedTokenizerBase

from redraft.replay.pairs import Pair

_WORD = re.compile(r"[a-z]{4,}")


def unrelated(pair: Pair, tokenizer: PreTrainedTokenizerBase, seed: int = 7) -> Pair:
    """The pair with as many words as its rewrite has, none twice, that have no token of the document.

    The words come from the tokenizer's own vocabulary. Raises ValueError where it holds too few.
    """
    count = max(1, len(pair.after.split()))
    document = set(_ids(tokenizer, f"{pair.before} {pair.before.lower()}"))
    words = sorted({str(tokenizer.decode([index])).strip() for index in range(len(tokenizer))})
    fitting = [word for word in words if _WORD.fullmatch(word) and document.isdisjoint(_ids(tokenizer, f" {word}"))]
    if len(fitting) < count:
        raise ValueError(f"{pair.id}: the vocabulary has {len(fitting)} words without a token of the document")
    chosen = random.Random(seed).sample(fitting, count)
    return Pair(pair.id, pair.before, " ".join(chosen), pair.kind, pair.instruction)


def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids
