import pytest

from training.edits.base import UNTOUCHED, Edit
from training.scores import content_kept, is_core, kept_share, score, summary, table, talks_on

DOCUMENT = "The quick brown fox jumps over the lazy dog."
WANTED = "The quick red fox jumps over the lazy dog."


def scored(output, task="replace-word", wanted=WANTED, tokens=50, complete=True):
    return score(Edit(task, "s", DOCUMENT, "i", wanted), tokens, output, complete)


def test_an_exact_output():
    found = scored(WANTED)
    assert (found.exact, found.similarity, found.kept, found.chatter, found.derailed) == (True, 100, 1, False, False)


def test_kept_looks_only_at_what_should_be_kept():
    assert kept_share(DOCUMENT, WANTED, WANTED.replace("red", "blue")) > 0.97
    assert kept_share(DOCUMENT, WANTED, WANTED.replace("lazy ", "")) == pytest.approx(1 - 5 / 39, abs=0.03)
    assert kept_share(DOCUMENT, WANTED, "") == 0
    assert kept_share("abc", "xyz", "anything") == 1


def test_chatter_is_what_follows_the_end_or_never_ends():
    assert talks_on(WANTED, WANTED + "\n\nI have changed the colour of the fox.")
    assert not talks_on(WANTED, WANTED + "\n")
    assert not talks_on(WANTED, "Note well: " + WANTED)
    assert scored(WANTED, complete=False).chatter


def test_content_words_are_the_long_ones():
    assert content_kept("Please send the report, Anna.", "Could you please send the report, Anna?") == 1
    assert content_kept("Please send the report, Anna.", "Could you send it?") == pytest.approx(1 / 3)


def test_groups_by_task_by_length_and_by_target():
    scores = [
        scored(WANTED),
        scored(DOCUMENT, tokens=900),
        scored("lost", "polite"),
        scored(DOCUMENT, UNTOUCHED, DOCUMENT),
    ]
    rows = {row.name: row for row in table(scores)}
    assert (rows["replace-word"].count, rows["replace-word"].exact) == (2, 50)
    assert rows["tokens over 800"].count == 1
    assert rows["all but tone"].count == 3
    assert rows["proofread, replace, rename"].exact == 100
    assert rows["polite"].derailed == 100
    figures = summary(scores)
    assert figures["untouched returned unchanged"] == 100
    assert figures["tone: changed"] == 100
    assert figures["tone: content words kept"] == 0
    assert figures["derailed"] == 0


def test_what_counts_as_core():
    assert is_core(scored(WANTED, "rename-markdown"))
    assert not is_core(scored(WANTED, "rename", tokens=401))
    assert not is_core(scored(WANTED, "proofread-dense"))
