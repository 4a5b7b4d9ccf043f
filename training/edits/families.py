"""Every task: who makes it, out of which kinds of text, and how often it comes."""

from __future__ import annotations

from dataclasses import dataclass

from training.edits import code, layout, markup, proofread, replace, settings, spelling, structure, tone, voice
from training.edits.base import UNTOUCHED, Maker

PROSE, MAIL, MARKDOWN, CODE, CONFIG, OTHER, REAL = "prose", "email", "markdown", "code", "config", "other", "real"
TEXTS = (PROSE, MAIL, MAIL)


@dataclass(frozen=True, slots=True)
class Family:
    """A task. kinds: of the texts it takes, each as often as it is named; weight: its share of the examples."""

    task: str
    make: Maker
    kinds: tuple[str, ...]
    weight: float


FAMILIES = (
    Family("proofread", proofread.proofread, (PROSE, MAIL, MARKDOWN), 14),
    Family("proofread-dense", proofread.proofread_dense, (PROSE, MAIL), 3),
    Family(UNTOUCHED, proofread.clean, (PROSE, MAIL, MARKDOWN), 5),
    Family(UNTOUCHED, replace.absent_word, (PROSE, MAIL, MARKDOWN, CODE), 1),
    Family(UNTOUCHED, spelling.already, (PROSE, MAIL), 1),
    Family(UNTOUCHED, voice.no_contractions, (PROSE, MAIL), 0.7),
    Family(UNTOUCHED, settings.same_setting, (CONFIG,), 0.5),
    Family("replace-word", replace.word, (PROSE, MAIL, MARKDOWN, OTHER), 6),
    Family("replace-two", replace.two_words, TEXTS, 1.5),
    Family("replace-fact", replace.fact, (MAIL, MAIL, MAIL, MARKDOWN, PROSE), 7),
    Family("replace-where", replace.somewhere, TEXTS, 2),
    Family("rename", replace.identifier, (CODE,), 6),
    Family("rename-markdown", replace.identifier_in_markdown, (MARKDOWN,), 2),
    Family("delete-sentence", structure.delete_sentence, TEXTS, 3),
    Family("add-sentence", structure.add_sentence, TEXTS, 3),
    Family("delete-paragraph", structure.delete_paragraph, (PROSE, MAIL, MARKDOWN), 2),
    Family("add-paragraph", structure.add_paragraph, (PROSE, MAIL, MARKDOWN), 2),
    Family("delete-bullet", structure.delete_bullet, (MAIL, MARKDOWN), 1.5),
    Family("add-bullet", structure.add_bullet, (MAIL, MARKDOWN), 1.5),
    Family("greeting", voice.greeting, (MAIL,), 2),
    Family("sign-off", voice.sign_off, (MAIL,), 2),
    Family("contractions-out", voice.contractions_out, TEXTS, 2.5),
    Family("contractions-in", voice.contractions_in, TEXTS, 2),
    Family("polite", tone.polite, (MAIL,), 3),
    Family("formal", tone.formal, (MAIL,), 3),
    Family("british", spelling.to_british, TEXTS, 2),
    Family("american", spelling.to_american, TEXTS, 2),
    Family("heading-levels", markup.heading_levels, (MARKDOWN, MAIL), 1),
    Family("heading-text", markup.heading_text, (MARKDOWN, MAIL), 1),
    Family("add-heading", markup.add_heading, (MARKDOWN, MAIL, PROSE), 1),
    Family("heading-case", layout.heading_case, (MARKDOWN,), 1),
    Family("mark-word", markup.mark_word, (MARKDOWN, MAIL, PROSE), 2),
    Family("links", markup.links, (MARKDOWN, MAIL), 2),
    Family("emphasis", markup.emphasis, (MARKDOWN, MAIL), 1.5),
    Family("list-marks", markup.list_marks, (MARKDOWN, MAIL), 1),
    Family("numbered-list", markup.numbered, (MARKDOWN, MAIL), 1),
    Family("config", settings.setting, (CONFIG,), 6),
    Family("remove-comments", code.remove_comments, (CODE,), 1.5),
    Family("remove-docstrings", code.remove_docstrings, (CODE,), 1),
    Family("add-docstring", code.add_docstring, (CODE,), 1.5),
    Family("change-docstring", code.change_docstring, (CODE,), 1),
    Family("add-comment", code.add_comment, (CODE,), 1.5),
    Family("delete-comment", code.delete_comment, (CODE,), 1),
    Family("wrap", layout.wrap, TEXTS, 1),
    Family("unwrap", layout.unwrap, TEXTS, 1.5),
    Family("sentence-lines", layout.sentence_lines, TEXTS, 1),
    Family("word-case", layout.word_case, TEXTS, 1),
    Family("line-case", layout.line_case, (MAIL, PROSE, MARKDOWN), 1.5),
)
REAL_TASK, REAL_WEIGHT = "real", 6.0
