import math
from dataclasses import replace

import pytest
from redraft.engine.request import Drafting, EditRequest, Range, Sampling, Turn
from redraft.engine.validation import MAX_OUTPUT_TOKENS, MAX_SEED, validate
from redraft.errors import EmptyDocument, InvalidOption, InvalidRange, MalformedRequest

GOOD = EditRequest(document="a 🙂 text", instruction="shorten")


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.0, top_p=1.0, top_k=0, seed=0, repetition_penalty=0.5),
        Sampling(temperature=5.0, top_p=1e-9, seed=MAX_SEED, presence_penalty=-2.0, frequency_penalty=2.0),
        Sampling(max_output_tokens=1, stop=("x",) * 16),
        Sampling(max_output_tokens=MAX_OUTPUT_TOKENS),
    ],
)
def test_options_at_their_bounds_pass(sampling):
    validate(replace(GOOD, sampling=sampling))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_p", 0.0),
        ("top_p", 2.0),
        ("top_p", math.nan),
        ("top_k", -1),
        ("seed", -1),
        ("seed", MAX_SEED + 1),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", math.inf),
        ("presence_penalty", 2.5),
        ("frequency_penalty", -2.5),
        ("max_output_tokens", 0),
        ("max_output_tokens", -5),
        ("max_output_tokens", MAX_OUTPUT_TOKENS + 1),
        ("stop", ("x",) * 17),
        ("stop", ("x", "")),
    ],
)
def test_sampling_out_of_range_names_the_option(option, value):
    with pytest.raises(InvalidOption) as caught:
        validate(replace(GOOD, sampling=Sampling(**{option: value})))
    assert caught.value.metadata == {"option": option}


@pytest.mark.parametrize("limit", [0, -1, 257])
def test_draft_limit_out_of_range(limit):
    with pytest.raises(InvalidOption) as caught:
        validate(replace(GOOD, drafting=Drafting(limit=limit)))
    assert caught.value.metadata == {"option": "limit"}


@pytest.mark.parametrize("limit", [1, 256, None])
def test_draft_limit_in_range(limit):
    validate(replace(GOOD, drafting=Drafting(limit=limit)))


def test_empty_document():
    with pytest.raises(EmptyDocument):
        validate(replace(GOOD, document=""))


@pytest.mark.parametrize("instruction", ["", " \n"])
def test_blank_instruction(instruction):
    with pytest.raises(InvalidOption) as caught:
        validate(replace(GOOD, instruction=instruction))
    assert caught.value.metadata == {"option": "instruction"}


@pytest.mark.parametrize("selection", [Range(0, 9), Range(3, 3), Range(4, 2), Range(-1, 2), Range(8, 9)])
def test_selection_outside_reversed_or_empty(selection):
    with pytest.raises(InvalidRange):
        validate(replace(GOOD, selection=selection))


@pytest.mark.parametrize("selection", [Range(0, 8), Range(7, 8), Range(2, 3)])
def test_selection_inside(selection):
    validate(replace(GOOD, selection=selection))


@pytest.mark.parametrize(
    "change",
    [
        {"document": "a\ud800b"},
        {"instruction": "\udc00"},
        {"prediction": "\udfff"},
        {"references": ("fine", "\ud83d")},
        {"turns": (Turn("d", "i", "\ud83d"),)},
        {"sampling": Sampling(stop=("\ud83d",))},
        {"client_request_id": "\ud83d"},
    ],
)
def test_lone_surrogate_is_malformed(change):
    with pytest.raises(MalformedRequest) as caught:
        validate(replace(GOOD, **change))
    assert caught.value.message.startswith(next(iter(change)).replace("sampling", "stop"))
