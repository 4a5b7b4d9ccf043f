"""Text <-> token ids: control tokens disabled on the way in, exact bytes of every token on the way out."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerBase

from redraft.errors import ModelRefused


@dataclass(frozen=True, slots=True)
class EncodedText:
    """Token ids of a text and where each token ends in it, in code points."""

    ids: list[int]
    ends: list[int]


class Vocabulary:
    """A tokenizer's two directions, with the guarantee that text never becomes a control token."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Raises ModelRefused for a tokenizer whose control tokens can be spelt, or whose bytes are unknown."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if not isinstance(backend, Tokenizer):
            raise ModelRefused("the tokenizer has no fast (tokenizers) backend")
        specification: dict[str, Any] = json.loads(backend.to_str())
        self.control: dict[str, int] = {token.content: index for index, token in tokenizer.added_tokens_decoder.items()}
        self._strips_right = {token.content for token in tokenizer.added_tokens_decoder.values() if token.rstrip}
        self._control_pattern = _alternatives(self.control)
        self.own_spaces = _own_spaces(specification)
        self._plain = _without_control_tokens(specification)
        self._pieces = _token_bytes(specification, self.control.values())
        self._check_control_cannot_be_spelt()

    def same_as(self, other: Vocabulary) -> bool:
        """Whether every id of either stands for the same text, and is reached in the same way."""
        return self.control == other.control and self._plain.to_str() == other._plain.to_str()

    def encode(self, text: str) -> EncodedText:
        """Ids of a run of plain text; whatever looks like a control token in it is encoded as ordinary characters.

        A tokenizer that puts a space of its own before every run gets it here, also where the text begins with one:
        Metaspace would leave it out there, and " a" and "a" would have the same ids.
        """
        return self.encode_after(" " * self.own_spaces if text else "", text)

    def encode_after(self, before: str, text: str) -> EncodedText:
        """Ids of `before + text` as the middle of a run; ends count from where `text` begins, not below 0."""
        encoding = self._plain.encode(before + text, add_special_tokens=False)
        return EncodedText(encoding.ids, [max(0, end - len(before)) for _, end in encoding.offsets])

    def split_control(self, text: str) -> Iterable[str | int]:
        """Cut a template's own text at its control tokens: plain pieces as str, control tokens as ids."""
        position = 0
        for match in self._control_pattern.finditer(text):
            if match.start() > position:
                yield text[position : match.start()]
            yield self.control[match.group()]
            position = match.end()
            if match.group() in self._strips_right:
                position += len(text) - position - len(text[position:].lstrip())
        if position < len(text):
            yield text[position:]

    def bytes_of(self, token: int) -> bytes:
        """The UTF-8 bytes that a token stands for; control tokens and unknown ids stand for none."""
        return self._pieces.get(token, b"")

    def texts(self) -> list[str]:
        """The text of every token by id; "" for control tokens and gaps, replacement characters for broken bytes."""
        return [self.bytes_of(token).decode("utf-8", "replace") for token in range(max(self._pieces, default=-1) + 1)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a whole run, the inverse of `encode`."""
        return IncrementalDecoder(self).whole(ids)

    def _check_control_cannot_be_spelt(self) -> None:
        control = set(self.control.values())
        for content in self.control:
            if control & set(self._plain.encode(content, add_special_tokens=False).ids):
                raise ModelRefused(f"the tokenizer lets plain text spell the control token {content!r}")


class IncrementalDecoder:
    """Token ids -> text, a token at a time; bytes of an unfinished character are held until it is complete."""

    def __init__(self, vocabulary: Vocabulary, spaces: int | None = None) -> None:
        """spaces: so many first spaces, where they are there, are not text; None: those that `encode` adds."""
        self._vocabulary = vocabulary
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._spaces = self._left = vocabulary.own_spaces if spaces is None else spaces

    def feed(self, token: int) -> str:
        """The characters that this token completes; may be empty."""
        piece = self._vocabulary.bytes_of(token)
        while self._left and piece:
            self._left = self._left - 1 if piece.startswith(b" ") else 0
            piece = piece.removeprefix(b" ")
        return self._utf8.decode(piece)

    def whole(self, ids: Sequence[int]) -> str:
        """The text of a whole output of the same vocabulary, whatever was fed here."""
        decoder = IncrementalDecoder(self._vocabulary, self._spaces)
        return "".join([*map(decoder.feed, ids), decoder.flush()])

    def flush(self) -> str:
        """What an output that ends inside a character leaves behind: a replacement character, or nothing."""
        return self._utf8.decode(b"", final=True)


def _alternatives(words: Iterable[str]) -> re.Pattern[str]:
    ordered = sorted(words, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)) if ordered else r"(?!)")


def _without_control_tokens(specification: dict[str, Any]) -> Tokenizer:
    """The same tokenizer that knows no added token, for text that must stay text, and puts no space first."""
    plain = {**specification, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    for part in _parts(plain.get("pre_tokenizer"), "pretokenizers"):
        if part.get("type") == "Metaspace":
            part["prepend_scheme"] = "never"
    plain["normalizer"] = _never_prepend(plain.get("normalizer"))
    return Tokenizer.from_str(json.dumps(plain))


def _never_prepend(normalizer: Any) -> Any:
    kept = [part for part in _parts(normalizer, "normalizers") if part.get("type") != "Prepend"]
    return {"type": "Sequence", "normalizers": kept} if kept else None


def _parts(node: Any, children: str) -> list[dict[str, Any]]:
    if not isinstance(node, dict):
        return []
    return list(node.get(children, [])) if node.get("type") == "Sequence" else [node]


def _own_spaces(specification: dict[str, Any]) -> int:
    """How many spaces the tokenizer puts before a run of text that follows a control token: 1 or 0.

    The scheme "first" puts one before the first run of all, which in a prompt is a control token's or the template's.
    """
    metaspaces = _parts(specification.get("pre_tokenizer"), "pretokenizers")
    always = any(p.get("type") == "Metaspace" and p.get("prepend_scheme") == "always" for p in metaspaces)
    normalizers = _parts(specification.get("normalizer"), "normalizers")
    return int(always or any(p.get("type") == "Prepend" for p in normalizers))


def _token_bytes(specification: dict[str, Any], control: Iterable[int]) -> dict[int, bytes]:
    """Bytes of every ordinary token, read off the kind of decoder that the tokenizer names."""
    kinds = {part.get("type") for part in _parts(specification.get("decoder"), "decoders")}
    if "ByteLevel" in kinds:
        spell = _byte_level_speller()
    elif kinds & {"Metaspace", "Replace"} and kinds <= {"Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}:
        spell = _metaspace_speller()
    else:
        raise ModelRefused(f"the tokenizer's decoder ({sorted(map(str, kinds))}) is not known here")
    vocabulary = specification["model"]["vocab"]
    pairs = vocabulary.items() if isinstance(vocabulary, dict) else ((p, i) for i, (p, _) in enumerate(vocabulary))
    hidden = set(control)
    return {index: spell(piece) for piece, index in pairs if index not in hidden}


def _byte_level_speller() -> Any:
    """Inverse of GPT-2's printable alphabet for bytes (Radford et al. 2019)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}

    def spell(piece: str) -> bytes:
        if all(character in table for character in piece):
            return bytes(table[character] for character in piece)
        return piece.encode()

    return spell


def _metaspace_speller() -> Any:
    """SentencePiece pieces: U+2581 is a space, <0xNN> a single byte."""
    byte = re.compile(r"<0x([0-9A-F]{2})>")

    def spell(piece: str) -> bytes:
        match = byte.fullmatch(piece)
        return bytes([int(match[1], 16)]) if match else piece.replace("\u2581", " ").encode()

    return spell
