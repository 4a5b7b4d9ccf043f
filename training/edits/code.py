"""Comments and docstrings in Python code."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize

from training.edits.base import Change
from training.edits.text import patched
from training.edits.wording import listed, quoted, say

_NOTES = listed(
    "Checked by the caller|Keep this in step with the documentation|Not thread-safe|Empty input is allowed|"
    "Slow for large inputs|Order matters here|The limit is inclusive|See the tests for examples|"
    "Values are in seconds|Fails on a closed file|Only used while starting|Later entries win|Must not raise|"
    "Cached for speed|Both ends count",
    "|",
)
_DOCS = listed(
    "Return the result of the last run.|Do the work and report what was done.|"
    "Check the arguments and apply them.|Convert the input to the form that is stored.|"
    "Build the object from its parts.|Tell whether anything is left to do.|"
    "Compare two entries by their names.|Read everything and close the source.|"
    "Prepare the state for the next call.",
    "|",
)


def _comments(text: str) -> list[tokenize.TokenInfo] | None:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    return [token for token in tokens if token.type == tokenize.COMMENT and not token.string.startswith("#!")]


def _functions(text: str) -> list[ast.FunctionDef]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text))]


def remove_comments(dice: random.Random, text: str) -> Change | None:
    """All comments out; lines that held nothing else go too."""
    found, starts = _comments(text), _starts(text)
    if not found or len(found) > 25:
        return None
    patches = []
    for token in found:
        line, column = token.start
        begin, end = starts[line - 1], starts[line - 1] + column + len(token.string)
        alone = not text[begin : begin + column].strip()
        kept = begin if alone else begin + len(text[begin : begin + column].rstrip())
        patches.append((kept, min(len(text), end + alone), ""))
    wanted = patched(text, patches)
    said = (
        "Remove all comments.",
        "Delete the comments.",
        "Strip the comments from the code.",
        "Take out every # comment.",
        "Remove the comments but keep the docstrings.",
    )
    return Change(text, say(dice, said), wanted) if wanted.strip() else None


def remove_docstrings(dice: random.Random, text: str) -> Change | None:
    """The functions' docstrings out."""
    starts, patches = _starts(text), []
    for node in _functions(text):
        first = node.body[0]
        if ast.get_docstring(node) is not None and len(node.body) > 1 and first.end_lineno:
            patches.append((starts[first.lineno - 1], starts[first.end_lineno], ""))
    if (
        not patches
        or '"""' in patched(text, patches)
        or any(not text[a:b].lstrip().startswith('"""') for a, b, _ in patches)
    ):
        return None
    said = (
        "Remove all docstrings.",
        "Delete the docstrings.",
        "Strip the docstrings.",
        "Take the docstrings out of the functions.",
    )
    return Change(text, say(dice, said), patched(text, patches))


def add_docstring(dice: random.Random, text: str) -> Change | None:
    """A given docstring for a function that has none."""
    starts = _starts(text)
    bare = [node for node in _functions(text) if ast.get_docstring(node) is None and node.body[0].lineno > node.lineno]
    if not bare:
        return None
    node, doc = dice.choice(bare), dice.choice(_DOCS)
    first = node.body[0]
    above = _line_after_signature(text, starts, node)
    if above is None or [other.name for other in _functions(text)].count(node.name) > 1:
        return None
    name = quoted(dice, node.name, 0.6)
    said = (
        f"Add the docstring {quoted(dice, doc)} to {name}.", f"Give {name} the docstring {quoted(dice, doc)}.",
        f"Document the function {name} with {quoted(dice, doc)}.",
        f"Write the docstring {quoted(dice, doc)} in {name}.",
    )  # fmt: skip
    return Change(text, say(dice, said), f'{text[:above]}{" " * first.col_offset}"""{doc}"""\n{text[above:]}')


def _line_after_signature(text: str, starts: list[int], node: ast.FunctionDef) -> int | None:
    """Where the line after `def ...:` begins; None where comments make that unclear."""
    for line in range(node.lineno, node.body[0].lineno + 1):
        if text[starts[line - 1] :].split("\n", 1)[0].rstrip().endswith(":"):
            return starts[line]
    return None


def change_docstring(dice: random.Random, text: str) -> Change | None:
    """Another text for a one-line docstring."""
    found = list(re.finditer(r'^( +def (\w+)|def (\w+))\([^\n]*:\n +"""([^"\n]+)"""$', text, re.MULTILINE))
    if not found:
        return None
    chosen, doc = dice.choice(found), dice.choice(_DOCS)
    name = chosen[2] or chosen[3]
    if text.count(f"def {name}(") > 1 or chosen[4] == doc:
        return None
    new = quoted(dice, doc)
    said = (
        f"Change the docstring of {name} to {new}.",
        f"Replace {name}'s docstring with {new}.",
        f"The docstring of {name} should be {new}.",
    )
    return Change(text, say(dice, said), text[: chosen.start(4)] + doc + text[chosen.end(4) :])


def add_comment(dice: random.Random, text: str) -> Change | None:
    """A given comment above a function, or above a line that is quoted."""
    lines = [
        m
        for m in re.finditer(r"^( *)([a-zA-Z_@][^\n]{8,60})$", text, re.MULTILINE)
        if text.count(m[2]) == 1 and m[2][-1] not in ",(["
    ]
    if _comments(text) is None or not lines:
        return None
    line, note = dice.choice(lines), dice.choice(_NOTES)
    if text[: line.start()].count('"""') % 2 or (line[2].endswith('"""') and '"""' not in line[2][:-3]):
        return None
    new, where = quoted(dice, f"# {note}"), quoted(dice, line[2])
    said = (
        f"Add the comment {new} above {where}.", f"Put the comment {new} before the line {where}.",
        f"Insert the comment line {new} above the line {where}.",
    )  # fmt: skip
    return Change(text, say(dice, said), f"{text[: line.start()]}{line[1]}# {note}\n{text[line.start() :]}")


def delete_comment(dice: random.Random, text: str) -> Change | None:
    """One comment line that is quoted."""
    lines = [m for m in re.finditer(r"^ *(# ?\w[^\n]{4,})\n", text, re.MULTILINE) if text.count(m[1]) == 1]
    if not lines:
        return None
    chosen = dice.choice(lines)
    mark = quoted(dice, chosen[1])
    said = (f"Remove the comment {mark}.", f"Delete the comment line {mark}.", f"Take out the comment {mark}.")
    return Change(text, say(dice, said), text[: chosen.start()] + text[chosen.end() :])
