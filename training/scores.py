"""How near an output is to the wanted text, and what that says over many edits. Pure functions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel

from training.edits.base import TONE, UNTOUCHED, Edit
from training.edits.wording import listed

DERAILED = 80.0
"""Below this similarity to the wanted text an output is lost."""
LENGTHS = (80, 200, 400, 800, 100_000)
"""Upper ends of the groups by length, in tokens of the document."""
_CHATTER = 12  # characters after the wanted text's end
_SMALL_WORDS = frozenset(
    listed(
        "about also been could from have just more much must need only please should some than that their "
        "them then there these they this thanks thank very want were what when which will with would your "
        "unfortunately welcome able"
    )
)


@dataclass(frozen=True, slots=True)
class Score:
    """One output. Shares are 0..1, similarity 0..100 (rapidfuzz's ratio); tokens: of the document."""

    task: str
    tokens: int
    exact: bool
    similarity: float
    kept: float
    chatter: bool
    changed: bool
    content: float

    @property
    def derailed(self) -> bool:
        """Whether the output is lost."""
        return self.similarity < DERAILED


@dataclass(frozen=True, slots=True)
class Row:
    """Means over a group of edits. Shares in per cent."""

    name: str
    count: int
    exact: float
    similarity: float
    kept: float
    derailed: float
    chatter: float


def score(edit: Edit, tokens: int, output: str, complete: bool) -> Score:
    """Compare an output with the wanted text; complete: whether it ended by itself."""
    return Score(
        task=edit.task,
        tokens=tokens,
        exact=output == edit.wanted,
        similarity=fuzz.ratio(output, edit.wanted),
        kept=kept_share(edit.document, edit.wanted, output),
        chatter=not complete or talks_on(edit.wanted, output),
        changed=output != edit.document,
        content=content_kept(edit.document, output),
    )


def kept_share(document: str, wanted: str, output: str) -> float:
    """Of the wanted text's characters that are the document's, the share that the output has too."""
    ours = _equal(document, wanted)
    theirs = {place for place, _ in _pairs(wanted, output)}
    return len(ours & theirs) / len(ours) if ours else 1.0


def _equal(document: str, wanted: str) -> set[int]:
    """Places of the wanted text that are the document's (longest common subsequence)."""
    return {place for _, place in _pairs(document, wanted)}


def _pairs(left: str, right: str) -> Iterable[tuple[int, int]]:
    for op in Indel.opcodes(left, right):
        if op.tag == "equal":
            yield from zip(range(op.src_start, op.src_end), range(op.dest_start, op.dest_end), strict=True)


def talks_on(wanted: str, output: str) -> bool:
    """Whether the output goes on where the wanted text has ended."""
    ops = list(Indel.opcodes(wanted.rstrip(), output.rstrip()))
    return bool(ops) and ops[-1].tag == "insert" and ops[-1].dest_end - ops[-1].dest_start > _CHATTER


def content_kept(document: str, output: str) -> float:
    """The share of the document's content words that the output has too."""
    before, after = _content(document), _content(output)
    return sum((before & after).values()) / before.total() if before else 1.0


def _content(text: str) -> Counter[str]:
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.lower())
    return Counter(word for word in words if len(word) > 3 and "'" not in word and word not in _SMALL_WORDS)


def row(name: str, scores: Sequence[Score]) -> Row:
    """Means of a group that is not empty."""

    def share(fact: Callable[[Score], float]) -> float:
        return 100 * fmean(fact(item) for item in scores)

    return Row(
        name,
        len(scores),
        exact=share(lambda item: item.exact),
        similarity=fmean(item.similarity for item in scores),
        kept=share(lambda item: item.kept),
        derailed=share(lambda item: item.derailed),
        chatter=share(lambda item: item.chatter),
    )


def is_core(item: Score) -> bool:
    """Proofreading up to 6%, replacing and renaming, in documents up to 400 tokens."""
    return item.tokens <= 400 and (item.task == "proofread" or item.task.startswith(("replace", "rename")))


def table(scores: Sequence[Score]) -> list[Row]:
    """By task, by length, and the groups that the targets are about; empty groups are left out."""
    plain = [item for item in scores if item.task not in TONE]
    groups = [(task, [item for item in scores if item.task == task]) for task in sorted({item.task for item in scores})]
    for low, high in zip((0, *LENGTHS), LENGTHS, strict=False):
        name = f"tokens {low + 1}-{high}" if high < LENGTHS[-1] else f"tokens over {low}"
        groups.append((name, [item for item in plain if low < item.tokens <= high]))
    groups += [
        ("all but tone", plain),
        ("up to 400 tokens", [item for item in plain if item.tokens <= 400]),
        ("proofread, replace, rename", [item for item in plain if is_core(item)]),
    ]
    return [row(name, chosen) for name, chosen in groups if chosen]


def summary(scores: Sequence[Score]) -> dict[str, float]:
    """The figures that have targets, in per cent; those without edits are left out."""
    tone = [item for item in scores if item.task in TONE]
    untouched = [item for item in scores if item.task == UNTOUCHED]
    figures = {item.name: item for item in table(scores)}
    found = {
        f"exact: {name}": figures[name].exact
        for name in ("proofread, replace, rename", "all but tone")
        if name in figures
    }
    found |= {f"kept: {name}": item.kept for name, item in figures.items() if "tokens" in name}
    if "all but tone" in figures:
        found |= {"derailed": figures["all but tone"].derailed, "chatter": figures["all but tone"].chatter}
    if untouched:
        found["untouched returned unchanged"] = 100 * fmean(not item.changed for item in untouched)
    if tone:
        found["tone: content words kept"] = 100 * fmean(item.content for item in tone)
        found["tone: changed"] = 100 * fmean(item.changed for item in tone)
    return found
