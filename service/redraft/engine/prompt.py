"""The prompt of an edit: chat template, system, document, instruction; the user's text can never leave its turn."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from jinja2.exceptions import TemplateError
from transformers import PreTrainedTokenizerBase

from redraft.engine.request import EditRequest, Range, Turn
from redraft.engine.vocabulary import EncodedText, IncrementalDecoder, Vocabulary
from redraft.errors import ModelRefused

PROMPT_VERSION = 2
"""Changes whenever the same request would give another prompt."""

SYSTEM = (
    "You are an editor. Rewrite the document as the instruction says. Change only what the instruction asks for and "
    "keep everything else exactly as it is. Reply with the whole rewritten document and nothing else."
)
_DOCUMENT_FIRST = "Document:\n\n{document}\n\nInstruction: {instruction}"
_SELECTION_FIRST = (
    "Document:\n\n{before}[[SELECTION]]{selection}[[/SELECTION]]{after}\n\n"
    "Rewrite only the text between [[SELECTION]] and [[/SELECTION]] and reply with that text alone.\n"
    "Instruction: {instruction}"
)

_TRIM_MARGIN = 8  # tokens: cutting a text can change how its edges are tokenised

EmittedIds = Callable[[str], Sequence[int] | None]
"""Ids that an earlier edit emitted for exactly this text, or None: spliced instead of tokenising it again."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """ids: the whole prompt; document: the text to rewrite as the output would spell it."""

    ids: list[int]
    document: EncodedText
    shown: Range | None  # with a selection: the part of the document that is in the prompt, if not all of it


@dataclass(frozen=True, slots=True)
class _Message:
    role: str
    text: str  # with placeholders for what users wrote


class Prompter:
    """Builds prompts for one tokenizer and chat template."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, template: str | None = None) -> None:
        """template: a Jinja chat template that replaces the tokenizer's own. Raises ModelRefused without any."""
        if template is not None:
            tokenizer.chat_template = template
        if not tokenizer.chat_template:
            raise ModelRefused("the model has no chat template; give one with --prompt-template FILE")
        self.vocabulary = Vocabulary(tokenizer)
        self._tokenizer = tokenizer
        self._folds_system = not self._renders_system()
        self._header, self._lead, self._between = self._opening()

    def document(self, text: str) -> EncodedText:
        """The ids with which an output would begin that repeats `text`: those of (assistant header + text)."""
        if not text:
            return EncodedText([], [])
        before = " " * self.vocabulary.own_spaces + self._header
        header = self.vocabulary.encode(self._header).ids
        joined = self.vocabulary.encode_after(before + self._lead, text)
        count = len(header)
        if joined.ids[:count] != header:  # the text's first characters would merge into the header
            return self.vocabulary.encode_after(self._lead, text)
        return EncodedText(joined.ids[count:], joined.ends[count:])

    def decoder(self) -> IncrementalDecoder:
        """A decoder of one output: spaces that the tokenizer or the template put before an answer are not its text."""
        own = 0 if self._header else self.vocabulary.own_spaces
        return IncrementalDecoder(self.vocabulary, own + len(self._lead))

    def build(self, request: EditRequest, emitted: EmittedIds, shown: Range | None = None) -> Prompt:
        """The prompt of a request; with a selection only `shown` of the document (all of it: None) is in it."""
        texts: list[str] = []
        messages = list(self._messages(request, shown, texts))
        ids = list(self._tokens(self._render(messages), texts, emitted))
        return Prompt(ids, self.document(request.target_text), shown)

    def trimmed(self, document: str, selection: Range, excess: int) -> Range:
        """The part of the document around a selection that is shorter by at least `excess` tokens, if it can be.

        Both sides keep equal shares; what one side does not need goes to the other.
        """
        ends = self.vocabulary.encode(document).ends
        first, last = bisect_right(ends, selection.start), bisect_left(ends, selection.end) + 1
        keep = max(0, len(ends) - (last - first) - excess - _TRIM_MARGIN)
        after = min(len(ends) - last, max(keep // 2, keep - first))
        start, end = first - min(first, keep - after), last + after
        return Range(
            min(selection.start, ends[start - 1] if start else 0),
            max(selection.end, ends[end - 1] if end < len(ends) else len(document)),
        )

    def _messages(self, request: EditRequest, shown: Range | None, texts: list[str]) -> Iterator[_Message]:
        """The conversation, every user text replaced by a placeholder and put into `texts`."""
        yield _Message("system", SYSTEM)
        visible: str | None = None
        for turn in request.turns:
            yield _Message("user", _user_message(turn, visible, texts))
            yield _Message("assistant", _placeholder(turn.output, texts))
            visible = turn.output
        if request.selection is not None:
            yield _Message("user", _selection_message(request, request.selection, shown, texts))
        else:
            now = Turn(request.document, request.instruction, "")
            yield _Message("user", _user_message(now, visible, texts))

    def _render(self, messages: list[_Message]) -> str:
        if self._folds_system:
            system, first, *rest = messages
            messages = [_Message(first.role, f"{system.text}\n\n{first.text}"), *rest]
        rendered = self._tokenizer.apply_chat_template(
            [{"role": message.role, "content": message.text} for message in messages],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        return str(rendered)

    def _renders_system(self) -> bool:
        """Whether the template has a system role: some refuse it, some drop it silently."""
        probe = [{"role": "system", "content": _mark(0)}, {"role": "user", "content": _mark(1)}]
        try:
            rendered = self._tokenizer.apply_chat_template(probe, tokenize=False, add_generation_prompt=True)
        except TemplateError:
            return False
        return _mark(0) in str(rendered)

    def _tokens(self, rendered: str, texts: list[str], emitted: EmittedIds) -> Iterator[int]:
        """Encode run by run: control tokens come from the template alone, and cut the runs."""
        run: list[str] = []
        encode = self.vocabulary.encode
        for atom in self._atoms(rendered, texts, emitted):
            if isinstance(atom, str):
                run.append(atom)
                continue
            yield from encode("".join(run)).ids
            run.clear()
            yield from atom
            # Behind spliced ids the run goes on; only a control token begins one.
            spliced = atom[-1] not in self.vocabulary.control.values()
            encode = partial(self.vocabulary.encode_after, "") if spliced else self.vocabulary.encode
        yield from encode("".join(run)).ids

    def _atoms(self, rendered: str, texts: list[str], emitted: EmittedIds) -> Iterator[str | Sequence[int]]:
        position = 0
        for match in _PLACEHOLDER.finditer(rendered):
            before, text = rendered[position : match.start()], texts[int(match[1])]
            ids = emitted(text)
            if ids and before == self._between:  # an answer: its ids bring the lead with them
                before = before.removesuffix(self._lead)
            elif ids and IncrementalDecoder(self.vocabulary, 0).whole(ids) != text:
                ids = None  # elsewhere the lead would be a space too many
            yield from self._template_atoms(before)
            yield ids or text
            position = match.end()
        yield from self._template_atoms(rendered[position:])

    def _template_atoms(self, text: str) -> Iterator[str | Sequence[int]]:
        for piece in self.vocabulary.split_control(text):
            yield [piece] if isinstance(piece, int) else piece

    def _opening(self) -> tuple[str, str, str]:
        """header: the template's text between its last control token (or the user's turn) and the output.

        lead: the space that the template puts between header and answer, if it does, as Llama-2's: the model has
        learned to write it itself. between: all of the template between a user's text and its answer.
        """
        asked = [_Message("system", SYSTEM), _Message("user", _mark(0))]
        tail = self._render(asked).rpartition(_mark(0))[2]
        last = ["", *self.vocabulary.split_control(tail)][-1]
        try:
            answered = self._render([*asked, _Message("assistant", _mark(1)), _Message("user", _mark(2))])
        except TemplateError:
            answered = ""
        between = answered.rpartition(_mark(0))[2].partition(_mark(1))[0]
        return (last if isinstance(last, str) else ""), (" " if between == tail + " " else ""), between


_PLACEHOLDER = re.compile("\ue000([0-9]+)\ue001")


def _mark(index: int) -> str:
    """A stand-in for user text while the template is rendered; users' own text never meets the template."""
    return f"\ue000{index}\ue001"


def _placeholder(text: str, texts: list[str]) -> str:
    texts.append(text)
    return _mark(len(texts) - 1)


def _user_message(turn: Turn, visible: str | None, texts: list[str]) -> str:
    """A turn's document and instruction; a document that the conversation just showed is not repeated."""
    if visible is not None and turn.document == visible:
        return f"Instruction: {_placeholder(turn.instruction, texts)}"
    document, instruction = _placeholder(turn.document, texts), _placeholder(turn.instruction, texts)
    return _DOCUMENT_FIRST.format(document=document, instruction=instruction)


def _selection_message(request: EditRequest, selection: Range, shown: Range | None, texts: list[str]) -> str:
    start, end = (shown.start, shown.end) if shown else (0, len(request.document))
    return _SELECTION_FIRST.format(
        before=_placeholder(request.document[start : selection.start], texts),
        selection=_placeholder(request.target_text, texts),
        after=_placeholder(request.document[selection.end : end], texts),
        instruction=_placeholder(request.instruction, texts),
    )
