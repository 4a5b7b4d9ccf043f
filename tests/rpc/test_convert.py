import re
from dataclasses import replace

import pytest
from fakes import MODEL, rewrite, started
from hypothesis import given
from hypothesis import strategies as st
from redraft.engine.request import (
    Acceptance,
    Drafting,
    DraftMode,
    EditRequest,
    OffsetEncoding,
    Range,
    Sampling,
    Turn,
)
from redraft.engine.results import Delta, Finished, FinishReason, Shaping, Source, Stats
from redraft.errors import InvalidOption, InvalidRange, MalformedRequest
from redraft.rpc.convert import model_from_wire, models_to_wire, parse, request_from_wire, request_to_wire
from redraft.rpc.enums import ACCEPTANCE, DRAFT_MODE, FINISH_REASON, OFFSET_ENCODING, SOURCE, UnknownValue
from redraft.rpc.events import EventReader, EventWriter
from redraft.v1 import edit_pb2, edit_service_pb2

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
PIECES = ["a", "é", "e\u0301", "🙂", "👩\u200d💻", "שלום", "\r\n", "\0", " ", "word "]
SPICED = st.lists(st.sampled_from(PIECES), max_size=12)
DOCUMENT = TEXT.filter(bool) | SPICED.map("".join).filter(bool)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def unset_or(strategy):
    return st.none() | strategy


SAMPLING = st.builds(
    Sampling,
    temperature=unset_or(FINITE),
    top_p=unset_or(FINITE),
    top_k=unset_or(st.integers(0, 2**31 - 1)),
    seed=unset_or(st.integers(0, 2**63 - 1)),
    repetition_penalty=unset_or(FINITE),
    presence_penalty=unset_or(FINITE),
    frequency_penalty=unset_or(FINITE),
    stop=st.lists(TEXT, max_size=3).map(tuple),
    max_output_tokens=unset_or(st.integers(1, 2**20)),
)

DRAFTING = st.builds(
    Drafting,
    mode=st.sampled_from(DraftMode),
    limit=unset_or(st.integers(1, 256)),
    acceptance=st.sampled_from(Acceptance),
)


@st.composite
def requests(draw):
    document = draw(DOCUMENT)
    edges = sorted(draw(st.tuples(*[st.integers(0, len(document))] * 2)))
    return EditRequest(
        document=document,
        instruction=draw(TEXT),
        selection=draw(st.sampled_from([None, Range(*edges)])),
        document_version=draw(TEXT),
        references=draw(st.lists(TEXT, max_size=2).map(tuple)),
        prediction=draw(unset_or(TEXT)),
        turns=draw(st.lists(st.builds(Turn, TEXT, TEXT, TEXT), max_size=2).map(tuple)),
        sampling=draw(SAMPLING),
        drafting=draw(DRAFTING),
        unwrap=draw(st.booleans()),
        preserve_frame=draw(st.booleans()),
        model=draw(TEXT),
        offset_encoding=draw(st.sampled_from(OffsetEncoding)),
        client_request_id=draw(TEXT),
    )


def over_the_wire(message):
    return parse(type(message), message.SerializeToString())


@given(requests())
def test_a_request_survives_the_wire(request):
    assert request_from_wire(over_the_wire(request_to_wire(request))) == request


def test_the_principal_is_the_servers_to_say():
    request = EditRequest("d", "i", principal="mallory")
    assert request_from_wire(request_to_wire(request), principal="alice").principal == "alice"
    assert request_from_wire(request_to_wire(request)).principal == ""


COUNT = st.integers(0, 2**32 - 1)

STATS = st.builds(
    Stats,
    prompt_tokens=COUNT,
    cached_tokens=COUNT,
    output_tokens=COUNT,
    passes=COUNT,
    prefill_passes=COUNT,
    drafted=COUNT,
    accepted=st.dictionaries(st.sampled_from(Source), COUNT),
    rejected=COUNT,
    kept_tokens=COUNT,
    coverage=FINITE,
    oracle_coverage=FINITE,
    near_ties=COUNT,
    queue_time=FINITE,
    time_to_first_token=FINITE,
    decode_time=FINITE,
    total_time=FINITE,
    tokens_per_second=FINITE,
    draft_time=FINITE,
    estimated_time_without_drafts=FINITE,
    estimated_speedup=FINITE,
)


@st.composite
def edits(draw):
    request = draw(requests().filter(lambda request: request.selection is None or request.target_text))
    cuts = draw(st.lists(st.sampled_from([request.target_text, "new", "🙂"]) | TEXT, min_size=1, max_size=4))
    first, *deltas, last = rewrite(request, cuts, draw(st.sampled_from(FinishReason)))
    trimmed = sorted(draw(st.tuples(*[st.integers(0, len(request.document))] * 2)))
    first = replace(
        first,
        context_trimmed=draw(st.sampled_from([None, Range(*trimmed)])),
        defaults_from_model=draw(st.sampled_from([(), ("top_p", "top_k")])),
        draft_ignored=draw(TEXT),
        seed=draw(st.integers(0, 2**63 - 1)),
        temperature=draw(FINITE),
    )
    # The scripted deltas carry no document range; the final spans do, so let the deltas carry those inside them.
    deltas = [
        replace(delta, spans=tuple(span for span in last.spans if _inside(span.output, delta))) for delta in deltas
    ]
    last = replace(last, stats=draw(STATS), shaping=draw(st.builds(Shaping, *[TEXT] * 5)), stop_string=draw(TEXT))
    return request, [first, *deltas, last]


def _inside(output, delta):
    own = delta.spans[0].output
    return own.start <= output.start and output.end <= own.end


@given(edits())
def test_events_survive_the_wire(edit):
    request, events = edit
    writer, reader = EventWriter(request), EventReader(request)
    assert [reader.event(over_the_wire(writer.response(event))) for event in events] == events


@given(edits())
def test_spans_on_the_wire_cut_equal_text(edit):
    request, events = edit
    request = replace(request, offset_encoding=OffsetEncoding.UTF8)
    writer = EventWriter(request)
    messages = [writer.response(event) for event in events]
    document = request.document.encode()
    output = "".join(message.delta.text for message in messages).encode()
    spans = messages[-1].finished.spans
    assert b"".join(output[span.output.start : span.output.end] for span in spans) == output
    for span in spans:
        if span.HasField("document"):
            kept = document[span.document.start : span.document.end]
            assert kept == output[span.output.start : span.output.end]
            kept.decode()


def test_model_facts_survive_the_wire():
    assert model_from_wire(over_the_wire(models_to_wire(MODEL, 1000))) == MODEL


def test_a_server_without_a_model_is_an_error():
    with pytest.raises(ValueError, match="no model"):
        model_from_wire(edit_service_pb2.GetModelResponse())


@pytest.mark.parametrize(
    ("encoding", "start", "end"),
    [
        (edit_pb2.OFFSET_ENCODING_UTF8, 2, 3),
        (edit_pb2.OFFSET_ENCODING_UNSPECIFIED, 0, 5),
        (edit_pb2.OFFSET_ENCODING_UTF16, 2, 3),
        (edit_pb2.OFFSET_ENCODING_UTF16, 0, 5),
        (edit_pb2.OFFSET_ENCODING_CODE_POINTS, 0, 4),
    ],
)
def test_offsets_inside_a_code_point_or_outside_the_text(encoding, start, end):
    message = edit_service_pb2.EditRequest(
        document="aé🙂", selection=edit_pb2.Range(start=start, end=end), offset_encoding=encoding
    )
    with pytest.raises(InvalidRange):
        request_from_wire(message)


@pytest.mark.parametrize(
    ("encoding", "end"),
    [
        (edit_pb2.OFFSET_ENCODING_UNSPECIFIED, 7),
        (edit_pb2.OFFSET_ENCODING_UTF8, 7),
        (edit_pb2.OFFSET_ENCODING_UTF16, 4),
        (edit_pb2.OFFSET_ENCODING_CODE_POINTS, 3),
    ],
)
def test_the_whole_text_in_each_encoding(encoding, end):
    message = edit_service_pb2.EditRequest(
        document="aé🙂", selection=edit_pb2.Range(start=0, end=end), offset_encoding=encoding
    )
    assert request_from_wire(message).selection == Range(0, 3)


def test_unset_options_stay_unset():
    request = request_from_wire(edit_service_pb2.EditRequest(document="d", instruction="i"))
    assert request == EditRequest("d", "i")


@pytest.mark.parametrize("field", ["mode", "acceptance"])
def test_unknown_enum_values_name_the_option(field):
    message = edit_service_pb2.EditRequest(drafting=edit_pb2.Drafting(**{field: 42}))
    with pytest.raises(InvalidOption) as caught:
        request_from_wire(message)
    assert caught.value.metadata == {"option": field}


@pytest.mark.parametrize("table", [OFFSET_ENCODING, DRAFT_MODE, ACCEPTANCE, SOURCE, FINISH_REASON])
def test_enum_tables_are_complete_and_one_to_one(table):
    kind = type(next(iter(table.wire)))
    assert set(table.wire) == set(kind)
    assert [table.from_wire(table.to_wire(value)) for value in kind] == list(kind)
    # A value's name is the same on both sides, so that a slip of the pen between two lines is found.
    wire_enum = edit_pb2.DESCRIPTOR.enum_types_by_name[kind.__name__]
    prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).upper() + "_"
    assert {value.name: table.to_wire(value) for value in kind} == {
        value.name.removeprefix(prefix): value.number for value in wire_enum.values if value.number
    }
    with pytest.raises(UnknownValue):
        table.from_wire(99)


@pytest.mark.parametrize("table", [SOURCE, FINISH_REASON])
def test_zero_is_no_source_and_no_reason(table):
    with pytest.raises(UnknownValue):
        table.from_wire(0)


def test_broken_bytes():
    with pytest.raises(MalformedRequest, match=r"redraft\.v1\.EditRequest"):
        parse(edit_service_pb2.EditRequest, b"\x0a\x01\xff")


def test_an_unknown_event_is_an_error():
    with pytest.raises(ValueError, match="event"):
        EventReader(EditRequest("d", "i")).event(edit_service_pb2.EditResponse())


def test_a_span_outside_its_delta_is_an_error():
    request = EditRequest("d", "i")
    reader = EventReader(request)
    reader.event(EventWriter(request).response(started(request)))
    message = edit_service_pb2.EditResponse(
        delta=edit_pb2.Delta(
            text="ab", spans=[edit_pb2.Span(output=edit_pb2.Range(start=1, end=3), source=edit_pb2.SOURCE_TARGET)]
        )
    )
    with pytest.raises(InvalidRange):
        reader.event(message)


def test_the_scripted_edit_has_what_these_tests_need():
    request = EditRequest("One two three.", "i")
    _, delta, last = rewrite(request, ["One 2 three."])
    assert isinstance(delta, Delta)
    assert isinstance(last, Finished)
    assert any(span.document for span in last.spans)
    assert last.edits
