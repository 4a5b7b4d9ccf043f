"""Traces play as `simulate.play` does, find where sync was lost and found, and are shown whole."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from redraft.cli.explain import ExplainOptions, Report, run_explain
from redraft.drafting.base import NoDraft
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.drafting.soft import Spelling
from redraft.engine.results import Source
from redraft.engine.vocabulary import Vocabulary
from redraft.replay.explain_html import page
from redraft.replay.narrate import Narrator, summary
from redraft.replay.peers import PromptLookup, SuffixDecoding
from redraft.replay.reading import Reading, visible
from redraft.replay.recorder import Recorder, WatchedPlanner, trace
from redraft.replay.simulate import play
from rich.console import Console
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END = 0
CURVE = CostCurve(((1, 1.0), (16, 2.0), (64, 4.0), (256, 13.0)))
DOCUMENT = list(range(10, 210))
GAP = [900, 901, 902, 903]

BEFORE = """# Report <1>

The committee met on Tuesday to discuss the yearly budget of the library.
	Mr Müller opened the meeting & thanked everybody for coming.
It was decided that the reading room will stay open until nine o'clock.
The committee will meet again in autumn, when the building work is finished.
"""
AFTER = """# Report <1>

The committee met on Wednesday to discuss the yearly budget of the library.
	Mrs Müller-Weiß opened the meeting & thanked everybody for coming.
The committee will meet again in autumn, when the building work is finished.
It was decided that the reading room will stay open until nine o'clock.
<script>alert('new')</script>
"""


def ours(document, output, references=()):
    planner = WatchedPlanner(Learned.shipped(), CURVE)
    drafter = ComposedDrafter(list(document), END, planner, [list(text) for text in references])
    return trace(drafter, list(document), output, END, CURVE, references, planner)


tokens = st.integers(1, 6)
texts = st.lists(tokens, max_size=60)


@st.composite
def edits(draw):
    """A document and a rewrite of it that keeps, drops, repeats and invents pieces."""
    document = draw(texts)
    places = st.integers(0, len(document))
    pieces = draw(st.lists(st.one_of(texts.map(tuple), st.tuples(places, places).map(list)), max_size=4))
    output = [t for piece in pieces for t in (piece if isinstance(piece, tuple) else document[min(piece) : max(piece)])]
    return document, output


@settings(max_examples=60, deadline=None)
@given(edits())
def test_a_trace_is_the_play_itself(pair):
    document, output = pair
    plain = Planner(Learned.shipped(), CURVE)
    alone = play(ComposedDrafter(list(document), END, plain), list(document), output, END, CURVE)
    traced = ours(document, output)
    assert traced.play == alone
    assert sum(step.cost for step in traced.passes) == pytest.approx(alone.cost)
    assert traced.passes[-1].speedup == pytest.approx(alone.speedup)
    emitted = [t for step in traced.passes for t in (*step.drafted[: step.accepted], step.own) if t is not None]
    assert tuple(emitted) == traced.output == (*output, END)
    assert [step.start for step in traced.passes[1:]] == [step.end for step in traced.passes[:-1]]
    assert all(step.chosen is not None for step in traced.passes if step.drafted)


@settings(max_examples=60, deadline=None)
@given(edits())
def test_the_recorders_own_filter_holds_what_the_drafters_does(pair):
    document, output = pair
    alone = trace(NoDraft(), document, output, END, CURVE)
    assert alone.origins == ours(document, output).origins
    assert len(alone.passes) == len(output) + 1


@settings(max_examples=60, deadline=None)
@given(edits())
def test_breaks_account_for_every_step_of_the_origins(pair):
    traced = ours(*pair)
    at = {found.at: found for found in traced.breaks}
    position, index = 0, 0
    while index < len(traced.output) - 1:
        if index in at:
            found = at[index]
            assert found.left == position
            assert all(origin is None for origin in traced.origins[index : found.back])
            if found.back is None:
                return
            index, position = found.back, found.resumed
        assert traced.origins[index] == position
        index, position = index + 1, position + 1


@pytest.mark.parametrize(
    ("output", "at", "left", "own", "skipped"),
    [
        ([*DOCUMENT[:50], *GAP, *DOCUMENT[54:90]], 50, 50, 4, 4),  # substitution
        ([*DOCUMENT[:50], *GAP, *DOCUMENT[50:90]], 50, 50, 4, 0),  # insertion
        ([*DOCUMENT[:50], *DOCUMENT[53:90]], 50, 50, 0, 3),  # deletion
        ([*DOCUMENT[:100], *DOCUMENT[20:60]], 100, 100, 0, -80),  # a move, backwards
        ([*GAP, *DOCUMENT[:40]], 0, 0, 4, 0),  # a preamble
        ([*DOCUMENT[:50], *GAP], 50, 50, None, None),  # never found
    ],
)
def test_where_sync_is_lost_and_found(output, at, left, own, skipped):
    traced = ours(DOCUMENT, output)
    found = traced.breaks[0]
    assert (found.at, found.left, found.own, found.skipped) == (at, left, own, skipped)
    assert sum(found in traced.lost_in(step) for step in traced.passes) == 1
    assert sum(found in traced.found_in(step) for step in traced.passes) == (own is not None)


def test_an_unchanged_document_has_no_break():
    traced = ours(DOCUMENT, DOCUMENT)
    assert traced.breaks == ()
    assert set(traced.sources[:-1]) <= {Source.DOCUMENT, Source.TARGET}


def test_the_rejected_and_what_came_instead():
    output = [*DOCUMENT[:50], 900, *DOCUMENT[51:]]
    step = next(step for step in ours(DOCUMENT, output).passes if step.rejected)
    assert (step.rejected[0], step.own) == (DOCUMENT[50], 900)
    assert step.origin.text is Source.DOCUMENT
    assert step.origin.copied == len(step.drafted)
    assert step.hypotheses[0].copying
    assert step.chosen.agreed == step.accepted


def test_what_is_copied_from_the_outputs_own_text_is_found_there():
    own = list(range(500, 530))
    traced = ours(DOCUMENT[:20], [*own, *own, *own])
    step = next(step for step in traced.passes if step.source is Source.SELF_COPY and step.accepted)
    assert step.origin.text is Source.SELF_COPY
    start = step.origin.position
    assert traced.output[start : start + step.origin.copied] == step.drafted[: step.origin.copied]
    assert start < step.start


def test_what_is_copied_from_a_reference_is_found_there():
    reference = list(range(300, 360))
    traced = ours(DOCUMENT[:30], [*DOCUMENT[:10], *reference], [[1, 2, 3], reference])
    step = next(step for step in traced.passes if step.source is Source.REFERENCE and step.accepted)
    assert (step.origin.text, step.origin.reference) == (Source.REFERENCE, 1)
    assert reference[step.origin.position] == step.drafted[0]


def test_a_better_candidate_is_named():
    planner = WatchedPlanner(Learned.shipped(), CURVE)
    drafter = ComposedDrafter(DOCUMENT, END, planner)
    recorder = Recorder(drafter, DOCUMENT, planner)
    output = [*DOCUMENT[:30], 900, 901, *DOCUMENT[32:80]]
    play(recorder, DOCUMENT, output, END, CURVE)
    traced = ours(DOCUMENT, output)
    for step, record in zip(traced.passes, recorder.records, strict=True):
        longest = max((len_right(w.candidate.chain, traced.output[step.start :]) for w in record.weighed), default=0)
        assert longest == max((one.agreed for one in step.considered), default=0)
        if step.missed is not None:
            assert step.missed.agreed == longest > step.accepted
    assert any(step.missed is not None or step.unused for step in traced.passes)


def len_right(chain, output):
    return next(
        (i for i, (a, b) in enumerate(zip(chain, output, strict=False)) if a != b), min(len(chain), len(output))
    )


@pytest.mark.parametrize("peer", [lambda: PromptLookup(), lambda: SuffixDecoding(DOCUMENT)])
def test_peers_are_traced_too(peer):
    output = [*DOCUMENT[:50], 900, *DOCUMENT[51:], *DOCUMENT[20:40]]
    traced = trace(peer(), DOCUMENT, output, END, CURVE)
    assert traced.play == play(peer(), DOCUMENT, output, END, CURVE)
    assert [found.at for found in traced.breaks] == [50, 200]
    assert all(step.chosen is None for step in traced.passes)
    drafted = [step for step in traced.passes if step.drafted]
    for step in drafted:  # peers look into document and output as one text: a draft may run from one into the other
        whole = step.origin.copied == len(step.drafted)
        assert whole or step.origin.position + step.origin.copied == len(DOCUMENT)


@pytest.fixture(scope="module")
def tokenizer():
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator([BEFORE], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>")


@pytest.fixture(scope="module")
def traced(tokenizer):
    reading = Reading(Vocabulary(tokenizer), BEFORE, AFTER)
    return ours(reading.document.ids, reading.output.ids), reading


def test_white_space_and_commands_are_made_visible():
    assert visible("a b\tc\n") == "a·b⇥c⏎"
    assert visible("\x1b[31m\r\x7f\u202e\u00a0\u200b") == "␛[31m␍‹7F›‹202E›⍽‹200B›"
    assert visible("über 東京 👍") == "über·東京·👍"


def test_places_are_lines_and_columns(tokenizer):
    reading = Reading(Vocabulary(tokenizer), "é\r\nab\n\ncd", "x")
    ends = reading.document.ends
    places = [reading.place(index) for index in range(len(ends))]
    by_start = dict(zip([0, *ends], [*places, reading.place(len(ends))], strict=False))
    assert by_start[0] == "1:1"
    assert by_start[3] == "2:1"
    assert by_start[7] == "4:1"
    assert reading.place(len(ends)) == "end"


def test_kept_runs_have_equal_text_and_tile_what_is_kept(traced):
    result, reading = traced
    runs = reading.runs(result.sources)
    document, output = [0, *reading.document.ends], [0, *reading.output.ends]
    for run in runs:
        kept = AFTER[output[run.start] : output[run.end]]
        assert kept in BEFORE[document[run.first] : document[run.last]]
        assert set(result.sources[run.start : run.end]) == {run.source}
    assert all(a.end <= b.start for a, b in pairwise(runs))
    assert any(run.moved for run in runs)
    assert sum(run.end - run.start for run in runs) > len(output) / 2


@pytest.mark.parametrize("width", [48, 80, 150])
def test_no_token_is_wrapped(traced, width):
    result, reading = traced
    out = io.StringIO()
    Report(Console(file=out, width=width, highlight=False), result, reading).print(result.passes)
    lines = out.getvalue().splitlines()
    assert summary(result) == " ".join(out.getvalue().split())[-len(summary(result)) :]
    narrator = Narrator(result, reading)
    shown = [part.text for step in result.passes for note in narrator.notes(step, 24) for part in note.parts]
    words = set(out.getvalue().split())
    tokens_shown = {text for text in shown if " " not in text}
    assert tokens_shown <= words
    body = [line for line in lines[2:] if len(line.split()) > 2]
    if width >= 80:
        assert max(map(len, body)) <= width


def test_colour_follows_the_source_and_no_color_is_respected(traced, monkeypatch):
    result, reading = traced

    def printed(system):
        out = io.StringIO()
        console = Console(file=out, width=100, force_terminal=True, color_system=system, highlight=False)
        Report(console, result, reading).print(result.passes)
        return out.getvalue()

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[38;2;0;114;178m" in printed("truecolor")
    assert "\x1b[34m" in printed("standard")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[\d;]*\b(3[0-7]|38;[25])", printed("truecolor"))


class Page(HTMLParser):
    """Checks nesting and collects the text of the output pane."""

    VOID = ("meta", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.shown, self.links, self.ids, self.tags = [], "", [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        self.links += [values["href"]] if "href" in values else []
        self.ids += [values["id"]] if "id" in values else []
        if tag not in self.VOID:
            self.open.append((tag, values.get("class", "") or ""))

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        classes = [name for _, name in self.open]
        if "text" in classes and "number" not in classes:
            self.shown += data


def test_the_page_is_whole_and_needs_nothing_else(traced):
    result, reading = traced
    text = page(result, reading, "a <b> & c")
    parsed = Page(text)
    assert not parsed.open
    assert parsed.shown == AFTER
    assert {"script", "link", "img", "iframe"}.isdisjoint(parsed.tags)
    assert not re.search(r"""(src|href)=["'](?!#)|url\((?!#)|@import""", text)
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)
    assert len(set(parsed.ids)) == len(parsed.ids)
    assert {f"p{step.number}" for step in result.passes} | {f"o{step.number}" for step in result.passes} <= set(
        parsed.ids
    )
    assert "prefers-color-scheme: dark" in text


def test_the_picture_lies_within_its_frame(traced):
    result, reading = traced
    text = page(result, reading, "x")
    svg = ElementTree.fromstring(re.search(r"<svg xmlns.*?</svg>", text, re.DOTALL)[0])
    width, height = (float(svg.get(name)) for name in ("width", "height"))
    spaces = {"svg": "http://www.w3.org/2000/svg"}
    for box in svg.iterfind(".//svg:rect", spaces):
        x, y, w, h = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    bars = [box for box in svg.iterfind(".//svg:rect", spaces) if (box.get("class") or "").startswith("accepted ")]
    assert len(bars) == sum(step.accepted > 0 for step in result.passes)
    ticks = [path for path in svg.iterfind(".//svg:path", spaces) if path.get("class") == "tick"]
    assert len(ticks) == len(result.passes)
    labels = [
        (float(label.get("x")), float(label.get("y")))
        for label in svg.iterfind(".//svg:text", spaces)
        if label.get("x")
    ]
    ys = sorted(y for x, y in labels if x < 58 and y < height - 200)
    assert all(b - a >= 11 for a, b in pairwise(ys))


@pytest.mark.parametrize(("before", "after"), [("", ""), ("", "new"), ("old", ""), ("a", "a")])
def test_the_smallest_pairs_can_be_explained(tokenizer, before, after):
    reading = Reading(Vocabulary(tokenizer), before, after)
    result = ours(reading.document.ids, reading.output.ids)
    assert Page(page(result, reading, "x")).shown == after
    Report(Console(file=io.StringIO(), width=80), result, reading).print(result.passes)


@pytest.fixture
def options(tmp_path, tokenizer):
    folder = tmp_path / "tokenizer"
    tokenizer.save_pretrained(folder)
    (tmp_path / "before.txt").write_bytes(BEFORE.encode())
    (tmp_path / "after.txt").write_bytes(AFTER.encode())

    def make(**more):
        return ExplainOptions(tmp_path / "before.txt", tmp_path / "after.txt", str(folder), **more)

    return make


def test_the_command_prints_json_and_writes_the_page(options, tmp_path, capsys, traced):
    target = tmp_path / "out.html"
    assert run_explain(options(as_json=True, html=target)) == 0
    *passes, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert last["summary"]["passes"] == len(passes) == passes[-1]["pass"]
    assert sum(one["accepted"] for one in passes) == last["summary"]["accepted"]
    shown = "".join(t for one in passes for t in (*one["drafted"][: one["accepted"]], one["target"] or ""))
    ascii_shown = [c for c in shown if c.isascii()]
    assert ascii_shown == [c for c in visible(AFTER) if c.isascii()]
    assert Page(target.read_text(encoding="utf-8")).shown == AFTER


def test_the_command_shows_a_part(options, capsys):
    assert run_explain(options(as_json=True)) == 0
    everything = [json.loads(line) for line in capsys.readouterr().out.splitlines()][:-1]
    assert run_explain(options(as_json=True, from_token=20, passes=2)) == 0
    part = [json.loads(line) for line in capsys.readouterr().out.splitlines()][:-1]
    first = next(index for index, one in enumerate(everything[1:]) if one["output_token"] > 20)
    assert part == everything[first : first + 2]


def test_the_command_uses_the_cost_curve(options, tmp_path, capsys):
    dear = tmp_path / "dear.json"
    dear.write_text(json.dumps({"points": [[1, 1.0], [2, 50.0], [256, 60.0]]}))
    assert run_explain(options(as_json=True, cost_curve=dear)) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]
    assert last["drafted"] == 0
    assert last["modelled_speedup"] == 1.0


@pytest.mark.parametrize("broken", ["missing", "bytes", "curve", "tokenizer"])
def test_the_command_names_what_is_wrong(options, tmp_path, capsys, broken):
    wanted = options(cost_curve=tmp_path / "none.json") if broken == "curve" else options()
    if broken == "missing":
        wanted.after.unlink()
    elif broken == "bytes":
        wanted.before.write_bytes(b"caf\xe9")
    elif broken == "tokenizer":
        wanted = ExplainOptions(wanted.before, wanted.after, str(tmp_path / "nowhere"))
    assert run_explain(wanted) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert captured.out == ""


def test_a_soft_copy_is_no_break():
    words = ["the", " cat", " sat", " on", "\n", "mat", " mat", " and", " slept", "cat"]
    spelling = Spelling(["<end>", *words])
    document, output = [1, 2, 3, 4, 7, 8, 9], [1, 2, 3, 4, 5, 6, 8, 9]  # "on mat" becomes "on\nmat"
    planner = WatchedPlanner(Learned.shipped(), CURVE)
    soft = trace(
        ComposedDrafter(document, END, planner, spelling=spelling), document, output, END, CURVE, (), planner, spelling
    )
    assert soft.breaks == ()
    assert ours(document, output).breaks != ()
