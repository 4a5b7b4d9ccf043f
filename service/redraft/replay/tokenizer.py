"""The tokenizer that pairs are played with."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import AutoTokenizer

from redraft.drafting.classes import classes_of
from redraft.drafting.soft import Spelling
from redraft.engine.vocabulary import Vocabulary
from redraft.errors import ModelRefused
from redraft.model.loading import resolve


@dataclass(frozen=True, slots=True)
class Tokens:
    """How texts become ids: the vocabulary, the class of each of its tokens, the token that ends an output, and the
    vocabulary's spelling."""

    vocabulary: Vocabulary
    classes: list[int]
    end: int
    spelling: Spelling | None = None


def open_tokenizer(name: str) -> Tokens:
    """The tokenizer of `demo`, a folder or a hub id. Raises ModelRefused if there is none or it has no end token."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve(name))
    except (OSError, ValueError) as error:
        raise ModelRefused(f"cannot load a tokenizer from {name!r}: {error}") from error
    if tokenizer.eos_token_id is None:
        raise ModelRefused(f"the tokenizer {name} has no end token")
    vocabulary = Vocabulary(tokenizer)
    texts = vocabulary.texts()
    return Tokens(vocabulary, classes_of(texts), int(tokenizer.eos_token_id), Spelling(texts))
