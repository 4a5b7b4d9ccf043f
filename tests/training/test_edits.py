import json
import random
import re
import textwrap
import tomllib
from itertools import islice

import pytest
import yaml
from rapidfuzz import fuzz

from training.edits import code, layout, markup, proofread, replace, settings, spelling, structure, tone, voice
from training.edits.base import UNTOUCHED, Document, is_evaluation
from training.edits.emails import compose, topics
from training.edits.families import FAMILIES, REAL_TASK
from training.edits.generate import Generator
from training.edits.real import real_hunk
from training.edits.sources import RealEdit, Sources, collect
from training.edits.text import excerpt, paragraphs, prose_paragraphs, sentences

PROSE = """The engine reads the document first. It keeps a table of the colors that it has seen, and the table is small.

You can cancel the job at any time. The table does not change while a job is running, because the center holds a lock.
It is written at the end. That is all there is to know about the table.

The report is initialized on 3 May 2024 and costs $40.50. Do not move the report, and do not rename it. We will see."""
MARKDOWN = """# Reading files

Call `load_rows` with a path, and read [the guide](https://example.com/a) before. The **first** call is slow.

- open the file
- read the rows
- close the file

## How it works

```python
rows = load_rows(path)
```
"""
CODE = '''"""Rows of a file."""

import os


def load_rows(path):
    """Read the rows."""
    # An empty file has none.
    rows = []
    with open(path) as source:
        for line in source:
            rows.append(line)  # with its line break
    return rows


def count_rows(path):
    total = len(load_rows(path))
    return total


def load_rows_twice(path):
    return load_rows(path) + load_rows(path)
'''
LETTER = """Hi Anna,

I want to meet you on 3 May 2024 at 10:30. Please send me the report. We can't wait, and it's urgent.

The room is at 12 Mill Road, Berlin. You must bring the $40.50.

Cheers,
Peter"""


def sources() -> Sources:
    documents = [
        Document(f"made:{kind}", kind, text)
        for kind, text in {
            "prose": PROSE,
            "markdown": MARKDOWN + "\n" + PROSE,
            "code": CODE,
            "email": LETTER,
            "other": PROSE,
        }.items()
    ]
    return Sources(documents, [RealEdit("made:real", PROSE, PROSE.replace("is small", "is tiny"))])


@pytest.fixture(scope="module")
def generator() -> Generator:
    return Generator(sources(), seed=3, evaluation=False)


def changes(make, text, count=60):
    """What a maker makes of a text, with many seeds; it must make something."""
    found = [change for seed in range(count) if (change := make(random.Random(seed), text)) is not None]
    assert found, make
    return found


def quotes(instruction):
    return re.findall(r'["“`\'](.+?)["”`\'](?!\w)', instruction)


def test_the_same_seed_gives_the_same_edits(generator):
    again = Generator(sources(), seed=3, evaluation=False)
    assert [generator.edit(n) for n in range(40)] == [again.edit(n) for n in range(40)]
    other = Generator(sources(), seed=4, evaluation=False)
    assert [generator.edit(n) for n in range(40)] != [other.edit(n) for n in range(40)]


def test_an_edit_does_not_depend_on_those_before_it(generator):
    assert Generator(sources(), 3, False).edit(30) == generator.edit(30)


@pytest.mark.parametrize("task", [*dict.fromkeys(family.task for family in FAMILIES), REAL_TASK])
def test_every_task_yields_edits_that_change_something_unless_they_must_not(generator, task):
    edits = [generator.edit_of(task, n) for n in range(12)]
    assert len({edit.instruction for edit in edits}) > 4
    for edit in edits:
        assert edit.task == task
        assert edit.document.strip()
        assert edit.wanted.strip()
        assert edit.instruction.strip() == edit.instruction
        assert (edit.document == edit.wanted) == (task == UNTOUCHED), edit
        assert edit.document.endswith("\n") == edit.wanted.endswith("\n")


def test_a_side_takes_its_own_sources_only():
    assert set(topics(True)).isdisjoint(topics(False))
    assert 2 <= len(topics(True)) < len(topics(False))
    for evaluation in (False, True):
        keys = {compose(random.Random(n), evaluation).key for n in range(30)}
        assert {is_evaluation(key) for key in keys} == {evaluation}


def test_documents_of_both_sides_share_neither_key_nor_paragraph(tmp_path):
    pairs = [
        {"id": f"copyedit-{n:08x}-{v}", "kind": "copyedit", "lang": "en", "source": "", "before": PROSE, "after": PROSE}
        for n in range(40)
        for v in range(2)
    ]
    pairs += [
        {
            "id": f"email-{n + 99:08x}-1",
            "kind": "email",
            "lang": "en",
            "source": "",
            "before": "x",
            "after": f"Text {n}.",
        }
        for n in range(40)
    ]
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(json.dumps(pair) for pair in pairs), encoding="utf-8")
    train, held_out = collect([file], evaluation=False), collect([file], evaluation=True)
    keys, others = ({document.key for document in side.documents} for side in (train, held_out))
    assert keys.isdisjoint(others)
    assert any(key.startswith("replay:") for key in keys)
    assert any(key.startswith("replay:") for key in others)
    seen = {document.text[a:b] for document in train.documents for a, b in paragraphs(document.text) if b - a >= 60}
    held = {document.text[a:b] for document in held_out.documents for a, b in paragraphs(document.text) if b - a >= 60}
    assert seen.isdisjoint(held)
    assert {edit.key for edit in held_out.real} <= others
    kinds = {document.kind for document in train.documents}
    assert kinds >= {"prose", "code", "markdown", "email"}, "installed packages gave nothing"


@pytest.mark.parametrize(("low", "high", "make"), [(1, 9, proofread.proofread), (8, 24, proofread.proofread_dense)])
def test_proofreading_gives_back_the_correct_text(low, high, make):
    for change in changes(make, PROSE):
        assert change.wanted == PROSE
        wrong = sum(a != b for a, b in zip(change.document.split(), PROSE.split(), strict=False))
        assert change.document != PROSE
        assert fuzz.ratio(change.document, PROSE) > 85
        assert wrong >= 1
    assert len({change.document for change in changes(make, PROSE)}) > 20


def test_errors_spare_code_and_links():
    for change in changes(proofread.proofread_dense, MARKDOWN):
        for kept in ("`load_rows`", "(https://example.com/a)", "rows = load_rows(path)"):
            assert kept in change.document


def test_replacing_a_word_leaves_none_of_it_and_touches_nothing_else():
    for change in changes(replace.word, PROSE):
        before, after = (set(re.findall(r"[a-z]+", text.lower())) for text in (PROSE, change.wanted))
        (old,) = before - after
        new = (after - before).pop() if after - before else re.findall(r"[a-z]+", change.instruction.lower())
        assert re.search(rf"\b{old}\b", change.instruction)

        def cased(match, new=new):
            return new.capitalize() if match[0][0].isupper() else new

        if isinstance(new, str):
            assert new in change.instruction
            assert change.wanted == re.sub(rf"\b{old}\b", cased, PROSE, flags=re.IGNORECASE)


def test_a_fact_is_replaced_everywhere():
    text = f"{LETTER}\n\nAgain: 3 May 2024, $40.50, 12 Mill Road, Berlin."
    facts = ("3 May 2024", "$40.50", "12 Mill Road, Berlin", "10:30", "Anna", "Peter")
    for change in changes(replace.fact, text):
        (gone,) = [fact for fact in facts if fact not in change.wanted]
        assert gone in change.instruction
        parts = text.split(gone)
        new = (
            change.wanted[len(parts[0]) : len(change.wanted) - len(text) + len(parts[0]) + len(gone)]
            if len(parts) == 2
            else ""
        )
        assert all(part in change.wanted for part in parts)
        assert new in change.instruction


def test_only_the_named_place_changes():
    for change in changes(replace.somewhere, PROSE, 200):
        before, after = change.document.split("\n\n"), change.wanted.split("\n\n")
        changed = [index for index, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
        assert len(changed) == 1
        for name, index in (("first paragraph", 0), ("second paragraph", 1), ("last paragraph", 2)):
            if name in change.instruction:
                assert changed == [index]


def test_an_identifier_is_renamed_as_a_whole_word_only():
    found = [
        change for change in changes(replace.identifier, CODE, 200) if re.search(r"\bload_rows\b", change.instruction)
    ]
    assert found
    for change in found:
        assert not re.search(r"\bload_rows\b", change.wanted)
        assert "def load_rows_twice(" in change.wanted
        assert len(change.wanted.split("\n")) == len(CODE.split("\n"))


def test_an_identifier_in_markdown_is_renamed_in_text_and_in_code():
    for change in changes(replace.identifier_in_markdown, MARKDOWN, 200):
        if "load_rows" in change.instruction:
            assert "load_rows" not in change.wanted


def test_sentences_and_paragraphs_go_and_come_whole():
    for change in changes(structure.delete_sentence, PROSE, 100):
        assert "  " not in change.wanted
        gone = [PROSE[a:b] for a, b in sentences(PROSE) if PROSE[a:b] not in change.wanted]
        assert len(gone) >= 1
        assert not change.wanted.endswith(" ")
    for change in changes(structure.delete_paragraph, PROSE):
        assert len(paragraphs(change.wanted)) == 2
        assert set(change.wanted.split("\n\n")) < set(PROSE.split("\n\n"))
    for change in changes(structure.add_paragraph, PROSE):
        assert len(paragraphs(change.wanted)) == 4
    for change in changes(structure.add_sentence, PROSE):
        new = max(quotes(change.instruction), key=lambda text: (text not in PROSE, len(text)))
        assert change.wanted.replace(new, "", 1).split() == PROSE.split()


@pytest.mark.parametrize(("make", "step"), [(structure.delete_bullet, -1), (structure.add_bullet, 1)])
def test_a_bullet_is_one_line(make, step):
    for change in changes(make, MARKDOWN.partition("```")[0]):
        before, after = change.document.split("\n"), change.wanted.split("\n")
        assert len(after) - len(before) == step
        longer, shorter = (before, after) if step < 0 else (after, before)
        lost = next(line for line in longer if line not in shorter)
        assert lost.startswith("- ")


def test_contractions_go_out_and_in():
    assert voice.expanded("It's late. I can't and won't go, they're here; Anna's dog isn't.") == (
        "It is late. I cannot and will not go, they are here; Anna's dog is not."
    )
    assert voice.contracted("Do not go. It is late, and I am tired.") == "Don't go. It's late, and I'm tired."
    for change in changes(voice.contractions_out, LETTER):
        assert not re.search(r"n't|it's", change.wanted)
        assert re.search(r"n't|it's", change.document)


def test_greeting_and_sign_off_leave_the_body():
    body = LETTER.split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
    for make in (voice.greeting, voice.sign_off):
        for change in changes(make, LETTER):
            assert body in change.wanted
        assert len({change.wanted for change in changes(make, LETTER)} - {LETTER}) > 5


def test_tone_keeps_facts_and_changes_the_rest():
    for make in (tone.polite, tone.formal):
        for change in changes(make, LETTER):
            assert "3 May 2024 at 10:30" in change.wanted
            assert "12 Mill Road, Berlin" in change.wanted
            assert change.wanted.startswith("Dear Anna,")
    assert "Could you please send me the report?" in changes(tone.polite, LETTER)[0].wanted


def test_spelling_goes_both_ways_and_spares_code():
    text = "The color of the center is `color`. We organize it."
    british = changes(spelling.to_british, text)[0]
    assert british.wanted == "The colour of the centre is `color`. We organise it."
    american = changes(spelling.to_american, british.wanted)[0]
    assert american.wanted == text


def test_markdown_changes_spare_code_blocks():
    for make in (
        markup.heading_levels,
        markup.links,
        markup.emphasis,
        markup.list_marks,
        markup.numbered,
        layout.heading_case,
    ):
        for change in changes(make, MARKDOWN):
            assert "```python\nrows = load_rows(path)\n```" in change.wanted
    assert any("\n1. open the file\n2. read" in change.wanted for change in changes(markup.numbered, MARKDOWN))
    assert any("read the guide before" in change.wanted for change in changes(markup.links, MARKDOWN))


READERS = {
    "{": json.loads,
    "[": tomllib.loads,
    "y": yaml.safe_load,
}


def test_configuration_files_parse_and_differ_in_one_place():
    seen = set()
    for seed in range(200):
        change = settings.setting(random.Random(seed), "x" * 500)
        kind = "{" if change.document[0] == "{" else "y" if change.document[0] != "[" else "["
        if kind == "[" and re.search(r"= [a-z/.]+$", change.document + change.wanted, re.MULTILINE):
            continue  # INI, or TOML with nothing but numbers and switches
        try:
            before, after = READERS[kind](change.document), READERS[kind](change.wanted)
        except tomllib.TOMLDecodeError:
            continue  # INI
        seen.add(kind)
        sections = [name for name in before if before[name] != after.get(name)]
        assert len(sections) == 1, change
        old, new = before[sections[0]], after.get(sections[0], {})
        keys = {key for key in {*old, *new} if old.get(key) != new.get(key)}
        assert any(name in change.instruction for name in {sections[0], *keys})
    assert seen == set(READERS)
    same = settings.same_setting(random.Random(1), "x" * 300)
    assert same.document == same.wanted


def test_code_stays_code():
    for make in (
        code.remove_comments,
        code.add_docstring,
        code.change_docstring,
        code.add_comment,
        code.delete_comment,
    ):
        for change in changes(make, CODE):
            compile(change.wanted, "made", "exec")
    assert all("#" not in change.wanted for change in changes(code.remove_comments, CODE))
    bare = CODE.replace('"""Rows of a file."""\n\n', "")
    assert all('"""' not in change.wanted for change in changes(code.remove_docstrings, bare))


def test_wrapping_is_textwraps_and_unwrapping_its_inverse():
    for change in changes(layout.wrap, PROSE):
        width = int(re.search(r"\d+", change.instruction)[0])
        for (a, b), (c, d) in zip(paragraphs(change.wanted), paragraphs(PROSE), strict=True):
            assert change.wanted[a:b] == textwrap.fill(PROSE[c:d], width)
    for change in changes(layout.unwrap, PROSE):
        assert "\n" not in change.wanted.replace("\n\n", "")
        assert change.document.split() == change.wanted.split()


def test_title_case():
    assert layout.title_case("the end of the world") == "The End of the World"


def test_real_hunks_can_be_followed():
    before = "one line\nanother line here\nthe last line"
    swapped = real_hunk(random.Random(1), RealEdit("k", before, before.replace("another", "a second")), 500)
    assert swapped.wanted == before.replace("another", "a second")
    assert "another" in swapped.instruction
    assert "a second" in swapped.instruction
    dropped = real_hunk(random.Random(1), RealEdit("k", before, "one line\nthe last line"), 500)
    assert dropped.wanted == "one line\nthe last line"
    assert "another line here" in dropped.instruction


def test_excerpts_are_parts_and_end_where_a_reader_would_cut():
    for seed in range(50):
        part = excerpt(random.Random(seed), PROSE, "prose", 150)
        assert part in PROSE
        assert part[-1] in ".!"
    for seed in range(20):
        part = excerpt(random.Random(seed), CODE * 3, "code", 200)
        assert part in CODE * 3
        assert not part.startswith(" ")


def test_lengths_are_mostly_short_but_reach_far():
    long = "\n\n".join(PROSE.replace("table", f"table {n}") for n in range(40))
    documents = [Document("made:long", "prose", long)]
    made = Generator(Sources(documents, []), seed=1, evaluation=False)
    sizes = sorted(len(made.edit_of("replace-word", n).document) for n in range(150))
    assert sizes[-1] > 2500
    assert sizes[100] < 400 * 4.5
    assert all(prose_paragraphs(edit.document) for edit in islice((made.edit_of("unwrap", n) for n in range(20)), 20))
