"""SentencePiece tokenizers (U+2581 for a space, bytes for what is not listed): text -> ids -> the same text."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st
from redraft.client.local import LocalClient
from redraft.client.result import collect
from redraft.engine.prompt import Prompter
from redraft.engine.request import EditRequest, Turn
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.script import Scripts
from redraft.engine.service import EngineService
from redraft.engine.vocabulary import IncrementalDecoder, Vocabulary
from redraft.replay.pairs import Pair
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPACE = "\u2581"
CONTROL = ["<unk>", "<s>", "</s>", "<|user|>", "<|model|>"]
MERGES = [
    (SPACE, SPACE), (SPACE, "t"), ("h", "e"), (SPACE + "t", "he"), ("l", "l"), ("ll", "o"), ("he", "llo"),
    (SPACE, "hello"), ("o", "d"), ("\n", "\n"),
]  # fmt: skip
KINDS = ["first", "always", "prepend", "gemma"]
TEXTS = [
    "",
    "hello the hello",
    " hello",
    "  hello the",
    "   ",
    " ",
    "hello  \n",
    "\n\n hello\n\n\n",
    "\r\nthe\tend\r\n",
    "👋🏽 hello👨‍👩‍👧",
    "👋",
    "e\u0301 o\u0302d\u200d",
    "\u0301a",
    "漢字 שלום",
    "</s>hello<s> <|user|>the<|model|>",
    "<0x41><unk>",
    "[INST] hello [/INST]",
    "a\ufffdb\0c",
]
anything = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters=SPACE), max_size=40),
    st.lists(st.sampled_from([" ", "  ", "hello", "the", "\n", "👋🏽", "e\u0301", "</s>"]), max_size=12).map("".join),
)
# The header of an answer is text of the user's turn, text after a control token, or nothing.
TEMPLATES = {
    "llama-2": (
        "{% for m in messages %}{% if m.role == 'user' %}<s>[INST] {{ m.content }} [/INST]"
        "{% elif m.role == 'assistant' %} {{ m.content }} </s>{% endif %}{% endfor %}"
    ),
    "line": (
        "{% for m in messages %}{{ '<|model|>' if m.role == 'assistant' else '<|user|>' }}{{ m.role }}\n"
        "{{ m.content }}</s>\n{% endfor %}"
        "{% if add_generation_prompt %}<|model|>assistant{{ '\n' }}{% endif %}"
    ),
    "bare": (
        "{% for m in messages %}{{ '<|model|>' if m.role == 'assistant' else '<|user|>' }}{{ m.content }}</s>"
        "{% endfor %}{% if add_generation_prompt %}<|model|>{% endif %}"
    ),
}


def tokenizer(kind, template=TEMPLATES["bare"]):
    """As transformers builds them: Llama-2's three ways to put a space first, and Gemma, which puts none."""
    letters = [SPACE, *"abcdefghijklmnopqrstuvwxyz", *"\n.<>/|[]INST"]
    pieces = [*CONTROL, *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *map("".join, MERGES)]
    vocabulary = {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}
    assert len(vocabulary) <= tiny_models.VOCAB
    backend = Tokenizer(models.BPE(vocabulary, MERGES, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    decoder = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if kind == "gemma":
        backend.normalizer = normalizers.Replace(" ", SPACE)
        backend.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    elif kind == "prepend":
        backend.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    else:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(SPACE, kind, split=False)
    backend.decoder = decoders.Sequence(decoder if kind == "gemma" else [*decoder, decoders.Strip(" ", 1, 0)])
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    fast.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|model|>"]})
    fast.chat_template = template
    return fast


VOCABULARIES = {kind: Vocabulary(tokenizer(kind)) for kind in KINDS}
PROMPTERS = {(kind, name): Prompter(tokenizer(kind, text)) for kind in KINDS for name, text in TEMPLATES.items()}


def begun(data):
    """How many code points begin in these UTF-8 bytes."""
    return sum(byte & 0xC0 != 0x80 for byte in data)


def pieces_of(vocabulary, ids):
    decoder = IncrementalDecoder(vocabulary)
    return [*map(decoder.feed, ids), decoder.flush()]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_survives(kind, text):
    vocabulary = VOCABULARIES[kind]
    encoded = vocabulary.encode(text)
    assert vocabulary.decode(encoded.ids) == text
    assert not set(encoded.ids) & set(vocabulary.control.values())


@pytest.mark.parametrize("kind", KINDS)
@given(text=anything)
def test_any_text_survives(kind, text):
    assert VOCABULARIES[kind].decode(VOCABULARIES[kind].encode(text).ids) == text


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_the_models_own(kind):
    """The ids are those that transformers gives inside a text: bytes alone would survive, too."""
    fast = tokenizer(kind)
    inside = fast("</s>hello the 👋", add_special_tokens=False).input_ids[1:]
    assert VOCABULARIES[kind].encode("hello the 👋").ids == inside


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", TEXTS)
def test_every_token_ends_where_its_bytes_end(kind, text):
    """A token of a character's first or later byte ends behind that character."""
    vocabulary = VOCABULARIES[kind]
    encoded = vocabulary.encode(text)
    counts = [*accumulate(begun(vocabulary.bytes_of(token)) for token in encoded.ids)]
    invented = (counts[-1] if counts else 0) - len(text)  # the space that the tokenizer itself puts first
    assert invented in (0, 1)
    assert encoded.ends == [count - invented for count in counts]


@pytest.mark.parametrize("kind", KINDS)
@given(text=anything)
def test_pieces_are_whole_characters_in_order(kind, text):
    vocabulary = VOCABULARIES[kind]
    ids = vocabulary.encode(text).ids
    pieces = pieces_of(vocabulary, ids)
    assert "".join(pieces) == vocabulary.decode(ids)
    assert "".join(pieces).count("\ufffd") == text.count("\ufffd")
    assert pieces[-1] == ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_character_comes_with_its_last_byte(kind):
    vocabulary = VOCABULARIES[kind]
    ids = vocabulary.encode("a👋b").ids
    assert [piece for piece in pieces_of(vocabulary, ids) if piece] == ["a", "👋", "b"]
    cut = ids[: ids.index(vocabulary.encode("xb").ids[-1]) - 1]
    assert "".join(pieces_of(vocabulary, cut)) == "a\ufffd"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("text", TEXTS)
def test_a_document_continues_its_prompt(kind, template, text):
    """Behind the prompt there is the document, and at most the one space that a turn of this model begins with."""
    prompter = PROMPTERS[kind, template]
    prompt = prompter.build(EditRequest(text, "hello"), lambda text: None)
    before = prompter.vocabulary.decode(prompt.ids)
    whole = prompter.vocabulary.decode([*prompt.ids, *prompt.document.ids])
    assert text in before
    assert whole.removeprefix(before) in (text, " " + text)
    assert prompt.document.ends[-1:] == ([len(text)] if text else [])
    assert not set(prompt.document.ids) & set(prompter.vocabulary.control.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_a_follow_up_continues_what_the_slot_holds(kind, template):
    """Otherwise the output's keys and values are computed again, and the prompt has a space too many."""
    prompter, output = PROMPTERS[kind, template], "hello the"
    emitted = prompter.document(output).ids
    first = prompter.build(EditRequest("the hello", "hello"), lambda text: None)
    turns = (Turn("the hello", "hello", output),)
    follow = prompter.build(EditRequest(output, "the", turns=turns), lambda text: emitted if text == output else None)
    assert follow.ids[: len(first.ids) + len(emitted)] == [*first.ids, *emitted]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_an_output_that_is_the_next_document_stays_that_text(kind, template):
    """The ids that an answer began with may bring a space that the document does not have."""
    prompter, output = PROMPTERS[kind, template], "hello the"
    emitted = prompter.document(output).ids
    prompt = prompter.build(EditRequest(output, "o"), lambda text: emitted if text == output else None)
    assert f"Document:\n\n{output}\n\n" in prompter.vocabulary.decode(prompt.ids)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("template", TEMPLATES)
def test_an_edit_gives_exactly_the_text_that_was_emitted(kind, template):
    """Through the engine: what a model writes after the header is the text, leading spaces and all."""
    afters = [text for text in TEXTS if text]
    pairs = [Pair(str(n), f"document {n}", after) for n, after in enumerate(afters)]
    model = replace(tiny_models.loaded(), tokenizer=tokenizer(kind, TEMPLATES[template]))
    service = EngineService(model, SchedulerLimits(), scripts=Scripts.of(pairs))
    service.start()
    try:
        outputs = [written(service, pair.before) for pair in pairs]
    finally:
        service.stop()
    assert outputs == afters


def written(service, document):
    """The whole output for a document, not shaped in any way."""
    request = EditRequest(document, "hello", unwrap=False, preserve_frame=False)
    result = collect(document, LocalClient(service).edit(request))
    assert result.complete
    return result.text
