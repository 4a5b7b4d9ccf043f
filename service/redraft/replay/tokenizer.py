"""The tokenizer that pairs are played with."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import AutoTokenizer

from redraft.drafting.classes import classes_of
from redraft.engine.vocabulary import Vocabulary
from redraft.errors import ModelRefused
from redraft.model.loading import resolve


@dataclass(frozen=True, slots=True)
class Tokens:
    """How texts become ids: the vocabulary, the class of each of its tokens, and the token that ends an output."""

    vocabulary: Vocabulary
    classes: list[int]
    end: int


def open_tokenizer(name: str) -> Tokens:
    """The tokenizer of `demo`, a folder or a hub id. Raises ModelRefused if there is none or it has no end token."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(resolve(name))
    except (OSError, ValueError) as error:
        raise ModelRefused(f"cannot load a tokenizer from {name!r}: {error}") from error
    if tokenizer.eos_token_id is None:
        raise ModelRefused(f"the tokenizer {name} has no end token")
    vocabulary = Vocabulary(tokenizer)
    return Tokens(vocabulary, classes_of(vocabulary.texts()), int(tokenizer.eos_token_id))
