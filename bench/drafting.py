"""Times drafting alone, without a model: `python bench/drafting.py [PAIRS.jsonl …]`. Run it on an idle machine.

Made documents, or the replay pairs given: microseconds a token inside an unambiguous copy, while it is ambiguous where
the output goes on, and milliseconds a pass of eight edits that each take in 32 tokens and propose again.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import typer
from redraft.drafting.alignment import Alignment
from redraft.drafting.base import MAX_DRAFT, Verdict
from redraft.drafting.compose import ComposedDrafter
from redraft.drafting.learned import Learned
from redraft.drafting.length import CostCurve
from redraft.drafting.planner import Planner
from redraft.replay.fit import encode_pair
from redraft.replay.pairs import read_pairs
from redraft.replay.simulate import View
from redraft.replay.tokenizer import Tokens, open_tokenizer

_LONG, _ROWS, _STEP, _EVERY = 32_000, 8, 32, 100
_CURVE = CostCurve(((1, 1.0), (201, 2.0)))


def copy_microseconds(document: list[int]) -> float:
    """A token of an output that repeats the document, taken in pass by pass."""
    alignment = Alignment(document)
    for token in document[:8]:
        alignment.observe(token)
    began = time.perf_counter()
    for start in range(8, len(document), _STEP):
        alignment.advance(tuple(document[start : start + _STEP]))
    return 1e6 * (time.perf_counter() - began) / (len(document) - 8)


def ambiguous_microseconds(document: list[int], output: list[int]) -> float:
    """A token of the output where the filter holds several hypotheses."""
    alignment, spent, count = Alignment(document), 0.0, 0
    for token in output:
        if alignment.advance((token,)):
            continue
        began = time.perf_counter()
        alignment.observe(token)
        spent += time.perf_counter() - began
        count += 1
    return 1e6 * spent / max(1, count)


def pass_milliseconds(pairs: Sequence[tuple[list[int], list[int]]], tokens: Tokens) -> list[float]:
    """Passes of eight edits at once: each takes in up to 32 tokens of its output and proposes."""
    planner = Planner(Learned.shipped(), _CURVE, tokens.classes)
    drafters = [ComposedDrafter(document, tokens.end, planner) for document, _ in pairs]
    views = [View(document, tokens.end) for document, _ in pairs]
    passes = []
    for start in range(0, max(len(output) for _, output in pairs), _STEP):
        began = time.perf_counter()
        for drafter, view, (_, output) in zip(drafters, views, pairs, strict=True):
            emitted = tuple(output[start : start + _STEP])
            if emitted:
                draft = drafter.propose(view, MAX_DRAFT)
                view.output.extend(emitted)
                drafter.observe(Verdict(emitted, len(emitted) - 1, drafted=draft.nodes))
        passes.append(1e3 * (time.perf_counter() - began))
    return passes


def made(length: int, vocabulary: int) -> tuple[list[int], list[int]]:
    """A document whose tokens are as uneven as a text's, and a rewrite with an edit every 100 tokens."""
    dice = random.Random(length)
    document = [min(int(dice.paretovariate(0.6)), vocabulary - 1) for _ in range(length)]
    output = list(document)
    for place in range(_EVERY // 2, length, _EVERY):
        output[place : place + dice.randint(0, 3)] = [dice.randrange(vocabulary) for _ in range(dice.randint(0, 3))]
    return document, output


def main(
    pairs: Annotated[list[Path] | None, typer.Argument(help="JSON-lines files; made documents if none.")] = None,
    tokenizer: Annotated[str, typer.Option(help="demo, a folder or a hub id.")] = "demo",
) -> None:
    """Print one JSON object."""
    tokens = open_tokenizer(tokenizer)
    size = len(tokens.classes)
    played = [encode_pair(tokens, pair) for path in pairs or () for pair in read_pairs(path)]
    played = played or [made(2000, size) for _ in range(_ROWS)]
    batches = [played[start : start + _ROWS] for start in range(0, len(played) - _ROWS + 1, _ROWS)] or [played]
    passes = [spent for batch in batches for spent in pass_milliseconds(batch, tokens)]
    long, _ = made(_LONG, size)
    ambiguous = [ambiguous_microseconds(document, output) for document, output in played]
    result = {
        "copy of 32,000 tokens, microseconds a token": round(min(copy_microseconds(long) for _ in range(5)), 3),
        "ambiguous, microseconds a token, median": round(median(ambiguous), 1),
        "ambiguous, microseconds a token, most": round(max(ambiguous), 1),
        "8 edits x 32 tokens, milliseconds a pass, median": round(median(passes), 2),
        "8 edits x 32 tokens, milliseconds a pass, most": round(max(passes), 2),
        "pairs": len(played),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    typer.run(main)
