"""Makes (before, after) pairs out of the repository's own files: `python bench/edited_pairs.py > pairs.jsonl`.

Each pair keeps most of its text and has at least eight separate edits per 1,000 tokens: words replaced, left out and
added at seeded places.
"""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (
    ("LICENSE", (0, 2500, 5000, 7500)),
    ("CONTRIBUTING.md", (0,)),
    ("README.md", (0, 1800)),
    ("service/redraft/engine/spans.py", (0, 4000)),
    ("service/redraft/engine/sampling.py", (0, 3500)),
    ("service/redraft/engine/noise.py", (0,)),
    ("proto/redraft/v1/edit.proto", (0, 4000)),
)
LENGTHS = (1100, 2000, 3000, 4200)  # characters: about 250 to 1,300 tokens
WORDS = ("quickly", "other", "several", "value", "report", "whole", "never", "plain", "result", "second")
EVERY = 72  # words between two edits at most, half of it at least: about ten edits in 1,000 tokens


def edited(text: str, dice: random.Random) -> str:
    """The text with an edit about every `EVERY` words."""
    pieces = re.split(r"(\s+)", text)
    position = 2 * dice.randrange(5, EVERY // 2)
    while position < len(pieces):
        kind = dice.choice(("replace", "replace", "insert", "delete"))
        word = dice.choice(WORDS)
        pieces[position] = {"replace": word, "insert": f"{word} {pieces[position]}", "delete": ""}[kind]
        position += 2 * dice.randint(EVERY // 2, EVERY)
    return "".join(pieces)


def main() -> None:
    """Print the pairs as JSON lines."""
    dice = random.Random(20261201)
    count = 0
    for name, starts in SOURCES:
        text = (ROOT / name).read_text(encoding="utf-8")
        for start in starts:
            begin = text.find("\n", start) + 1 if start else 0
            before = text[begin : begin + LENGTHS[count % len(LENGTHS)]]
            pair = {"id": f"{name}+{start}", "kind": "made", "before": before, "after": edited(before, dice)}
            sys.stdout.write(json.dumps(pair) + "\n")
            count += 1


if __name__ == "__main__":
    main()
